"""Efforts of the reference motion alone."""

from __future__ import annotations

from robot_dynamics.control.arm.inverse_dynamics import feedforward
from robot_dynamics.control.arm.laws.base import ArmLaw
from robot_dynamics.control.arm.state import JointSpaceState
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.spatial import Array


class ReferenceFeedforward(ArmLaw):
    """The model's efforts for the reference; where the arm is has no influence."""

    summary = "sends the reference's own efforts without feedback"

    def effort(
        self, state: JointSpaceState, reference: Reference, ahead: Reference, half_period: float
    ) -> Array:
        """(n,) joint efforts [N·m or N]."""
        return feedforward(self.dynamics, reference)
