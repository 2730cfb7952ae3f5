"""Forces of the reference motion alone."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.stewart.laws.base import StewartLaw
from robot_dynamics.control.stewart.state import TaskSpaceState
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Motion
from robot_dynamics.stewart.orientation import quaternion_from_rotation


class ReferenceFeedforward(StewartLaw):
    """The model's forces for the reference in the middle of the period; the measured pose has no part."""

    summary = "sends the reference's own forces"

    def effort(self, state: TaskSpaceState, reference: Motion, ahead: Motion, half_period: float) -> Array:
        """(6,) actuator forces [N]."""
        twist = np.concatenate([ahead.linear_velocity, ahead.angular_velocity])
        acceleration = np.concatenate([ahead.linear_acceleration, ahead.angular_acceleration])
        quaternion = quaternion_from_rotation(ahead.rotation).tolist()
        return self._evaluate(ahead.position, quaternion, ahead.rotation, twist, acceleration, state.wrench)
