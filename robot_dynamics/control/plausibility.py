"""Motion that cannot be real: which states and efforts are refused before anything follows them.

Whatever is refused ends in a hold where the machine is found, or in the safe output. No effort is filtered;
what was asked for is spread over as many cycles as its steps need. All limits are declared here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class PlausibilityParameters:
    """Limits of what is believed; all can be changed while the controller runs."""

    max_stamp_step: float = parameter(
        0.5,
        "Longest time between the stamps of two joint states; beyond it the trajectory is dropped, and "
        "the robot holds where it is",
        unit="s",
        minimum=1e-3,
        maximum=1e6,
    )
    max_state_jump: float = parameter(
        0.05,
        "Distance that a joint may move between two states beyond what its velocities explain; beyond it "
        "the robot stops where it is",
        unit="rad or m",
        minimum=1e-6,
        maximum=1e6,
    )
    max_velocity_factor: float = parameter(
        3.0,
        "Multiple of the joint's velocity limit beyond which a measured velocity is not believed: the "
        "trajectory is dropped, and the fail-safe output is sent until a velocity is believed",
        minimum=1.0,
        maximum=1e6,
    )
    max_effort_step: float = parameter(
        1.0,
        "Largest step of a joint's effort from one cycle to the next, as a share of its limit; beyond it "
        "the robot stops. A requested change takes as many cycles as it needs. 2 allows every step; an arm"
        " refuses steps that are too small to hold it, where the period of its states is known",
        minimum=1e-3,
        maximum=2.0,
    )

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class PlausibilityBounds:
    """The limits in force for one machine, ready for the cycle; infinite where there is none.

    Attributes:
        effort: (n,) [N·m or N].
        effort_step: (n,) from one cycle to the next [N·m or N].
        velocity: (n,) that can be real [rad/s or m/s].
        velocity_limit: (n,) [rad/s or m/s].
        state_jump: beyond what velocities explain [rad or m].
        stamp_step: between two states [s].
    """

    effort: Array
    effort_step: Array
    velocity: Array
    velocity_limit: Array
    state_jump: float
    stamp_step: float

    @staticmethod
    def of(
        parameters: PlausibilityParameters, effort_limits: Array, velocity_limits: Array
    ) -> PlausibilityBounds:
        """The bounds of a machine with these limits (n,), infinite where it has none."""
        return PlausibilityBounds(
            effort=effort_limits,
            effort_step=parameters.max_effort_step * effort_limits,
            velocity=parameters.max_velocity_factor * velocity_limits,
            velocity_limit=velocity_limits,
            state_jump=parameters.max_state_jump,
            stamp_step=parameters.max_stamp_step,
        )


class StopLimits(NamedTuple):
    """Limits of stops in coordinates of the references, (n,) each; of a platform, norms of each half.

    Attributes:
        hold_deceleration: of a hold [rad/s² or m/s²].
        stop_deceleration: of an emergency stop [rad/s² or m/s²].
        following: distance from the reference beyond which a stop leaves its path [rad or m].
    """

    hold_deceleration: Array
    stop_deceleration: Array
    following: Array
