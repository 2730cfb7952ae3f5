"""A chain's joint axes, velocities and inertias as spatial (6-D) quantities in frame 0.

Motion vectors are [angular, linear velocity of the point at the origin], force vectors [moment, force]; see
Featherstone, "Rigid Body Dynamics Algorithms", 2008, chapters 2 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.serial_model import LinkFrame, SerialModel
from robot_dynamics.spatial import Array, skew


@dataclass(frozen=True)
class SpatialChain:
    """A chain at one configuration, everything in frame 0.

    Attributes:
        poses: (m, 4, 4) pose of every link frame.
        axes: (m, 6) motion of every joint at unit rate.
        inertias: (m, 6, 6) spatial inertia of every link.
    """

    poses: Array
    axes: Array
    inertias: Array


def spatial_chain(model: SerialModel, q: Array) -> SpatialChain:
    """The chain at coordinates ``q`` (n,)."""
    poses = model.frames(q)
    axes, inertias = [], []
    for link, pose in zip(model.links, poses, strict=True):
        z, origin = pose[:3, 2], pose[:3, 3]
        axes.append(np.concatenate([z, np.cross(origin, z)] if link.revolute else [np.zeros(3), z]))
        inertias.append(_spatial_inertia(link, pose))
    return SpatialChain(np.array(poses), np.array(axes), np.array(inertias))


def motion_cross(v: Array) -> Array:
    """(6, 6) matrix of v x on motions; minus its transpose acts on forces."""
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = matrix[3:, 3:] = skew(v[:3])
    matrix[3:, :3] = skew(v[3:])
    return matrix


def velocities(chain: SpatialChain, joint_rates: Array) -> Array:
    """(m, 6) velocity of every link for joint rates (m,)."""
    return np.asarray(np.cumsum(chain.axes * joint_rates[:, None], axis=0))


def joint_rates(model: SerialModel, qd: Array) -> Array:
    """(m,) rate of every moving joint, mimic joints included, for coordinate rates ``qd`` (n,)."""
    return np.array([link.multiplier * qd[link.coordinate] for link in model.links])


def coordinate_map(model: SerialModel) -> Array:
    """(m, n) matrix from coordinate rates to joint rates."""
    matrix = np.zeros((len(model.links), model.dof))
    for i, link in enumerate(model.links):
        matrix[i, link.coordinate] = link.multiplier
    return matrix


def _spatial_inertia(link: LinkFrame, pose: Array) -> Array:
    rotation, p = pose[:3, :3], pose[:3, 3]
    h = rotation @ link.first_moment
    moment = h + link.mass * p
    cross = skew(p) @ skew(h)
    inertia = rotation @ link.inertia @ rotation.T - cross - cross.T - link.mass * skew(p) @ skew(p)
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = inertia
    matrix[:3, 3:] = skew(moment)
    matrix[3:, :3] = -skew(moment)
    matrix[3:, 3:] = link.mass * np.eye(3)
    return matrix
