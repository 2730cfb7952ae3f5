"""Everything in the scene about one robot or platform: links, ghosts, gauges and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import viser

from robot_dynamics.spatial import Array
from robot_dynamics.view.browser.body import EffortGauge, RobotBody, Weights
from robot_dynamics.view.efforts import RGB
from robot_dynamics.view.labels import Viewpoint, apart
from robot_dynamics.view.machine import Geometry
from robot_dynamics.view.samples import StateSample

REFERENCE_COLOR: RGB = (0.15, 0.45, 0.85)
GOAL_COLOR: RGB = (0.95, 0.55, 0.10)
GHOST_OPACITY = 0.32
MOST_NUMBERS = 8
"""Joints or legs with a number at once: labels of more hide each other and the robot."""
KEPT = 1.2
"""Factor on the load of a joint that has its number already: otherwise numbers of two could take turns."""
NODES = ("/body", "/reference", "/goal", "/efforts", "/weights")


@dataclass(frozen=True)
class Shown:
    """Parts of the picture that are drawn."""

    efforts: bool = True
    numbers: bool = True
    weights: bool = True
    reference: bool = True
    goal: bool = True


class Picture:
    """Scene of one robot or platform.

    Args:
        server: the page.
        geometry: of the robot or platform.
        gravity: (3,) in the root frame [m/s²].
        simple: whether it has few triangles and no shadows.

    Attributes:
        name: of the robot or platform.
        failures: what cannot be drawn and why.
    """

    def __init__(self, server: viser.ViserServer, geometry: Geometry, gravity: Array, simple: bool) -> None:
        self._server = server
        self._geometry = geometry
        self.name = geometry.name
        # A browser without a graphics card draws what is behind a transparent surface a second time.
        opacity = 0.999 if simple else GHOST_OPACITY
        self._reference = RobotBody(server, "/reference", geometry, REFERENCE_COLOR, opacity, simple)
        self._goal = RobotBody(server, "/goal", geometry, GOAL_COLOR, opacity, simple)
        self._reference.visible = self._goal.visible = False
        self._gauges = {
            gauge.name: EffortGauge(server, f"/efforts/{number}", gauge, bool(number % 2))
            for number, gauge in enumerate(geometry.gauges)
        }
        self._numbered: list[str] = []
        self._view: Viewpoint | None = None
        self._weights = Weights(server, "/weights", geometry, gravity)
        self.draw_body(simple)

    def draw_body(self, simple: bool) -> None:
        """Draw the links, with few triangles and without shadows, or as the files have them."""
        self._server.scene.remove_by_name("/body")
        self._body = RobotBody(self._server, "/body", self._geometry, simple=simple)
        self.failures = self._body.failures

    def update(self, sample: StateSample, goal: Mapping[str, float], shown: Shown) -> Mapping[str, Array]:
        """Show one sample, and a goal where it is not empty; poses of the links."""
        poses = self._geometry.link_poses(sample.positions)
        self._body.move(poses)
        self._weights.visible = shown.weights
        if shown.weights:
            self._weights.update(poses)
        self._numbered = self._most_loaded(sample.efforts, poses) if shown.numbers else []
        for name, gauge in self._gauges.items():
            gauge.visible = shown.efforts
            if shown.efforts:
                gauge.update(poses, sample.efforts.get(name), name in self._numbered)
        self._ghost(self._reference, poses, sample.references if shown.reference else {})
        self._ghost(self._goal, poses, {**sample.positions, **goal} if goal and shown.goal else {})
        return poses

    def look_from(self, view: Viewpoint | None) -> None:
        """Leave out numbers that would cover those of more loaded joints from here; None: leave out none."""
        self._view = view

    def _most_loaded(self, efforts: Mapping[str, float], poses: Mapping[str, Array]) -> list[str]:
        """Names of the joints or legs with the largest shares of their limits."""

        def load(name: str) -> float:
            return self._gauges[name].share(efforts[name]) * (KEPT if name in self._numbered else 1.0)

        names = sorted((name for name in self._gauges if name in efforts), key=load, reverse=True)
        if self._view is None or not names:
            return names[:MOST_NUMBERS]
        points = np.array([self._gauges[name].label_point(poses) for name in names])
        texts = [self._gauges[name].text(efforts[name]) for name in names]
        return [names[k] for k in apart(self._view, points, texts, MOST_NUMBERS)]

    def bounds(self, positions: Mapping[str, float]) -> tuple[Array, Array]:
        """Least and greatest coordinates of the robot [m]."""
        return self._geometry.bounds(self._geometry.link_poses(positions))

    def _ghost(self, ghost: RobotBody, poses: Mapping[str, Array], positions: Mapping[str, float]) -> None:
        ghost.visible = bool(positions)
        if positions:
            ghost.move_apart(self._geometry.link_poses(positions), poses)

    def remove(self) -> None:
        """Remove everything from the scene."""
        for name in NODES:
            self._server.scene.remove_by_name(name)
