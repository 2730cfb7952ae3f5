"""Parameters of the arm controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.control.arm import guiding, impedance, task_impedance
from robot_dynamics.control.arm.contact import ContactParameters
from robot_dynamics.control.arm.effort_limits import EffortLimitParameters
from robot_dynamics.control.arm.guiding import GuidingParameters
from robot_dynamics.control.arm.impedance import ImpedanceParameters
from robot_dynamics.control.arm.laws import DESCRIPTION, arm_modes
from robot_dynamics.control.arm.resting import ArmBrakeParameters
from robot_dynamics.control.arm.stream import StreamParameters
from robot_dynamics.control.arm.task_impedance import TaskImpedanceParameters
from robot_dynamics.control.parameters import LoopParameters, estimate_gains
from robot_dynamics.control.plausibility import PlausibilityBounds, StopLimits
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

REACHED = 0.1
"""Time in which the maximum acceleration leads to the velocity limit, where none is given [s]."""
UNLIMITED = 20.0
"""Maximum acceleration of a joint without a velocity limit [rad/s² or m/s²]."""
FOLLOWING = 0.05, 0.2
"""Distance from the reference beyond which a stop leaves its path [m], [rad]."""


@dataclass(frozen=True)
class ArmParameters(
    ArmBrakeParameters,
    StreamParameters,
    ImpedanceParameters,
    TaskImpedanceParameters,
    GuidingParameters,
    ContactParameters,
    EffortLimitParameters,
    LoopParameters,
):
    """Gains and mode of the arm controller; all can be changed while it runs."""

    mode: str = parameter(
        "computed_torque",
        f"Operating mode: {DESCRIPTION}",
        choices=arm_modes,
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

    ki: float = parameter(
        0.0,
        "Gain of the disturbance estimate, which removes position errors beyond 0.02 rad or 2 mm that a load"
        " unknown to the model causes, in the mode computed_torque; 0: kp·kv/16 of each joint; -1: off",
        unit="1/s³",
        minimum=-1.0,
        maximum=1e9,
    )
    max_acceleration: tuple[float, ...] = parameter(
        (),
        "Maximum acceleration of trajectories, and deceleration of a hold: one per joint or one for all; 0 or"
        " empty: the velocity limit is reached in 0.1 s, or 20 where there is none",
        unit="rad/s² or m/s²",
        minimum=0.0,
        maximum=1e6,
    )
    stop_deceleration: tuple[float, ...] = parameter(
        (),
        "Deceleration of an emergency stop, a protective stop and a stop after a jump, as far as the effort"
        " limits permit: one per joint or one for all; 0 or empty: twice max_acceleration",
        unit="rad/s² or m/s²",
        minimum=0.0,
        maximum=1e6,
    )

    def __post_init__(self) -> None:
        validate(self)
        ImpedanceParameters.__post_init__(self)
        TaskImpedanceParameters.__post_init__(self)
        GuidingParameters.__post_init__(self)
        for name in ("kp", "kv"):
            if not getattr(self, name):
                raise ParameterError(f"parameter '{name}' is empty; give one value, or one per joint")

    @property
    def switched_off(self) -> list[str]:
        """See :class:`SupervisionParameters`."""
        return [*super().switched_off, *(["stream_horizon"] if self.stream_horizon < 0.0 else [])]

    @property
    def yields(self) -> bool:
        """Return whether the law is an impedance."""
        return self.mode in (impedance.MODE, task_impedance.MODE)

    @property
    def law(self) -> tuple[object, ...]:
        """Mode and gains."""
        spring = self.joint_stiffness, self.joint_damping, self.joint_error_clip, self.smoothing
        return self.mode, self.kp, self.kv, self.ki, *spring, *self.task_law, *self.guide_law

    @property
    def law_numbers(self) -> dict[str, Any]:
        """Fields of ``rd_settings`` that are no arrays (n,)."""
        return {"guide_friction": self.guide_friction, "smoothing": list(self.smoothing)}

    @property
    def frame_law(self) -> bool:
        """Return whether the law evaluates a frame."""
        return self.mode == task_impedance.MODE or (self.mode == guiding.MODE and bool(self.held_axes.any()))

    @property
    def follows_nothing(self) -> bool:
        """Return whether the mode has no trajectories."""
        return self.mode in ("gravity_compensation", guiding.MODE)

    def law_arrays(self, chain: KinematicChain) -> dict[str, Array]:
        """Gains (n,) by their names in ``rd_settings``, before those of an impedance are derived.

        Raises:
            ParameterError: a list does not fit the joints.
        """
        kp, kv = self.gains(chain.joint_names)
        spring, guide = self.impedance(chain), self.guide_arrays(chain)
        return {"kp": kp, "kv": kv, **spring, **estimate_arrays(chain, self), **guide}

    def gains(self, joint_names: Sequence[str]) -> tuple[Array, Array]:
        """Position and velocity gains (n,) of ``joint_names``.

        Raises:
            ParameterError: a list whose length is neither 1 nor the number of joints.
        """
        return per_joint(self.kp, joint_names, "kp"), per_joint(self.kv, joint_names, "kv")


def arm_accelerations(chain: KinematicChain, parameters: ArmParameters) -> Array:
    """(n,) maximum accelerations in force [rad/s² or m/s²].

    Raises:
        ParameterError: ``max_acceleration`` does not fit the joints.
    """
    speeds = np.array([chain.driving_joint(j).limits.velocity for j in range(chain.dof)])
    derived = np.where(np.isfinite(speeds), speeds / REACHED, UNLIMITED)
    given = per_joint(parameters.max_acceleration or (0.0,), chain.joint_names, "max_acceleration")
    return np.where(given > 0.0, given, derived)


def arm_stops(chain: KinematicChain, parameters: ArmParameters) -> StopLimits:
    """Limits of an arm's stops.

    Raises:
        ParameterError: ``max_acceleration`` or ``stop_deceleration`` does not fit the joints.
    """
    hold = arm_accelerations(chain, parameters)
    given = per_joint(parameters.stop_deceleration or (0.0,), chain.joint_names, "stop_deceleration")
    prismatic = [chain.driving_joint(j).kind is JointKind.PRISMATIC for j in range(chain.dof)]
    return StopLimits(hold, np.where(given > 0.0, given, 2.0 * hold), np.where(prismatic, *FOLLOWING))


SETTLED = 0.002, 0.02
"""Position errors that the disturbance estimate leaves, and within which a goal has arrived [m], [rad]."""


def settled_errors(chain: KinematicChain) -> Array:
    """(n,) position errors within which a joint has arrived [rad or m]."""
    prismatic = [chain.driving_joint(j).kind is JointKind.PRISMATIC for j in range(chain.dof)]
    return np.where(prismatic, *SETTLED)


def estimate_arrays(chain: KinematicChain, parameters: ArmParameters) -> dict[str, Array]:
    """Gain of the disturbance estimate (n,) [1/s³], and the errors that it leaves (n,) [rad or m]."""
    gains = estimate_gains(parameters.ki, *parameters.gains(chain.joint_names))
    return {"ki": gains, "settled": settled_errors(chain)}


def position_limits(chain: KinematicChain) -> Array:
    """(2, n) lowest and highest positions [rad or m], infinite where there is no limit."""
    limits = [chain.driving_joint(j).limits for j in range(chain.dof)]
    return np.array([[limit.lower for limit in limits], [limit.upper for limit in limits]])


def arm_bounds(chain: KinematicChain, parameters: ArmParameters) -> PlausibilityBounds:
    """Bounds of plausible states of an arm, from its limits and the parameters.

    Raises:
        ParameterError: ``max_effort`` does not fit the joints.
    """
    velocities = np.array([chain.driving_joint(j).limits.velocity for j in range(chain.dof)])
    return PlausibilityBounds.of(parameters, parameters.limits_of(chain), velocities)
