"""Pinocchio's answers for a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
import random_robots
from installed_robots import example_robot

from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.model.load import load_urdf

GRAVITY = (0.3, -1.0, -9.81)
CLOSE = 1e-12


class Oracle:
    """Pinocchio at one state of a tree."""

    def __init__(self, chain, gravity=GRAVITY, loads=None):
        self.model = random_robots.pinocchio_model(chain, gravity)
        self.frames = [self.model.getFrameId(tip.link) for tip in chain.tips]
        for tip, load in zip(chain.tips, loads or [], strict=False):
            body = pinocchio.Inertia(load.mass, load.center_of_mass, load.inertia)
            self.model.inertias[tip.joint + 1] += pinocchio.SE3(tip.transform).act(body)
        self.data = self.model.createData()
        n = chain.dof
        rng = np.random.default_rng(n)
        self.q, self.qd, self.qdd, self.tau = rng.uniform(-1.0, 1.0, (4, n))
        self.of_joints = np.zeros((len(chain.joints), n))
        for i, joint in enumerate(chain.joints):
            self.of_joints[i, joint.coordinate] = joint.multiplier
        offsets = np.array([joint.offset for joint in chain.joints])
        self.joints = self.of_joints @ self.q + offsets, self.of_joints @ self.qd, self.of_joints @ self.qdd

    def at(self, function, count=3):
        return function(self.model, self.data, *self.joints[:count])

    def efforts(self):
        return self.of_joints.T @ self.at(pinocchio.rnea)

    def mass(self):
        upper = np.triu(self.at(pinocchio.crba, 1))
        return self.of_joints.T @ (upper + np.triu(upper, 1).T) @ self.of_joints

    def bias(self):
        return self.of_joints.T @ self.at(pinocchio.nonLinearEffects, 2)

    def weight(self):
        return self.of_joints.T @ self.at(pinocchio.computeGeneralizedGravity, 1)

    def jacobians(self):
        self.at(pinocchio.computeJointJacobians, 1)
        pinocchio.framesForwardKinematics(self.model, self.data, self.joints[0])
        local = pinocchio.ReferenceFrame.LOCAL
        found = [pinocchio.getFrameJacobian(self.model, self.data, k, local) for k in self.frames]
        return [jacobian @ self.of_joints for jacobian in found]


def agree(found, expected):
    """True if arrays differ by nothing but rounding, beside their greatest entry."""
    expected = np.asarray(expected)
    assert np.abs(np.asarray(found) - expected).max() <= CLOSE * max(1e-3, np.abs(expected).max())


def as_placed(chain):
    """The same tree with the numbers that its model has."""
    model = SerialModel.from_chain(chain, GRAVITY)
    joints = []
    for i, (joint, link) in enumerate(zip(chain.joints, model.links, strict=True)):
        before = np.linalg.inv(model.link_poses[link.parent]) if link.parent >= 0 else model.base
        own = model.link_poses[i]
        origin = before @ link.pose_at(link.offset - joint.offset) @ own
        joints.append(replace(joint, origin=origin, axis=np.linalg.inv(own)[:3, 2]))
    return replace(chain, joints=tuple(joints))


def real_tree(name):
    """The tree of a description of example-robot-data, `as_placed`; the test is skipped without it."""
    path = example_robot(name)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    return as_placed(load_urdf(path, tips="all"))
