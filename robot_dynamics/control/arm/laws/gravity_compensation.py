"""Efforts that carry the arm, so that it can be led by hand."""

from __future__ import annotations

from robot_dynamics.control.arm.laws.base import ArmLaw
from robot_dynamics.control.arm.state import JointSpaceState
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.spatial import Array


class GravityCompensation(ArmLaw):
    """The weight in the measured position, and nothing else."""

    summary = "carries the arm's weight only"

    def effort(
        self, state: JointSpaceState, reference: Reference, ahead: Reference, half_period: float
    ) -> Array:
        """(n,) joint efforts [N·m or N]."""
        return self.load(state)
