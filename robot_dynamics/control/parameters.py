"""Parameters of the arm controller."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.control.effort_limits import EffortLimitParameters
from robot_dynamics.control.law import Mode
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array


class SafeOutput(enum.Enum):
    """What goes to the actuators when the controller cannot control."""

    GRAVITY_FADE = "gravity_fade"
    ZERO = "zero"


@dataclass(frozen=True)
class LoopParameters:
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
        "Without a joint state for so long, the safe output takes over until states return",
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
        2.0, "How long the gravity load fades in the safe output", unit="s", minimum=0.0, maximum=60.0
    )

    def half_period(self, measured: float) -> float:
        """How far ahead the model is evaluated [s], where the period was ``measured`` [s]."""
        return 0.5 * (self.control_period or measured) if self.half_period_ahead else 0.0


@dataclass(frozen=True)
class ControllerParameters(EffortLimitParameters, LoopParameters):
    """Gains and mode of the arm controller; all can be changed while it runs."""

    mode: str = parameter(
        Mode.COMPUTED_TORQUE.value,
        "What is computed from the model: computed_torque tracks with feedback; feedforward sends the"
        " reference's own efforts without feedback; gravity_compensation carries the arm's weight only; pd"
        " tracks without a model",
        choices=[mode.value for mode in Mode],
    )
    kp: tuple[float, ...] = parameter(
        (100.0,),
        "Position gain on the acceleration, one per joint or one for all",
        unit="1/s²",
        minimum=0.0,
        maximum=1e6,
    )
    kv: tuple[float, ...] = parameter(
        (20.0,),
        "Velocity gain on the acceleration, one per joint or one for all; 2·sqrt(kp) is critical damping",
        unit="1/s",
        minimum=0.0,
        maximum=1e4,
    )

    model_change_time: float = parameter(
        0.2,
        "How long the efforts take to go over to a model (payload, gravity, drives), a mode or gains that"
        " were changed; 0 is at once",
        unit="s",
        minimum=0.0,
        maximum=60.0,
    )

    def __post_init__(self) -> None:
        validate(self)
        for name in ("kp", "kv"):
            if not getattr(self, name):
                raise ParameterError(f"parameter '{name}' is empty; give one value, or one per joint")

    def gains(self, joint_names: Sequence[str]) -> tuple[Array, Array]:
        """Position and velocity gains (n,) of the joints.

        Raises:
            ParameterError: a list whose length is neither 1 nor the number of joints.
        """
        return per_joint(self.kp, joint_names, "kp"), per_joint(self.kv, joint_names, "kv")
