"""The arms that are timed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain, RigidBody
from robot_dynamics.model.load import load_urdf
from robot_dynamics.resources import resource
from robot_dynamics.spatial import Array


def robot(name: str) -> KinematicChain:
    """The package's robot ``name``, every joint axis turned into z, without friction."""
    return along_z(load_urdf(resource(f"urdf/{name}.urdf")))


def random_arm(joints: int, seed: int = 0) -> KinematicChain:
    """A chain of revolute joints with full inertias at random places; no structure to profit from."""
    rng = np.random.default_rng([seed, joints])
    made = []
    for index in range(joints):
        origin = np.eye(4)
        rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        origin[:3, :3] = rotation * np.sign(np.linalg.det(rotation))
        origin[:3, 3] = rng.uniform(-0.3, 0.3, 3)
        points = rng.normal(scale=0.1, size=(3, 3))
        moments = points @ points.T
        body = RigidBody(
            mass=float(rng.uniform(0.5, 3.0)),
            center_of_mass=rng.uniform(-0.2, 0.2, 3),
            inertia=np.trace(moments) * np.eye(3) - moments,
        )
        made.append(
            ChainJoint(
                f"joint{index + 1}",
                f"link{index + 1}",
                JointKind.REVOLUTE,
                origin,
                np.array([0.0, 0.0, 1.0]),
                body,
                coordinate=index,
            )
        )
    names = tuple(joint.name for joint in made)
    return KinematicChain(f"random{joints}", "root", "tip", tuple(made), names, np.eye(4))


def along_z(chain: KinematicChain) -> KinematicChain:
    """The same arm in frames whose z axis is the joint axis: other libraries are fastest with those."""
    before = np.eye(4)
    joints = []
    for joint in chain.joints:
        turn = np.eye(4)
        turn[:3, :3] = _rotation_from_z(joint.axis)
        r = turn[:3, :3]
        body = joint.body
        joints.append(
            replace(
                joint,
                origin=before @ joint.origin @ turn,
                axis=np.array([0.0, 0.0, 1.0]),
                body=RigidBody(body.mass, r.T @ body.center_of_mass, r.T @ body.inertia @ r),
                damping=0.0,
                friction=0.0,
            )
        )
        before = turn.T
    return replace(chain, joints=tuple(joints), tip_transform=before @ chain.tip_transform)


def _rotation_from_z(axis: Array) -> Array:
    """A rotation matrix whose third column is ``axis``."""
    if abs(axis[2]) == 1.0:
        return np.diag([1.0, axis[2], axis[2]])
    first = np.cross([0.0, 0.0, 1.0], axis)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])
