"""State of a robot or platform at one time, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class StateSample:
    """Measured and commanded values of an arm's joints, or of a platform's pose and legs.

    Attributes:
        time: [s].
        positions: the coordinates: of the joints, or of the pose [rad or m].
        efforts: what drives the joints or the legs [N·m or N].
        references: what the coordinates should be [rad or m]; empty when nobody says.
        errors: reference minus position at one and the same time [rad or m]; empty when unknown.
        caption: a line about the machine's state.
        externals: efforts that the environment exerts on the joints [N·m or N]; empty when nobody says.
        wrench: link, and (6,) force and torque on it, in its axes [N, N·m]; None when nobody says.
    """

    time: float
    positions: Mapping[str, float]
    efforts: Mapping[str, float] = field(default_factory=dict)
    references: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    caption: str = ""
    externals: Mapping[str, float] = field(default_factory=dict)
    wrench: tuple[str, Array] | None = None
