"""Limits of a retimed path."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.inputs.arrays import of_type, real_array
from robot_dynamics.model.chain import ChainJoint, KinematicChain
from robot_dynamics.spatial import Array

_UNITS = {
    "velocity": "rad/s or m/s",
    "acceleration": "rad/s² or m/s²",
    "effort": "N·m or N",
    "effort_rate": "N·m/s or N/s",
}


class Coordinates(Protocol):
    """Coordinates of a path: the joints of an arm, or poses and legs of a platform."""

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        ...

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the coordinates in messages."""
        ...

    def driving_joint(self, coordinate: int) -> ChainJoint:
        """The joint of a coordinate, whose kind gives the units."""
        ...


@dataclass(frozen=True)
class PathLimits:
    """Limits of each joint, in chain order; None where there are none, infinite for single joints.

    Attributes:
        velocity: (n,) or one for all [rad/s or m/s].
        acceleration: the same [rad/s² or m/s²].
        effort: the same [N·m or N].
        effort_rate: the same of the effort's change [N·m/s or N/s]. Dry friction is left out: no timing
            avoids its jump where a joint turns. Motions from rest and to rest begin and end with the effort
            that holds the arm.
    """

    velocity: Any = None
    acceleration: Any = None
    effort: Any = None
    effort_rate: Any = None

    @staticmethod
    def of(chain: KinematicChain) -> PathLimits:
        """Limits of a description: velocities and efforts."""
        of_type("chain", chain, KinematicChain)
        limits = [chain.driving_joint(j).limits for j in range(chain.dof)]
        return PathLimits(
            velocity=np.array([limit.velocity for limit in limits]),
            effort=np.array([limit.effort for limit in limits]),
        )

    def arrays(self, chain: Coordinates) -> dict[str, Array]:
        """(n,) of each kind by its name, infinite where nothing is given.

        Raises:
            ParameterError: a wrong number of limits, or one that is zero, negative or NaN; names the joint.
        """
        made = {}
        for field in fields(self):
            given = getattr(self, field.name)
            if given is None:
                made[field.name] = np.full(chain.dof, np.inf)
                continue
            values = real_array(f"limits: {field.name}", given, ParameterError)
            if values.shape not in ((), (1,), (chain.dof,)):
                raise ParameterError(
                    f"limits: {field.name} is {quoted(given)}; give one number, or {chain.dof}: one per joint"
                )
            made[field.name] = limits = np.empty(chain.dof)
            limits[:] = values
            positive = limits > 0.0
            if not positive.all():
                j = int(positive.argmin())
                raise ParameterError(
                    f"limits: {field.name} of joint {chain.joint_names[j]!r} is {limits[j]:g}"
                    f" {_UNITS[field.name]}; it must be above 0"
                )
        return made
