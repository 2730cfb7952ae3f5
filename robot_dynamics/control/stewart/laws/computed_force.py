"""Computed force in task space.

The exact inverse dynamics are evaluated at the acceleration

    a = a_d + Kv (v_d - v) + Kp (x_d - x),

where x is the pose that forward kinematics finds for the measured leg lengths, and the orientation error is
the rotation vector from the measured to the wanted orientation, base frame.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.stewart.laws.base import StewartLaw
from robot_dynamics.control.stewart.state import TaskSpaceState
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Motion
from robot_dynamics.stewart.orientation import rotation_vector
from robot_dynamics.stewart.tracking import turned


class ComputedForce(StewartLaw):
    """The law with the model evaluated where the platform will be in half a control period.

    The forces are held for a whole period, so the model that suits them best is the one in its middle.
    """

    summary = "tracks with feedback in task space"

    def effort(self, state: TaskSpaceState, reference: Motion, ahead: Motion, half_period: float) -> Array:
        """(6,) actuator forces [N]."""
        pose, twist = state.pose, state.pose.twist
        wanted = np.concatenate([ahead.linear_acceleration, ahead.angular_acceleration])
        error = np.concatenate(
            [reference.position - pose.position, rotation_vector(reference.rotation @ pose.rotation.T)]
        )
        rate = np.concatenate([reference.linear_velocity, reference.angular_velocity]) - twist
        acceleration = wanted + self.kv * rate + self.kp * error
        step = half_period * (twist + 0.5 * half_period * acceleration)
        return self._evaluate(
            pose.position + step[:3],
            turned(pose.quaternion, step[3:]),
            twist + half_period * acceleration,
            acceleration,
            state.wrench,
        )
