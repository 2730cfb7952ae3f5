"""Parameters of every controller."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.plausibility import PlausibilityParameters
from robot_dynamics.control.supervision import SupervisionParameters
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array


class SafeOutput(enum.Enum):
    """Output to the actuators when the controller cannot control."""

    GRAVITY_FADE = "gravity_fade"
    ZERO = "zero"


@dataclass(frozen=True)
class LoopParameters(PlausibilityParameters, SupervisionParameters):
    """Timing and safety of every control loop; all can be changed while it runs."""

    half_period_ahead: bool = parameter(
        True,
        "Evaluate the model in the middle of the coming control period, for which the effort is held",
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
        "Time without a joint state after which the fail-safe output is sent, until states return",
        unit="s",
        minimum=1e-3,
        maximum=60.0,
    )
    safe_output: str = parameter(
        SafeOutput.GRAVITY_FADE.value,
        "gravity_fade carries the weight at the last known position and fades to zero; zero stops at once",
        choices=[output.value for output in SafeOutput],
    )
    safe_fade_time: float = parameter(
        2.0,
        "Time in which the gravity load fades in the fail-safe output",
        unit="s",
        minimum=0.0,
        maximum=60.0,
    )
    model_change_time: float = parameter(
        0.2,
        "Time in which the efforts blend to a changed model (payload, gravity, actuators), mode or "
        "gains; 0: at once",
        unit="s",
        minimum=0.0,
        maximum=60.0,
    )

    max_start_delay: float = parameter(
        60.0,
        "Longest time from now to the start of a trajectory; one that is to begin later is refused",
        unit="s",
        minimum=0.0,
        maximum=1e6,
    )
    front_timeout: float = parameter(
        5.0,
        "Native loop only: when the node's own thread has hung for so long and all it had handed over is"
        " finished, the safe output takes over until that thread is back; 0: never",
        unit="s",
        minimum=0.0,
        maximum=3600.0,
    )

    def __post_init__(self) -> None:
        validate(self)

    @property
    def fail_safe(self) -> str:
        """Fail-safe output in a word, for log lines."""
        return self.safe_output


DAMPED_SHARE = 16.0
"""Product of kp and kv over the derived gain of a disturbance estimate; from 1 on the loop is unstable."""


def estimate_gains(ki: float, kp: Array, kv: Array) -> Array:
    """(n,) gains of a disturbance estimate [1/s³]: ``ki``; 0: derived from kp and kv (n,); below 0: none."""
    return np.full(len(kp), max(0.0, ki)) if ki else kp * kv / DAMPED_SHARE
