"""Robot or platform in the scene: links, ghosts, efforts and weights."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import viser

from robot_dynamics.spatial import Array
from robot_dynamics.view.browser.shapes import SceneFrame, add_visual, rgb255
from robot_dynamics.view.efforts import (
    RGB,
    VISIBLE_SHARE,
    EffortScale,
    Mesh,
    arc_arrow,
    quantity_text,
    ring,
    rod,
    straight_arrow,
)
from robot_dynamics.view.labels import EM
from robot_dynamics.view.machine import Gauge, Geometry

WEIGHT_COLOR: RGB = (0.42, 0.30, 0.62)
RING_COLOR: RGB = (0.45, 0.50, 0.55)
APART = 0.004
"""A ghost's link that is nearer to the body's than this share of the machine's size is not shown."""
LABEL_MOVED = 0.05
"""Least way of a label that is sent to the browser, in radii of its arc."""
REDRAWN = 0.004
"""Least change of a share of the limit that is drawn anew."""
SCREEN_EM = 12.0
"""Font size of viser's labels [pixels of the page]."""
_BESIDE = np.array([[0.2, -0.98], [0.98, 0.2]])


class RobotBody:
    """Links of a robot or platform, solid or as a transparent ghost.

    Args:
        server: the page.
        name: of its node in the scene.
        geometry: of the machine.
        color: of a ghost; None for the description's own colours.
        opacity: of a ghost.
        simple: whether the shapes have few triangles and no shadows.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        name: str,
        geometry: Geometry,
        color: RGB | None = None,
        opacity: float | None = None,
        simple: bool = False,
    ) -> None:
        self._size = geometry.size
        self._root = SceneFrame(server, name)
        self._links: dict[str, SceneFrame] = {}
        self.failures: list[str] = []
        for number, visual in enumerate(geometry.shapes):
            if visual.link not in self._links:
                self._links[visual.link] = SceneFrame(server, f"{name}/link{len(self._links)}")
            at = f"{name}/link{list(self._links).index(visual.link)}/shape{number}"
            failure = add_visual(server, at, visual, color, opacity, simple)
            if failure:
                self.failures.append(f"link {visual.link!r}: {failure}")

    def move(self, poses: Mapping[str, Array]) -> None:
        """Take the poses of the links."""
        for link, frame in self._links.items():
            frame.move(poses[link])

    def move_apart(self, poses: Mapping[str, Array], others: Mapping[str, Array]) -> None:
        """Take the poses of the links, and show those that differ from the other body's."""
        size = self._size
        for link, frame in self._links.items():
            difference = np.abs(poses[link] - others[link])
            apart = difference[:3, 3].max() + 0.1 * size * difference[:3, :3].max()
            frame.visible = bool(apart > APART * size)
            if frame.visible:
                frame.move(poses[link])

    @property
    def visible(self) -> bool:
        """Visibility; True when shown."""
        return self._root.visible

    @visible.setter
    def visible(self, value: bool) -> None:
        self._root.visible = value


