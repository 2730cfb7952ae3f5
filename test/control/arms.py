"""Arms whose dynamics are known in closed form, for the control tests."""

import numpy as np

from robot_dynamics.model.chain import ChainJoint, JointKind, JointLimits, KinematicChain, RigidBody

MASS, LENGTH, GRAVITY = 1.5, 0.4, 9.81


def pendulum_chain(effort=np.inf, lower=-10.0, upper=10.0, velocity=20.0):
    """One joint about y with a point mass (plus a little) hanging below it."""
    body = RigidBody(MASS, np.array([0.0, 0.0, -LENGTH]), 1e-6 * np.eye(3))
    joint = ChainJoint(
        "swing", "bob", JointKind.REVOLUTE, np.eye(4), np.array([0.0, 1.0, 0.0]), body,
        JointLimits(lower, upper, velocity, effort),
    )  # fmt: skip
    return KinematicChain("pendulum", "base", "bob", (joint,), ("swing",), np.eye(4))


class Pendulum:
    """m l² q'' + m g l sin q = tau."""

    inertia = MASS * LENGTH**2

    def inverse_dynamics(self, q, qd, qdd, heading=None):
        return self.inertia * qdd + MASS * GRAVITY * LENGTH * np.sin(q)

    def acceleration(self, q, effort):
        return (effort - MASS * GRAVITY * LENGTH * np.sin(q)) / self.inertia
