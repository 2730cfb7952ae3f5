"""What every control law of an arm has: the model, the gains, and what carries the arm at rest."""

from __future__ import annotations

import copy
from typing import ClassVar

from robot_dynamics.control.arm.inverse_dynamics import DrivenDynamics, gravity_load
from robot_dynamics.control.arm.state import JointSpaceState
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.spatial import Array


class ArmLaw:
    """Base of the laws; a law gives :meth:`effort`.

    Args:
        dynamics: the model with its drives.
        kp: (n,) position gains [1/s²].
        kv: (n,) velocity gains [1/s].
    """

    summary: ClassVar[str]
    """What the law does, as the end of a sentence that begins with its name."""
    looks_ahead: bool = False

    def __init__(self, dynamics: DrivenDynamics, kp: Array, kv: Array) -> None:
        self.dynamics = dynamics
        self.kp = kp
        self.kv = kv

    def with_model(self, dynamics: DrivenDynamics) -> ArmLaw:
        """The same law with another model."""
        law = copy.copy(self)
        law.dynamics = dynamics
        return law

    def effort(
        self, state: JointSpaceState, reference: Reference, ahead: Reference, half_period: float
    ) -> Array:
        """(n,) joint efforts [N·m or N]; see :class:`robot_dynamics.control.protocol.Law`."""
        raise NotImplementedError

    def load(self, state: JointSpaceState) -> Array:
        """(n,) efforts that carry the arm at rest where it is [N·m or N]."""
        return gravity_load(self.dynamics, state.position)

    def settle(self) -> None:
        """The arm is held from now on where it is."""
