"""Poses of the moving links of a chain, and motion of points on them with the joints."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from robot_dynamics.identification.regressor import joint_poses
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.model.urdf import parse_urdf
from robot_dynamics.spatial import Array
from robot_dynamics.view.robot_geometry import RobotGeometry
from robot_dynamics.view.visuals import read_visuals

GROUND = -1
"""Index of the root, which no joint moves."""


def link_poses(chain: KinematicChain, q: Array) -> Array:
    """(N, k, 4, 4) poses of the ``k`` moving links in the root frame at positions (N, n)."""
    result = np.zeros((len(q), len(chain.joints), 4, 4))
    root = np.broadcast_to(np.eye(4), (len(q), 4, 4))
    for index, (joint, carrier) in enumerate(zip(chain.joints, chain.carriers, strict=True)):
        rotation, position = joint_poses(joint, joint.multiplier * q[:, joint.coordinate] + joint.offset)
        step = np.zeros((len(q), 4, 4))
        step[:, :3, :3], step[:, :3, 3], step[:, 3, 3] = rotation, position, 1.0
        result[:, index] = (root if carrier < 0 else result[:, carrier]) @ step
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
    while body >= 0:
        joint, place, body = chain.joints[body], poses[body], chain.carriers[body]
        axis = place[:3, :3] @ joint.axis
        turns = joint.kind is not JointKind.PRISMATIC
        motion = np.cross(axis, point - place[:3, 3]) if turns else axis
        result[joint.coordinate] += joint.multiplier * float(motion @ direction)
    return result


def carriers(
    source: str | bytes | os.PathLike[str], chain: KinematicChain, locked: Mapping[str, float]
) -> dict[str, tuple[int, Array]]:
    """The moving link of ``chain`` that carries each link of the description, and its place on it."""
    tree = parse_urdf(source)
    geometry = RobotGeometry(tree, read_visuals(source, kinds=()))
    zero = np.zeros((1, chain.dof))
    positions = {**dict.fromkeys(chain.joint_names, 0.0), **locked}
    whole = geometry.link_poses(positions)
    root = np.linalg.inv(whole[chain.root])
    moving = dict(zip((joint.link for joint in chain.joints), link_poses(chain, zero)[0], strict=True))
    index = {joint.link: k for k, joint in enumerate(chain.joints)}
    parents = {joint.child: joint.parent for joint in tree.subtree(tree.root)}
    places = {}
    for link in tree.links:
        carrier = link
        while carrier not in index and carrier in parents:
            carrier = parents[carrier]
        own = root @ whole[link]
        if carrier in index:
            places[link] = (index[carrier], np.linalg.inv(moving[carrier]) @ own)
        else:
            places[link] = (GROUND, own)
    return places
