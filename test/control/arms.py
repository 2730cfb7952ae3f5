"""Arms whose dynamics are known in closed form, for the control tests."""

from dataclasses import replace

import numpy as np

from robot_dynamics import load_urdf
from robot_dynamics.control.arm.stream import StreamLimits
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.model.chain import ChainJoint, JointKind, JointLimits, KinematicChain, RigidBody

MASS, LENGTH, GRAVITY = 1.5, 0.4, 9.81
WEIGHT = MASS * GRAVITY * LENGTH
"""Largest torque of the pendulum's weight [N·m]."""


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
        return self.inertia * qdd + self.damping * qd + WEIGHT * np.sin(q)

    def acceleration(self, q, qd, effort):
        return (effort - self.damping * qd - WEIGHT * np.sin(q)) / self.inertia


class Masses:
    """Efforts of masses without coupling, and of a constant weight for each of them."""

    def __init__(self, masses, weights=0.0):
        self.masses, self.weights = np.array(masses), np.array(weights)

    def inverse_dynamics(self, q, qd, qdd, heading=None):
        return self.masses * qdd + self.weights


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


def joints_in_a_row(limits, kinds=(JointKind.REVOLUTE,) * 3, names=("a", "b", "c")):
    """Three joints about or along z in one place.

    Args:
        limits: lower, upper, velocity and effort of each joint.
    """
    body = RigidBody(1.0, np.zeros(3), 0.1 * np.eye(3))
    joints = tuple(
        ChainJoint(name, f"{name}_link", kind, np.eye(4), np.array([0.0, 0.0, 1.0]), body, JointLimits(*own))
        for name, kind, own in zip(names, kinds, limits, strict=True)
    )
    return KinematicChain("three", "base", joints[-1].link, joints, tuple(names), np.eye(4))


def with_limits(chain, joint=None, **limits):
    """The chain with other limits of one joint, or of all."""
    joints = tuple(
        replace(one, limits=replace(one.limits, **limits)) if joint in (None, k) else one
        for k, one in enumerate(chain.joints)
    )
    return replace(chain, joints=joints)


def swing(goal, time=1.0):
    """Joint names and one waypoint, to which the pendulum swings."""
    return ["swing"], [Waypoint(time, [goal])]


STREAM_LIMITS = StreamLimits(
    np.array([-1.0, -0.5]), np.array([2.0, 0.5]), np.array([3.0, 2.0]), np.array([30.0, 20.0])
)
"""Limits of a stream of the boom and its hook."""
