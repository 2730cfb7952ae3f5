"""What the page asks of a machine, whatever its kind: an arm and a platform answer alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from robot_dynamics.spatial import Array
from robot_dynamics.view.efforts import share_of_limit
from robot_dynamics.view.links import Weight
from robot_dynamics.view.visuals import Visual


@dataclass(frozen=True)
class Coordinate:
    """What a slider moves.

    Attributes:
        name: of a joint, or of a coordinate of the pose.
        unit: of the numbers on the page.
        factor: the page shows the SI value times this.
        low: least value [SI].
        high: greatest value [SI].
        step: of the slider, as shown.
    """

    name: str
    unit: str
    factor: float
    low: float
    high: float
    step: float


@dataclass(frozen=True)
class Gauge:
    """How the effort of one drive is drawn.

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
        """Of the effort."""
        return "N·m" if self.turns else "N"


@dataclass(frozen=True)
class Chart:
    """A plot over time.

    Attributes:
        title: with the unit.
        quantity: of the sample.
        factors: what is drawn, by name: the SI value times this.
        least_span: the vertical axis spans at least plus and minus this.
    """

    title: str
    quantity: Literal["errors", "efforts"]
    factors: Mapping[str, float]
    least_span: float


def effort_chart(what: str, gauges: tuple[Gauge, ...]) -> Chart:
    """Efforts of the drives: in per cent of their limits where all have one."""
    if all(share_of_limit(0.0, gauge.limit) is not None for gauge in gauges):
        return Chart(f"{what} [% of the limit]", "efforts", {g.name: 100.0 / g.limit for g in gauges}, 10.0)
    units = " or ".join(dict.fromkeys(gauge.unit for gauge in gauges))
    return Chart(f"{what} [{units}]", "efforts", {gauge.name: 1.0 for gauge in gauges}, 10.0)


class Geometry(Protocol):
    """A machine as it is drawn. Positions are its coordinates by name [rad or m]."""

    @property
    def name(self) -> str:
        """Of the machine."""

    @property
    def shapes(self) -> tuple[Visual, ...]:
        """What its links look like."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """What cannot be drawn and why, one line each."""

    @property
    def size(self) -> float:
        """About how large it is [m]."""

    @property
    def ground(self) -> float:
        """Height of the ground it stands on, root frame [m]."""

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """What the sliders move."""

    @property
    def gauges(self) -> tuple[Gauge, ...]:
        """How the efforts of its drives are drawn."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Plots."""

    @property
    def weights(self) -> tuple[Weight, ...]:
        """Of the moving links."""

    def weight_arrows(self, gravity: Array) -> tuple[Array, ...]:
        """An arrow (3,) for each of ``weights``, root frame [m]."""

    def link_poses(self, positions: Mapping[str, float]) -> dict[str, Array]:
        """(4, 4) pose of every link in the root frame."""

    def bounds(self, poses: Mapping[str, Array]) -> tuple[Array, Array]:
        """Least and greatest coordinates (3,), (3,), root frame [m]."""
