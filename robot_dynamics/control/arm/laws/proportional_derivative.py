"""Independent joint control, for comparison with what a model gains."""

from __future__ import annotations

from robot_dynamics.control.arm.inverse_dynamics import DrivenDynamics, joint_inertia
from robot_dynamics.control.arm.laws.base import ArmLaw
from robot_dynamics.control.arm.state import JointSpaceState
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.spatial import Array


class ProportionalDerivative(ArmLaw):
    """Each joint for itself: the gains scaled to efforts by its inertia where the arm was last held."""

    summary = "tracks without a model"

    def __init__(self, dynamics: DrivenDynamics, kp: Array, kv: Array) -> None:
        super().__init__(dynamics, kp, kv)
        self._inertia: Array | None = None

    def effort(
        self, state: JointSpaceState, reference: Reference, ahead: Reference, half_period: float
    ) -> Array:
        """(n,) joint efforts [N·m or N]."""
        if self._inertia is None:
            self._inertia = joint_inertia(self.dynamics, state.position)
        error, rate = reference.position - state.position, reference.velocity - state.velocity
        return self._inertia * (self.kv * rate + self.kp * error)

    def settle(self) -> None:
        """The inertia is that of another place."""
        self._inertia = None
