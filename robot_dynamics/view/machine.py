"""Interface between the web view and an arm or a platform."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from robot_dynamics.spatial import Array
from robot_dynamics.view.efforts import share_of_limit
from robot_dynamics.view.links import Weight
from robot_dynamics.view.visuals import Visual


@dataclass(frozen=True)
class Coordinate:
    """Coordinate that a slider moves.

    Attributes:
        name: of a joint, or of a coordinate of the pose.
        unit: of the numbers on the page.
        factor: the page shows the SI value times this.
        low: least value [SI].
        high: greatest value [SI].
        step: of the slider, as shown.
        turns: an angle, which the page shows in radians or degrees.
        group: of the coordinates that belong together, such as an arm; empty where all do.
        locked: reason why it cannot be moved; empty where it can.
    """

    name: str
    unit: str
    factor: float
    low: float
    high: float
    step: float
    turns: bool = False
    group: str = ""
    locked: str = ""

    def in_degrees(self) -> Coordinate:
        """The same angle, shown in degrees."""
        return replace(self, unit="°", factor=math.degrees(1.0), step=0.1)


@dataclass(frozen=True)
class Gauge:
    """Gauge of one actuator's effort.

    Attributes:
        name: of the drive.
        link: that carries the gauge.
        frame: (4, 4) of the gauge in the link frame; its z is the axis of the effort.
        turns: an arc about z, else an arrow along it.
        limit: of the effort [N·m or N]; infinite when unknown.
        extent: radius of the arc, or length of the arrow at the limit [m].
        thickness: [m].
    """

    name: str
    link: str
    frame: Array
    turns: bool
    limit: float
    extent: float
    thickness: float

    @property
    def unit(self) -> str:
        """Unit of the effort."""
        return "N·m" if self.turns else "N"


@dataclass(frozen=True)
class Chart:
    """A plot over time.

    Attributes:
        title: of the quantity.
        unit: of the vertical axis.
        quantity: of the sample.
        factors: what is drawn, by name: the SI value times this.
        least_span: the vertical axis spans at least plus and minus this.
        limit: height of the lines that mark the limit; None without them.
        legend: text of the legend by name, instead of the name.
    """

    title: str
    unit: str
    quantity: Literal["errors", "efforts"]
    factors: Mapping[str, float]
    least_span: float
    limit: float | None = None
    legend: Mapping[str, str] = field(default_factory=dict)


def effort_chart(what: str, gauges: tuple[Gauge, ...]) -> Chart:
    """Efforts of the drives: in per cent of their limits, which the legend has, where all have one."""
    if all(share_of_limit(0.0, gauge.limit) is not None for gauge in gauges):
        legend = {gauge.name: f"{gauge.name} ({gauge.limit:g} {gauge.unit})" for gauge in gauges}
        factors = {gauge.name: 100.0 / gauge.limit for gauge in gauges}
        return Chart(what, "% of limit", "efforts", factors, 105.0, 100.0, legend)
    units = " or ".join(dict.fromkeys(gauge.unit for gauge in gauges))
    return Chart(what, units, "efforts", {gauge.name: 1.0 for gauge in gauges}, 10.0)


class Geometry(Protocol):
    """Robot or platform for display. Positions are coordinates by name [rad or m]."""

    @property
    def name(self) -> str:
        """Name of the robot or platform."""

    @property
    def shapes(self) -> tuple[Visual, ...]:
        """Shapes of the links."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """Shapes that cannot be drawn, one line each with the reason."""

    @property
    def size(self) -> float:
        """Approximate size [m]."""

    @property
    def ground(self) -> float:
        """Height of the ground it stands on, root frame [m]."""

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Coordinates of the sliders."""

    @property
    def home(self) -> Mapping[str, float]:
        """Pose that the button ``home`` chooses, by coordinate [rad or m]."""

    @property
    def gauges(self) -> tuple[Gauge, ...]:
        """Gauges of the actuators' efforts."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Plots over time."""

    @property
    def weights(self) -> tuple[Weight, ...]:
        """Weights of the moving links."""

    def weight_arrows(self, gravity: Array) -> tuple[Array, ...]:
        """An arrow (3,) for each of ``weights``, root frame [m]."""

    def link_poses(self, positions: Mapping[str, float]) -> dict[str, Array]:
        """(4, 4) pose of every link in the root frame."""

    def bounds(self, poses: Mapping[str, Array]) -> tuple[Array, Array]:
        """Least and greatest coordinates (3,), (3,), root frame [m]."""
