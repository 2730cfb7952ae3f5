"""The page as a whole: what the scene and the panel show of a robot's samples."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import viser
from numpy.typing import NDArray

from robot_dynamics.model.urdf import JointType
from robot_dynamics.view.browser.panel import Actions as Actions
from robot_dynamics.view.browser.panel import MovePanel, Notices
from robot_dynamics.view.browser.plots import LivePlot
from robot_dynamics.view.browser.robot_scene import EffortGauge, RobotBody, Weights
from robot_dynamics.view.efforts import RGB, effort_text, share_of_limit
from robot_dynamics.view.robot_geometry import RobotGeometry
from robot_dynamics.view.samples import Sample

Array = NDArray[np.float64]

REFERENCE_COLOR: RGB = (0.15, 0.45, 0.85)
GOAL_COLOR: RGB = (0.95, 0.55, 0.10)
GHOST_OPACITY = 0.32
PLOTS_WIDTH = 340
"""Of the panel at the left [pixels]."""
PLOT_PERIOD = 0.2
"""Seconds between two drawings of the plots."""


class Page:
    """One page for one robot, which may change.

    Args:
        server: that serves it.
        gravity: (3,) in the root frame [m/s²].
        window: seconds in the plots.
        shadows: whether the robot throws one.
        actions: of the buttons.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        gravity: Sequence[float],
        window: float,
        shadows: bool,
        actions: Actions,
    ) -> None:
        self.server = server
        self._gravity = np.asarray(gravity, dtype=float)
        self._window = window
        self._actions = actions
        self._robot: _Robot | None = None
        self._framed = False
        server.gui.main_panel.dock_right()
        server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(38, 84, 124))
        prepare_scene(server, shadows)
        self._title = server.gui.add_markdown("")
        self.notices = Notices(server)

    def show(self, geometry: RobotGeometry) -> None:
        """Show another robot."""
        if self._robot is not None:
            self._robot.remove()
        with self.server.atomic():
            self._title.content = f"**{geometry.tree.name}**"
            self._robot = _Robot(self.server, geometry, self._gravity, self._window, self._actions)
        self._framed = False
        skipped = [*geometry.visuals.skipped, *self._robot.failures]
        text = "" if not skipped else f"not drawn: {'; '.join(skipped[:3])}"
        if len(skipped) > 3:
            text += f"; and {len(skipped) - 3} more"
        self.notices.say("visuals", text, "info")

    def update(self, sample: Sample) -> None:
        """Show a moment."""
        if self._robot is not None:
            with self.server.atomic():
                self._robot.update(sample)
                if not self._framed:
                    look_at(self.server, *self._robot.bounds(sample.positions))
                    self._framed = True


