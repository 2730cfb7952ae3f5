"""Computed force in task space.

The exact inverse dynamics are evaluated at the acceleration

    a = a_d + Kv (v_d - v) + Kp (x_d - x) + z,

where x is the pose that forward kinematics finds for the measured leg lengths, and the orientation error is
the rotation vector from the measured to the wanted orientation, base frame. z is what the disturbance
observer has found so far, zero where it is off.

Dry friction is overcome along the twist to which the law leads the platform, v + a / Kv, not along the
measured one: a leg that sticks would else get no help to leave.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.stewart.laws.base import StewartLaw
from robot_dynamics.control.stewart.state import TaskSpaceState
from robot_dynamics.dynamics.friction import direction
from robot_dynamics.spatial import Array, quaternion_rows
from robot_dynamics.stewart import Motion
from robot_dynamics.stewart.orientation import rotation_vector, turned


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
        if self.observer.gain > 0.0:
            acceleration = acceleration + self.observer.update(state.time, error)
        step = half_period * (twist + 0.5 * half_period * acceleration)
        quaternion = turned(pose.quaternion, step[3:])
        ahead_twist = twist + half_period * acceleration
        effort = self._evaluate(
            pose.position + step[:3],
            quaternion,
            pose.rotation if self.payload is None else np.array(quaternion_rows(quaternion)),
            ahead_twist,
            acceleration,
            state.wrench,
        )
        if self.coulomb is None:
            return effort
        lead = np.divide(acceleration, self.kv, out=np.zeros(6), where=self.kv > 0.0)
        # The model has the friction of the twist that it is evaluated at.
        heading = direction(pose.jacobian @ (twist + lead))
        return np.asarray(effort + self.coulomb * (heading - direction(pose.jacobian @ ahead_twist)))
