"""Arms whose dynamics are known in closed form, for the control tests."""

import numpy as np

from robot_dynamics import load_urdf
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
    """m l² q'' + c q' + m g l sin q = tau."""

    inertia = MASS * LENGTH**2
    damping = 0.8  # [N·m·s/rad], so that a wrong velocity is a wrong effort

    def inverse_dynamics(self, q, qd, qdd, heading=None):
        return self.inertia * qdd + self.damping * qd + MASS * GRAVITY * LENGTH * np.sin(q)

    def acceleration(self, q, qd, effort):
        return (effort - self.damping * qd - MASS * GRAVITY * LENGTH * np.sin(q)) / self.inertia


TWO_JOINTS = """<robot name="crane"><link name="base"/>
  <link name="boom"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="hook"><inertial><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="lift" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="40" velocity="3"/></joint>
  <joint name="turn" type="prismatic"><parent link="boom"/><child link="hook"/><origin xyz="0.6 0 0"/>
    <axis xyz="1 0 0"/><limit lower="-0.5" upper="0.5" effort="15" velocity="2"/></joint></robot>"""


def two_joint_chain():
    """A boom that swings about y and a hook that slides along it, with limits of their own."""
    return load_urdf(TWO_JOINTS)