class _Robot:
    """Everything on the page that belongs to one robot."""

    def __init__(
        self,
        server: viser.ViserServer,
        geometry: RobotGeometry,
        gravity: Array,
        window: float,
        actions: Actions,
    ) -> None:
        self._server = server
        self._geometry = geometry
        self._gravity = gravity
        names = [joint.name for joint in geometry.independent_joints]
        self._body = RobotBody(server, "/robot", geometry)
        self._reference = RobotBody(server, "/reference", geometry, REFERENCE_COLOR, GHOST_OPACITY)
        self._goal = RobotBody(server, "/goal", geometry, GOAL_COLOR, GHOST_OPACITY)
        self._reference.visible = self._goal.visible = False
        self.failures = self._body.failures
        self._gauges = {
            joint.name: EffortGauge(server, f"/efforts/{number}", geometry, joint)
            for number, joint in enumerate(geometry.independent_joints)
        }
        self._weights = Weights(server, "/weights", geometry, gravity)
        gui = server.gui
        self.panel = MovePanel(server, geometry.independent_joints, actions)
        self._show = gui.add_folder("Show", expand_by_default=False)
        with self._show:
            self._efforts_shown = gui.add_checkbox("efforts against limits", True)
            self._numbers_shown = gui.add_checkbox("numbers", True)
            self._weights_shown = gui.add_checkbox("weights of the links", True)
            self._reference_shown = gui.add_checkbox("reference (blue ghost)", True)
            self._goal_shown = gui.add_checkbox("goal of the sliders (orange ghost)", True)
        self._plots = gui.add_panel()
        self._plots.dock_left()
        self._plots.set_width(PLOTS_WIDTH)
        sliding = any(joint.kind is JointType.PRISMATIC for joint in geometry.independent_joints)
        efforts = {joint.name: joint.limits.effort for joint in geometry.independent_joints}
        limited = all(share_of_limit(0.0, limit) is not None for limit in efforts.values())
        self._full = {name: 0.01 * limit if limited else 1.0 for name, limit in efforts.items()}
        with self._plots.add_tab("Plots"):
            unit = "mrad or mm" if sliding else "mrad"
            self._error_plot = LivePlot(server, f"error [{unit}]", names, window, 0.01)
            title = "effort [% of the limit]" if limited else "effort [N·m or N]"
            self._effort_plot = LivePlot(server, title, names, window, 10.0)
        self._drawn = 0.0

    def update(self, sample: Sample) -> None:
        geometry = self._geometry
        self.panel.follow(sample.positions)
        poses = geometry.link_poses(sample.positions)
        self._body.move(poses)
        self._weights.visible = self._weights_shown.value
        if self._weights_shown.value:
            self._weights.update(poses)
        for joint in geometry.independent_joints:
            gauge = self._gauges[joint.name]
            gauge.visible = self._efforts_shown.value
            if self._efforts_shown.value:
                effort = sample.efforts.get(joint.name)
                text = (
                    ""
                    if not self._numbers_shown.value
                    else effort_text(effort, joint.limits.effort, joint.kind)
                )
                gauge.update(poses[joint.child], effort, text)
        references = sample.references if self._reference_shown.value else {}
        self._ghost(self._reference, poses, references)
        goal = self.panel.goal.positions if self.panel.touched and self._goal_shown.value else {}
        self._ghost(self._goal, poses, goal)
        self._error_plot.add(sample.time, {name: 1e3 * value for name, value in sample.errors.items()})
        shares = {
            name: sample.efforts[name] / full for name, full in self._full.items() if name in sample.efforts
        }
        self._effort_plot.add(sample.time, shares)
        if time.monotonic() - self._drawn > PLOT_PERIOD:
            self._drawn = time.monotonic()
            self._error_plot.draw()
            self._effort_plot.draw()

    def bounds(self, positions: Mapping[str, float]) -> tuple[Array, Array]:
        """Least and greatest coordinates of the robot [m]."""
        return self._geometry.bounds(self._geometry.link_poses(positions))

    def _ghost(self, ghost: RobotBody, poses: Mapping[str, Array], positions: Mapping[str, float]) -> None:
        ghost.visible = bool(positions)
        if positions:
            ghost.move_apart(self._geometry.link_poses(positions), poses)

    def remove(self) -> None:
        self.panel.remove()
        self._show.remove()
        self._plots.remove()
        for name in ("/robot", "/reference", "/goal", "/efforts", "/weights"):
            self._server.scene.remove_by_name(name)


def prepare_scene(server: viser.ViserServer, shadows: bool) -> None:
    """Ground, light and sky."""
    scene = server.scene
    scene.set_up_direction("+z")
    scene.configure_default_lights(enabled=False)
    scene.set_background_image(_sky(), format="png")
    scene.add_light_hemisphere(
        "/light/sky", sky_color=(240, 246, 255), ground_color=(120, 122, 130), intensity=1.1
    )
    scene.add_light_directional(
        "/light/sun", color=(255, 244, 228), intensity=1.9, cast_shadow=shadows, position=(2.0, -3.0, 4.5)
    )
    scene.add_light_directional(
        "/light/fill", color=(200, 220, 255), intensity=0.5, position=(-3.0, -1.5, 1.5)
    )
    scene.add_grid(
        "/ground",
        width=8.0,
        height=8.0,
        cell_size=0.25,
        section_size=1.0,
        cell_color=(150, 160, 172),
        section_color=(112, 124, 140),
        plane_color=(196, 204, 214),
        plane_opacity=1.0,
        shadow_opacity=0.35 if shadows else 0.0,
    )


def _sky() -> NDArray[np.uint8]:
    """A column of colours from the zenith down to the horizon."""
    shares = np.linspace(0.0, 1.0, 64)[:, None, None]
    zenith, horizon = np.array([148.0, 174.0, 204.0]), np.array([226.0, 232.0, 239.0])
    return np.asarray((1.0 - shares) * zenith + shares * horizon, dtype=np.uint8).repeat(2, axis=1)


def look_at(server: viser.ViserServer, low: Array, high: Array) -> None:
    """Put every camera, present and coming, where it sees a box of space, and the ground at its foot."""
    center = 0.5 * (low + high)
    distance = 1.5 * float(np.linalg.norm(high - low)) + 0.2
    position = center + distance * np.array([0.83, -0.50, 0.25])
    camera = server.initial_camera
    camera.position, camera.look_at, camera.fov = position, center, np.radians(45.0)
    for client in server.get_clients().values():
        client.camera.position, client.camera.look_at = position, center
