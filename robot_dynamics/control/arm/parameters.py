"""Parameters of the arm controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.arm.effort_limits import EffortLimitParameters
from robot_dynamics.control.arm.laws import DESCRIPTION, arm_modes
from robot_dynamics.control.parameters import LoopParameters
from robot_dynamics.control.plausibility import Bounds
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class ArmParameters(EffortLimitParameters, LoopParameters):
    """Gains and mode of the arm controller; all can be changed while it runs."""

    mode: str = parameter(
        "computed_torque",
        f"What is computed from the model: {DESCRIPTION}",
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

    def __post_init__(self) -> None:
        validate(self)
        for name in ("kp", "kv"):
            if not getattr(self, name):
                raise ParameterError(f"parameter '{name}' is empty; give one value, or one per joint")

    def gains(self, joint_names: Sequence[str]) -> tuple[Array, Array]:
        """Position and velocity gains (n,) of ``joint_names``.

        Raises:
            ParameterError: a list whose length is neither 1 nor the number of joints.
        """
        return per_joint(self.kp, joint_names, "kp"), per_joint(self.kv, joint_names, "kv")


def arm_bounds(chain: KinematicChain, parameters: ArmParameters) -> Bounds:
    """What counts as real for an arm, from its limits and the parameters.

    Raises:
        ParameterError: ``max_effort`` does not fit the joints.
    """
    velocities = np.array([chain.driving_joint(j).limits.velocity for j in range(chain.dof)])
    return Bounds.of(parameters, parameters.limits_of(chain), velocities)
