"""Contact in the scene: external efforts, force at the tip, pushes by the mouse, a target frame to drag."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import viser
from transforms3d.quaternions import mat2quat, quat2mat

from robot_dynamics.spatial import Array
from robot_dynamics.view.browser.body import EffortGauge
from robot_dynamics.view.browser.panel import Actions
from robot_dynamics.view.browser.shapes import rgb255
from robot_dynamics.view.efforts import RGB
from robot_dynamics.view.machine import Geometry
from robot_dynamics.view.samples import StateSample

EXTERNAL_COLOR: RGB = (0.75, 0.10, 0.55)
LARGEST_FORCE = 200.0
"""Greatest push of the slider [N]."""
FORCE_LENGTH = 0.01
"""Length of the arrow for a force [m/N]."""
LEAST_FORCE = 1.0
"""Smaller forces have no arrow [N]."""
REACH = 0.15
"""Distance from the mouse's ray at which a link is still hit, as a share of the machine's size."""
TARGET_PERIOD = 0.033
"""Seconds between two target poses of a drag."""
INNER = 0.72
"""Radius of an external effort's arc, as a share of the commanded one's."""


def nearest_link(
    poses: Mapping[str, Array], links: Mapping[str, Array], origin: Array, direction: Array, reach: float
) -> tuple[str, Array] | None:
    """Link whose middle is nearest to a ray, and the point of the ray next to it; None: too far.

    Args:
        poses: (4, 4) of the links.
        links: (3,) middle of each link in its frame [m].
        origin, direction: (3,) of the ray.
        reach: greatest distance [m].
    """
    along = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    found = None
    for link, middle in links.items():
        at = poses[link][:3, :3] @ middle + poses[link][:3, 3]
        foot = origin + max(0.0, float((at - origin) @ along)) * along
        distance = float(np.linalg.norm(at - foot))
        if distance < reach:
            reach, found = distance, (link, foot)
    return found


class Touch:
    """Contact of the robot in the scene, and the controls for it.

    Args:
        server: the page.
        tab: where its controls stand.
        actions: called by them.
    """

    def __init__(self, server: viser.ViserServer, tab: viser.GuiTabHandle, actions: Actions) -> None:
        self._server, self._actions = server, actions
        self._geometry: Geometry | None = None
        self._gauges: dict[str, EffortGauge] = {}
        self._poses: Mapping[str, Array] = {}
        self._arrow: Any = None
        self._tip = ""
        self._sent = 0.0
        gui = server.gui
        with tab:
            self._shown = gui.add_checkbox("external efforts (inner arcs)", True)
            self._pushing = gui.add_checkbox(
                "push here", False, hint="A click on a link pushes it in the simulator, away from the camera"
            )
            self._force = gui.add_slider("push [N]", min=1.0, max=LARGEST_FORCE, step=1.0, initial_value=30.0)
            self._dragging = gui.add_checkbox(
                "target frame", False, hint="Drag it: the controller moves the tip there (~/target_pose)"
            )
        self._frame = server.scene.add_transform_controls("/target", scale=0.2, visible=False)
        self._frame.on_update(lambda event: self._drag(event.phase == "end"))
        self._pushing.on_update(lambda _: self._listen(self._pushing.value))
        self._dragging.on_update(lambda _: self._offer(self._dragging.value))

    def show(self, geometry: Geometry) -> None:
        """Touch another robot."""
        self.remove()
        self._geometry = geometry
        for number, gauge in enumerate(geometry.gauges):
            inner = replace(gauge, extent=INNER * gauge.extent)
            self._gauges[gauge.name] = EffortGauge(
                self._server, f"/externals/{number}", inner, bool(number % 2), EXTERNAL_COLOR
            )
        self._frame.scale = 0.25 * geometry.size

    def remove(self) -> None:
        """Take everything out of the scene."""
        for name in ("/externals", "/contact"):
            self._server.scene.remove_by_name(name)
        self._gauges, self._arrow = {}, None

    def update(self, sample: StateSample, poses: Mapping[str, Array], numbers: bool) -> None:
        """Show the external efforts of a sample."""
        self._poses = poses
        shown = bool(self._shown.value)
        for name, gauge in self._gauges.items():
            gauge.visible = shown and name in sample.externals
            if gauge.visible:
                gauge.update(poses, sample.externals[name], numbers)
        force = np.zeros(3)
        if sample.wrench is not None and sample.wrench[0] in poses:
            self._tip = sample.wrench[0]
            force = poses[self._tip][:3, :3] @ sample.wrench[1][:3]
        self._point(force if shown else np.zeros(3))
        if self._dragging.value and not self._frame.visible:
            self._offer(True)

    def _point(self, force: Array) -> None:
        """Arrow of a force (3,) on the tip, in root axes [N]."""
        visible = bool(np.linalg.norm(force) > LEAST_FORCE)
        if self._arrow is None:
            if not visible or self._geometry is None:
                return
            size = self._geometry.size
            self._arrow = self._server.scene.add_arrows(
                "/contact",
                np.zeros((1, 2, 3)),
                rgb255(EXTERNAL_COLOR),
                shaft_radius=0.008 * size,
                head_radius=0.02 * size,
                head_length=0.05 * size,
            )
        if self._arrow.visible != visible:
            self._arrow.visible = visible
        if visible:
            at = self._poses[self._tip][:3, 3]
            self._arrow.points = np.array([[at - FORCE_LENGTH * force, at]], dtype=np.float32)

    # Pushes

    def _listen(self, pushes: bool) -> None:
        scene = self._server.scene
        if pushes:
            scene.on_pointer_event("click")(self._push)
        else:
            scene.remove_pointer_callback()

    def _push(self, event: viser.ScenePointerEvent) -> None:
        if (
            self._geometry is None
            or not self._poses
            or event.ray_origin is None
            or event.ray_direction is None
        ):
            return
        origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
        links = {weight.link: weight.center_of_mass for weight in self._geometry.weights}
        hit = nearest_link(self._poses, links, origin, direction, REACH * self._geometry.size)
        if hit is not None:
            link, point = hit
            force = self._force.value * direction / np.linalg.norm(direction)
            lever = point - self._poses[link][:3, 3]
            self._actions.push(link, np.concatenate([force, np.cross(lever, force)]))

    # Target frame

    def _offer(self, dragging: bool) -> None:
        """Put the target frame at the tip, or take it away."""
        known = self._tip in self._poses
        if dragging and known:
            pose = self._poses[self._tip]
            self._frame.position, self._frame.wxyz = pose[:3, 3], mat2quat(pose[:3, :3])
        self._frame.visible = dragging and known

    def _drag(self, ends: bool) -> None:
        """Send the pose of the target frame, at most once a period; where the drag ends at once."""
        now = time.monotonic()
        if not self._dragging.value or (now - self._sent < TARGET_PERIOD and not ends):
            return
        self._sent = now
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = quat2mat(self._frame.wxyz), self._frame.position
        self._actions.target(pose)
