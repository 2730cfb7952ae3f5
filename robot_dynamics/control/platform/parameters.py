"""Parameters of the platform controller."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.parameters import SafeOutput
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import parameter, per_joint, validate

Array = NDArray[np.float64]

DIRECTIONS = ("x", "y", "z", "about x", "about y", "about z")


class Mode(enum.Enum):
    """What the controller computes."""

    COMPUTED_FORCE = "computed_force"
    FEEDFORWARD = "feedforward"


@dataclass(frozen=True)
class PlatformParameters:
    """Gains, mode and safety of the platform controller; all can be changed while it runs."""

    mode: str = parameter(
        Mode.COMPUTED_FORCE.value,
        "computed_force tracks with feedback in task space; feedforward sends the reference's own forces",
        choices=[mode.value for mode in Mode],
    )
    kp: tuple[float, ...] = parameter(
        (400.0,),
        "Gain of the pose error on the acceleration: one for all, or x, y, z and about x, y, z of the base",
        unit="1/s²",
        minimum=0.0,
        maximum=1e6,
    )
    kv: tuple[float, ...] = parameter(
        (40.0,),
        "Gain of the velocity error on the acceleration; 2·sqrt(kp) is critical damping",
        unit="1/s",
        minimum=0.0,
        maximum=1e4,
    )
    half_period_ahead: bool = parameter(
        True, "Evaluate the model in the middle of the coming control period, for which the forces are held"
    )
    control_period: float = parameter(
        0.0,
        "Time between two joint states, for the half-period-ahead evaluation; 0 measures it from the stamps",
        unit="s",
        minimum=0.0,
        maximum=1.0,
    )
    state_timeout: float = parameter(
        0.1,
        "Without a joint state for so long, the safe output takes over until states return",
        unit="s",
        minimum=1e-3,
        maximum=60.0,
    )
    wrench_timeout: float = parameter(
        0.2,
        "An external wrench older than this counts as none",
        unit="s",
        minimum=1e-3,
        maximum=60.0,
    )
    safe_output: str = parameter(
        SafeOutput.GRAVITY_FADE.value,
        "gravity_fade carries the weight at the last known pose and fades to zero; zero stops at once",
        choices=[output.value for output in SafeOutput],
    )
    safe_fade_time: float = parameter(
        2.0, "How long the weight fades in the safe output", unit="s", minimum=0.0, maximum=60.0
    )

    def __post_init__(self) -> None:
        validate(self)
        for name in ("kp", "kv"):
            if len(getattr(self, name)) not in (1, len(DIRECTIONS)):
                raise ParameterError(
                    f"parameter '{name}' has {len(getattr(self, name))} values; give 1, or 6: x, y, z and"
                    " about x, y, z"
                )

    def gains(self) -> tuple[Array, Array]:
        """Gains (6,) of pose and velocity errors: linear, then angular, base frame."""
        return per_joint(self.kp, DIRECTIONS, "kp"), per_joint(self.kv, DIRECTIONS, "kv")
