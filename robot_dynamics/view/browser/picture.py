"""Everything on the page about one robot or platform: links, ghosts, gauges, weights, sliders, plots."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import viser

from robot_dynamics.spatial import Array
from robot_dynamics.view.browser.body import EffortGauge, RobotBody, Weights
from robot_dynamics.view.browser.panel import Actions, MovePanel
from robot_dynamics.view.browser.plots import LivePlot
from robot_dynamics.view.efforts import RGB
from robot_dynamics.view.machine import Geometry
from robot_dynamics.view.samples import StateSample

REFERENCE_COLOR: RGB = (0.15, 0.45, 0.85)
GOAL_COLOR: RGB = (0.95, 0.55, 0.10)
GHOST_OPACITY = 0.32
PLOTS_WIDTH = 290
"""Width of the panel at the left [pixels]."""
PLOTS_HEIGHT, TALLEST = 480, 190
"""Height that the plots share, and the height of one at most [pixels]."""
PLOT_PERIOD = 0.2
"""Seconds between two drawings of the plots."""
NODES = ("/body", "/reference", "/goal", "/efforts", "/weights")


class Picture:
    """Scene, sliders and plots of one robot or platform.

    Args:
        server: the page.
        geometry: of the machine.
        gravity: (3,) in the root frame [m/s²].
        window: seconds in the plots.
        actions: of the buttons.
        darkness: whether the panels are dark, and what makes them so.

    Attributes:
        name: of the machine.
        failures: what cannot be drawn and why.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        geometry: Geometry,
        gravity: Array,
        window: float,
        actions: Actions,
        darkness: tuple[bool, Callable[[bool], None]],
    ) -> None:
        self._server = server
        self._geometry = geometry
        self.name = geometry.name
        self._body = RobotBody(server, "/body", geometry)
        self._reference = RobotBody(server, "/reference", geometry, REFERENCE_COLOR, GHOST_OPACITY)
        self._goal = RobotBody(server, "/goal", geometry, GOAL_COLOR, GHOST_OPACITY)
        self._reference.visible = self._goal.visible = False
        self.failures = self._body.failures
        self._gauges = {
            gauge.name: EffortGauge(server, f"/efforts/{number}", gauge)
            for number, gauge in enumerate(geometry.gauges)
        }
        self._weights = Weights(server, "/weights", geometry, gravity)
        gui = server.gui
        self._panel = MovePanel(server, geometry.coordinates, actions)
        self._show = gui.add_folder("Show", expand_by_default=False)
        with self._show:
            self._efforts_shown = gui.add_checkbox("efforts against limits", True)
            self._numbers_shown = gui.add_checkbox("numbers", True)
            self._weights_shown = gui.add_checkbox("weights of the links", True)
            self._reference_shown = gui.add_checkbox("reference (blue ghost)", True)
            self._goal_shown = gui.add_checkbox("goal of the sliders (orange ghost)", True)
            dark = gui.add_checkbox("dark panels", darkness[0])
        dark.on_update(lambda _: darkness[1](dark.value))
        self._plots = gui.add_panel()
        self._plots.dock_left()
        self._plots.set_width(PLOTS_WIDTH)
        charts = geometry.charts
        tab = self._plots.add_tab("Plots")
        height = min(TALLEST, PLOTS_HEIGHT // len(charts))
        self._charts = [
            (chart, LivePlot(server, tab, order, chart, window, height)) for order, chart in enumerate(charts)
        ]
        self._drawn = 0.0

    def update(self, sample: StateSample) -> None:
        """Show one sample."""
        self._panel.follow(sample.positions)
        poses = self._geometry.link_poses(sample.positions)
        self._body.move(poses)
        self._weights.visible = self._weights_shown.value
        if self._weights_shown.value:
            self._weights.update(poses)
        for name, gauge in self._gauges.items():
            gauge.visible = self._efforts_shown.value
            if self._efforts_shown.value:
                gauge.update(poses, sample.efforts.get(name), self._numbers_shown.value)
        self._ghost(self._reference, poses, sample.references if self._reference_shown.value else {})
        goal = self._panel.goal.positions if self._panel.touched and self._goal_shown.value else {}
        self._ghost(self._goal, poses, goal)
        for chart, plot in self._charts:
            plot.add(sample.time, sample.errors if chart.quantity == "errors" else sample.efforts)
        if time.monotonic() - self._drawn > PLOT_PERIOD:
            self._drawn = time.monotonic()
            for _, plot in self._charts:
                plot.draw()

    def bounds(self, positions: Mapping[str, float]) -> tuple[Array, Array]:
        """Least and greatest coordinates of the machine [m]."""
        return self._geometry.bounds(self._geometry.link_poses(positions))

    def _ghost(self, ghost: RobotBody, poses: Mapping[str, Array], positions: Mapping[str, float]) -> None:
        ghost.visible = bool(positions)
        if positions:
            ghost.move_apart(self._geometry.link_poses(positions), poses)

    def remove(self) -> None:
        """Remove everything from the page."""
        self._panel.remove()
        self._show.remove()
        self._plots.remove()
        for name in NODES:
            self._server.scene.remove_by_name(name)
