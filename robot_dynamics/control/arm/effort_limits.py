"""The effort limits in force: the description's, or those that a parameter puts in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.inputs.arrays import of_type, real_array
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class EffortLimitParameters:
    """Limits for joints whose description gives none, or other ones than it gives."""

    max_effort: tuple[float, ...] = parameter(
        (),
        "Effort limits in place of the description's, one per joint or one for all; empty: the description's;"
        " 0 for a joint: the description's for this one",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e9,
    )

    def __post_init__(self) -> None:
        validate(self)

    def effort_limits_of(self, joint_names: Sequence[str], described: Sequence[float]) -> Array:
        """(n,) limits in force [N·m or N], infinite where neither parameter nor description gives one.

        Args:
            joint_names: the joints, in chain order.
            described: (n,) limits of the description [N·m or N], infinite where it gives none.

        Raises:
            ParameterError: a list whose length is neither 1 nor the number of joints, or not a described
                limit for each joint.
        """
        wanted = per_joint(self.max_effort or (0.0,), joint_names, "max_effort")
        limits = real_array("described", described, ParameterError)
        if limits.shape != wanted.shape or not (limits >= 0.0).all():
            raise ParameterError(
                f"described is {quoted(described)}; it must be {len(wanted)} limits, none of them negative"
            )
        return np.where(wanted > 0.0, wanted, limits)

    def limits_of(self, chain: KinematicChain) -> Array:
        """(n,) limits in force for the coordinates of a chain; see :meth:`effort_limits_of`."""
        of_type("chain", chain, KinematicChain)
        described = [chain.driving_joint(j).limits.effort for j in range(chain.dof)]
        return self.effort_limits_of(chain.joint_names, described)


def unlimited(chain: KinematicChain, limits: Array) -> str:
    """A warning that names the joints without an effort limit; empty when all have one."""
    names = [name for name, limit in zip(chain.joint_names, limits, strict=True) if not np.isfinite(limit)]
    return f"no effort limit for {', '.join(names)}: the parameter max_effort sets one" if names else ""
