"""Lee, Chung, Mudge and Turney, "On the Control of Mechanical Manipulators".

The inverse dynamics are evaluated at the commanded acceleration (4.4)

    a = qdd_d + Kv (qd_d - qd) + Kp (q_d - q),

which makes the error obey  e'' + Kv e' + Kp e = 0  when the model is exact (4.3).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import DrivenDynamics
from robot_dynamics.control.arm.laws.base import ArmLaw
from robot_dynamics.control.arm.state import JointSpaceState
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.spatial import Array

SLOWEST = 1.0
"""Least velocity gain by which an acceleration is turned into a velocity to be reached [1/s]."""


class ComputedTorque(ArmLaw):
    """Lee's law, with the model evaluated half a control period ahead.

    The effort is held over a whole control period, so the model that suits it best is the one in the middle
    of that period: position and velocity are extrapolated there with the commanded acceleration, and the
    reference acceleration is taken there. A half period of 0 is the law as published.

    Dry friction is overcome along the velocity to which the law leads the joint, qd + a / Kv, not along the
    measured one: a joint that friction holds has none, and would stay where it is.
    """

    summary = "tracks with feedback"
    looks_ahead = True

    def __init__(self, dynamics: DrivenDynamics, kp: Array, kv: Array) -> None:
        super().__init__(dynamics, kp, kv)
        self._heading_gain = np.maximum(kv, SLOWEST)

    def effort(
        self, state: JointSpaceState, reference: Reference, ahead: Reference, half_period: float
    ) -> Array:
        """(n,) joint efforts [N·m or N]."""
        q, qd = state
        feedback = self.kv * (reference.velocity - qd) + self.kp * (reference.position - q)
        acceleration = ahead.acceleration + feedback
        gain = half_period * acceleration
        velocity_ahead = qd + gain
        position_ahead = q + half_period * (qd + 0.5 * gain)
        heading = qd + acceleration / self._heading_gain
        return self.dynamics.inverse_dynamics(position_ahead, velocity_ahead, acceleration, heading)
