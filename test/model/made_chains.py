"""Chains made of joints in code, and their poses by scipy and elementary matrices, without the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain, RigidBody, Tip

R, P = JointKind.REVOLUTE, JointKind.PRISMATIC
BODY = RigidBody(1.0, np.zeros(3), np.eye(3))


def place(xyz: Sequence[float] = (0.0, 0.0, 0.0), rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """(4, 4) pose of a position and of angles about fixed axes."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
    pose[:3, 3] = xyz
    return pose


def screw(angle: float, length: float, axis: int) -> np.ndarray:
    """(4, 4) turn about, and slide along, x (0) or z (2)."""
    first, second = (1, 2) if axis == 0 else (0, 1)
    matrix = np.eye(4)
    matrix[first, first] = matrix[second, second] = np.cos(angle)
    matrix[second, first] = np.sin(angle)
    matrix[first, second] = -np.sin(angle)
    matrix[axis, 3] = length
    return matrix


def joint_motion(joint: ChainJoint, value: float) -> np.ndarray:
    """(4, 4) motion of a joint from its position zero."""
    motion = np.eye(4)
    if joint.kind is P:
        motion[:3, 3] = value * joint.axis
    else:
        motion[:3, :3] = Rotation.from_rotvec(value * joint.axis).as_matrix()
    return motion


def link_poses(chain: KinematicChain, q: np.ndarray) -> list[np.ndarray]:
    """(4, 4) of every link in the root, straight from the joints."""
    poses: list[np.ndarray] = []
    for joint, parent in zip(chain.joints, chain.carriers, strict=True):
        value = joint.multiplier * q[joint.coordinate] + joint.offset
        carrier = poses[parent] if parent >= 0 else np.eye(4)
        poses.append(carrier @ joint.origin @ joint_motion(joint, value))
    return poses


def moving(
    k: int,
    xyz: Sequence[float] = (0.0, 0.0, 0.0),
    rpy: Sequence[float] = (0.0, 0.0, 0.0),
    kind: JointKind = R,
    axis: Sequence[float] = (0.0, 0.0, 1.0),
    **more: Any,
) -> ChainJoint:
    """Joint ``j<k>``, which moves link ``l<k>`` with coordinate k."""
    more = {"body": BODY, "coordinate": k, **more}
    return ChainJoint(f"j{k}", f"l{k}", kind, place(xyz, rpy), np.array(axis), **more)


def chain_of(
    *joints: ChainJoint, parents: Sequence[int] = (), tips: Sequence[np.ndarray] = ()
) -> KinematicChain:
    """A chain, or a tree whose tips are on the joints that carry nothing; the first one is ``tip``."""
    names = tuple(joint.name for joint in joints)
    ends = [i for i in range(len(joints)) if i not in parents] if parents else [len(joints) - 1]
    poses = [*tips, *[place()] * len(ends)][: len(ends)]
    others = tuple(Tip(f"tip{i}", i, pose) for i, pose in zip(ends[1:], poses[1:], strict=True))
    return KinematicChain(
        "made", "root", "tip", joints, names, poses[0],
        parents=tuple(parents), tip_joint=ends[0], other_tips=others,
    )  # fmt: skip


def point_masses(masses: np.ndarray, places: np.ndarray) -> RigidBody:
    """The body that point masses make, from the definitions."""
    center = np.average(places, axis=0, weights=masses)
    inertia = sum(
        mass * ((r - center) @ (r - center) * np.eye(3) - np.outer(r - center, r - center))
        for mass, r in zip(masses, places, strict=True)
    )
    return RigidBody(float(np.sum(masses)), center, inertia)
