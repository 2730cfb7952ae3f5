"""Where the moving links of a chain are, and how points on them move with the joints."""

from __future__ import annotations

import numpy as np

from robot_dynamics.identification.regressor import joint_poses
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array


def link_poses(chain: KinematicChain, q: Array) -> Array:
    """(N, k, 4, 4) poses of the ``k`` moving links in the root frame at positions (N, n)."""
    chain.only_serial("excitation")
    result = np.zeros((len(q), len(chain.joints), 4, 4))
    place = np.broadcast_to(np.eye(4), (len(q), 4, 4))
    for index, joint in enumerate(chain.joints):
        rotation, position = joint_poses(joint, joint.multiplier * q[:, joint.coordinate] + joint.offset)
        step = np.zeros((len(q), 4, 4))
        step[:, :3, :3], step[:, :3, 3], step[:, 3, 3] = rotation, position, 1.0
        place = place @ step
        result[:, index] = place
    return result


def slope(chain: KinematicChain, poses: Array, body: int, point: Array, direction: Array) -> Array:
    """(n,) how a point of a body moves along a direction with each joint.

    Args:
        chain: the arm.
        poses: (k, 4, 4) of its links.
        body: index of the link; −1 for the ground.
        point, direction: (3,) in the root frame.
    """
    result = np.zeros(chain.dof)
    for joint, place in zip(chain.joints[: body + 1], poses, strict=False):
        axis = place[:3, :3] @ joint.axis
        turns = joint.kind is not JointKind.PRISMATIC
        motion = np.cross(axis, point - place[:3, 3]) if turns else axis
        result[joint.coordinate] += joint.multiplier * float(motion @ direction)
    return result
