"""Rotations, rigid transforms and the shifting and adding of mass properties.

A pose is a (4, 4) homogeneous matrix that maps coordinates of the inner frame to the outer one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def skew(vector: ArrayLike) -> Array:
    """(3, 3) matrix S with ``S @ v == cross(vector, v)``."""
    x, y, z = np.asarray(vector, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def rotation_x(angle: float) -> Array:
    """(3, 3) rotation about x by ``angle`` [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: float) -> Array:
    """(3, 3) rotation about y by ``angle`` [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: float) -> Array:
    """(3, 3) rotation about z by ``angle`` [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_about(axis: ArrayLike, angle: float) -> Array:
    """(3, 3) rotation about the unit vector ``axis`` by ``angle`` [rad] (Rodrigues)."""
    cross = skew(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross))


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """(3, 3) rotation of URDF's roll, pitch, yaw [rad]: about the fixed x, then y, then z axis."""
    roll, pitch, yaw = np.asarray(rpy, dtype=float)
    return np.asarray(rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll))


def rpy_from_rotation(rotation: Array) -> Array:
    """Roll, pitch, yaw (3,) [rad] of a (3, 3) rotation; at pitch = ±π/2 the yaw is taken as 0."""
    horizontal = np.hypot(rotation[0, 0], rotation[1, 0])
    pitch = np.arctan2(0.0 - rotation[2, 0], horizontal)
    if horizontal < 1e-12:
        return np.array([np.arctan2(0.0 - rotation[1, 2], rotation[1, 1]), pitch, 0.0])
    roll = np.arctan2(rotation[2, 1], rotation[2, 2])
    return np.array([roll, pitch, np.arctan2(rotation[1, 0], rotation[0, 0])])


def pose(rotation: ArrayLike | None = None, position: ArrayLike | None = None) -> Array:
    """(4, 4) pose from a (3, 3) rotation (identity if None) and a position (3,) [m] (zero if None)."""
    result = np.eye(4)
    if rotation is not None:
        result[:3, :3] = rotation
    if position is not None:
        result[:3, 3] = position
    return result


def inverse_pose(transform: Array) -> Array:
    """(4, 4) inverse of a pose."""
    rotation = transform[:3, :3]
    return pose(rotation.T, -rotation.T @ transform[:3, 3])


def rotate_inertia(rotation: Array, inertia: Array) -> Array:
    """Inertia (3, 3) in the axes of the outer frame of ``rotation``; exactly symmetric."""
    rotated = rotation @ inertia @ rotation.T
    return np.asarray(0.5 * (rotated + rotated.T))


def shift_inertia(mass: float, offset: ArrayLike) -> Array:
    """What moving the reference point by ``offset`` [m] away from the centre of mass adds (Steiner)."""
    offset = np.asarray(offset, dtype=float)
    return np.asarray(mass * (offset @ offset * np.eye(3) - np.outer(offset, offset)))


def principal_moments(inertia: Array) -> Array:
    """(3,) principal moments in ascending order [kg·m²]."""
    return np.asarray(np.linalg.eigvalsh(inertia))
