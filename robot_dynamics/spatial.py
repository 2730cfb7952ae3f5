"""Rotations, rigid transforms and the shifting and adding of mass properties.

A pose is a (4, 4) homogeneous matrix that maps coordinates of the inner frame to the outer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
INERTIA_ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Row and column of xx, xy, yy, xz, yz, zz, the order of an inertia among a body's parameters."""


def cross(a: Array, b: Array) -> Array:
    """np.cross for last axes of 3, several times as fast for a handful of vectors."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    first = a1 * b2 - a2 * b1
    result = np.empty((*first.shape, 3))
    result[..., 0] = first
    result[..., 1] = a2 * b0 - a0 * b2
    result[..., 2] = a0 * b1 - a1 * b0
    return result


def cross_entries(a: Sequence[Any] | NDArray[Any], b: Sequence[Any] | NDArray[Any]) -> list[Any]:
    """The three entries of a cross product, for scalars of any kind."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


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


def quaternion_rows(quaternion: Sequence[Any] | NDArray[Any]) -> list[list[Any]]:
    """Rows of the rotation of a unit quaternion x, y, z, w, for scalars of any kind, arrays included."""
    x, y, z, w = quaternion
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz, wx, wy, wz = x * y2, x * z2, y * z2, w * x2, w * y2, w * z2
    return [
        [1.0 - yy - zz, xy - wz, xz + wy],
        [xy + wz, 1.0 - xx - zz, yz - wx],
        [xz - wy, yz + wx, 1.0 - xx - yy],
    ]


def rpy_from_rotation(rotation: Array) -> Array:
    """Roll, pitch, yaw (3,) [rad] of a (3, 3) rotation; at pitch = ±π/2 the yaw is taken as 0."""
    horizontal = np.hypot(rotation[0, 0], rotation[1, 0])
    pitch = np.arctan2(0.0 - rotation[2, 0], horizontal)
    yaw = np.arctan2(rotation[1, 0], rotation[0, 0]) if horizontal > 1e-14 else 0.0
    # Roll from what the yaw leaves: near pitch = ±π/2 the yaw is noise, which the roll then takes back.
    c, s = np.cos(yaw), np.sin(yaw)
    sine = s * rotation[0, 2] - c * rotation[1, 2] + 0.0
    return np.array([np.arctan2(sine, c * rotation[1, 1] - s * rotation[0, 1]), pitch, yaw])


def turn_about_z(rotation: Array) -> float:
    """Angle [rad] of a rotation about z."""
    return float(np.arctan2(rotation[1, 0], rotation[0, 0]))


def wrapped_angle(angle: float) -> float:
    """``angle`` [rad] in (-π, π]."""
    if -np.pi < angle <= np.pi:
        return angle
    turned = float(np.remainder(angle, 2.0 * np.pi))
    return turned - 2.0 * np.pi if turned > np.pi else turned


def pose(rotation: ArrayLike | None = None, position: ArrayLike | None = None) -> Array:
    """(4, 4) pose from a (3, 3) rotation (identity if None) and a position (3,) [m] (zero if None)."""
    result = np.eye(4)
    if rotation is not None:
        result[:3, :3] = rotation
    if position is not None:
        result[:3, 3] = position
    return result


def about_x(alpha: float, a: float) -> Array:
    """(4, 4) Tx(a) Rx(alpha)."""
    return pose(rotation_x(alpha), (a, 0.0, 0.0))


def about_z(theta: float, d: float) -> Array:
    """(4, 4) Rz(theta) Tz(d)."""
    return pose(rotation_z(theta), (0.0, 0.0, d))


def inverse_pose(transform: Array) -> Array:
    """(4, 4) inverse of a pose."""
    rotation = transform[:3, :3]
    return pose(rotation.T, -rotation.T @ transform[:3, 3])


def rotate_inertia(rotation: Array, inertia: Array) -> Array:
    """Inertia (3, 3) in the axes of the outer frame of ``rotation``; exactly symmetric."""
    rotated = rotation @ inertia @ rotation.T
    return np.asarray(0.5 * (rotated + rotated.T))


def shift_inertia(mass: float, offset: ArrayLike) -> Array:
    """Inertia added by a shift of the reference point by ``offset`` [m] from the centre of mass (Steiner)."""
    offset = np.asarray(offset, dtype=float)
    return np.asarray(mass * (offset @ offset * np.eye(3) - np.outer(offset, offset)))


def second_moments(inertia: Array) -> Array:
    """(3, 3) ∫ r rᵀ dm of a body with the ``inertia`` (3, 3) about the same point."""
    return np.asarray(0.5 * np.trace(inertia) * np.eye(3) - inertia)


def rotation_with_z(z: Array, guide: Array) -> Array:
    """(3, 3) rotation whose third column is the unit vector ``z`` and whose first is nearest to ``guide``."""
    x = guide - (guide @ z) * z
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def principal_moments(inertia: Array) -> Array:
    """(3,) principal moments in ascending order [kg·m²]."""
    return np.asarray(np.linalg.eigvalsh(inertia))