class EffortGauge:
    """The effort of one drive: an arc about its axis, or an arrow along it, beside its limit.

    Args:
        server: the page.
        name: of its node in the scene.
        gauge: what is shown.
        beside: put the label beside the highest place of the arc: neighbours' arcs often have one centre.
        color: of the arc; None: by the share of the limit.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        name: str,
        gauge: Gauge,
        beside: bool = False,
        color: RGB | None = None,
    ) -> None:
        self._color = color
        self._gauge = gauge
        self._aside = _BESIDE if beside else np.eye(2)
        self._scale = EffortScale(gauge.limit)
        self._frame = SceneFrame(server, name)
        self._drawn: float | None = None
        extent, thickness = gauge.extent, gauge.thickness
        scale = ring(extent, 0.25 * thickness) if gauge.turns else rod(extent, 0.2 * thickness)
        server.scene.add_mesh_simple(
            f"{name}/limit",
            scale.vertices,
            scale.faces,
            color=rgb255(RING_COLOR),
            opacity=0.5,
            cast_shadow=False,
            receive_shadow=False,
        )
        self._label_at = np.array([1.05 * extent if gauge.turns else 0.0, 0.0, 0.0])
        mesh = self._mesh(0.0)
        self._arrow = server.scene.add_mesh_simple(
            f"{name}/effort", mesh.vertices, mesh.faces, cast_shadow=False, receive_shadow=False
        )
        self._label = server.scene.add_label(
            f"{name}/number",
            "",
            position=self._label_at,
            font_screen_scale=EM / SCREEN_EM,
            anchor="center-left",
        )

    def share(self, effort: float) -> float:
        """Absolute value of an effort as a share of the limit."""
        return abs(self._scale(effort)[0])

    def _mesh(self, share: float) -> Mesh:
        if self._gauge.turns:
            return arc_arrow(share, self._gauge.extent, self._gauge.thickness)
        return straight_arrow(share, self._gauge.extent, self._gauge.thickness)

    def update(self, poses: Mapping[str, Array], effort: float | None, numbers: bool) -> None:
        """Draw an effort at the poses of the links, with or without its number; None when it is not known."""
        place = poses[self._gauge.link] @ self._gauge.frame
        self._frame.move(place)
        if effort is None:
            self._show(False, "")
            return
        share, color = self._scale(effort)
        visible = abs(share) > VISIBLE_SHARE
        text = ""
        if visible and numbers:
            text = self.text(effort)
        self._show(visible, text)
        position = self._label_place(place)
        if text and np.abs(position - self._label_at).max() > LABEL_MOVED * self._gauge.extent:
            self._label.position = self._label_at = position
        if self._drawn is None or abs(share - self._drawn) > REDRAWN:
            self._arrow.vertices = self._mesh(share).vertices.astype(np.float32)
            self._arrow.color = rgb255(self._color or color)
            self._drawn = share

    def text(self, effort: float) -> str:
        """Text of the label."""
        return f"{self._gauge.name}  {quantity_text(effort, self._gauge.limit, self._gauge.unit)}"

    def label_point(self, poses: Mapping[str, Array]) -> Array:
        """Place (3,) of the label in the root frame [m]."""
        place = poses[self._gauge.link] @ self._gauge.frame
        return np.asarray(place[:3, :3] @ self._label_place(place) + place[:3, 3])

    def _label_place(self, place: Array) -> Array:
        """Place of the label in the gauge's frame: where the ring is highest."""
        if not self._gauge.turns:
            return np.zeros(3)
        rise = place[2, :2]  # of its x and y axis per metre
        slope = float(np.linalg.norm(rise))
        direction = rise / slope if slope > 0.1 else np.array([1.0, 0.0])
        return 1.05 * self._gauge.extent * np.array([*(self._aside @ direction), 0.0])

    def _show(self, arrow: bool, text: str) -> None:
        if self._arrow.visible != arrow:
            self._arrow.visible = arrow
        if self._label.text != text:
            self._label.text = text
        if self._label.visible != bool(text):
            self._label.visible = bool(text)

    @property
    def visible(self) -> bool:
        """Visibility; True when shown."""
        return self._frame.visible

    @visible.setter
    def visible(self, value: bool) -> None:
        self._frame.visible = value


class Weights:
    """The weight of every moving link, an arrow from its centre of mass."""

    def __init__(self, server: viser.ViserServer, name: str, geometry: Geometry, gravity: Array) -> None:
        self._weights = geometry.weights
        self._arrows = geometry.weight_arrows(gravity)
        size = geometry.size
        self._node: viser.ArrowsHandle | None = None
        if any(arrow.any() for arrow in self._arrows):
            self._node = server.scene.add_arrows(
                name,
                np.zeros((len(self._weights), 2, 3)),
                rgb255(WEIGHT_COLOR),
                shaft_radius=0.006 * size,
                head_radius=0.016 * size,
                head_length=0.04 * size,
            )
        self._points = np.zeros((len(self._weights), 2, 3))

    def update(self, poses: Mapping[str, Array]) -> None:
        """Draw the weights at the poses of the links."""
        if self._node is None:
            return
        points = np.empty_like(self._points)
        for row, weight, arrow in zip(points, self._weights, self._arrows, strict=True):
            place = poses[weight.link]
            row[0] = place[:3, :3] @ weight.center_of_mass + place[:3, 3]
            row[1] = row[0] + arrow
        if np.abs(points - self._points).max() > 1e-4:
            self._node.points = points.astype(np.float32)
            self._points = points

    @property
    def visible(self) -> bool:
        """Visibility; True when shown."""
        return self._node is not None and bool(self._node.visible)

    @visible.setter
    def visible(self, value: bool) -> None:
        if self._node is not None and value != self._node.visible:
            self._node.visible = value
