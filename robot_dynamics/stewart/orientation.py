"""Orientation of the platform: quaternions in ROS order, and the roll-pitch-yaw angles of the paper.

Every function but ``rotation_vector`` takes single values or batches: leading axes are kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import StateError
from robot_dynamics.inputs.arrays import real_array
from robot_dynamics.spatial import Array, quaternion_rows


def rotation_from_quaternion(quaternion: ArrayLike) -> Array:
    """(..., 3, 3) rotation of quaternions (..., 4) in the order x, y, z, w; normalised first."""
    q = np.asarray(quaternion, dtype=float)
    return _matrix(*quaternion_rows(np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)))


def quaternion_from_rotation(rotation: ArrayLike) -> Array:
    """(..., 4) unit quaternion (x, y, z, w) with w ≥ 0 of rotations (..., 3, 3)."""
    r = np.asarray(rotation, dtype=float)
    # The symmetric matrix of Bar-Itzhack: its dominant eigenvector is the quaternion, free of branches.
    xx, yy, zz = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    k = np.empty((*r.shape[:-2], 4, 4))
    k[..., 0, 0], k[..., 1, 1], k[..., 2, 2], k[..., 3, 3] = (
        xx - yy - zz,
        yy - xx - zz,
        zz - xx - yy,
        xx + yy + zz,
    )
    for i, j, value in (
        (0, 1, r[..., 0, 1] + r[..., 1, 0]),
        (0, 2, r[..., 0, 2] + r[..., 2, 0]),
        (1, 2, r[..., 1, 2] + r[..., 2, 1]),
        (0, 3, r[..., 2, 1] - r[..., 1, 2]),
        (1, 3, r[..., 0, 2] - r[..., 2, 0]),
        (2, 3, r[..., 1, 0] - r[..., 0, 1]),
    ):
        k[..., i, j] = k[..., j, i] = value
    q = np.linalg.eigh(k)[1][..., :, -1]
    return np.asarray(np.where(q[..., 3:] < 0.0, -q, q))


def rotation_from_roll_pitch_yaw(angles: ArrayLike) -> Array:
    """(..., 3, 3) rotation Rz(θz)·Ry(θy)·Rx(θx) of angles (..., 3) [θx, θy, θz] in rad (eq. 38)."""
    x, y, z = np.moveaxis(np.asarray(angles, dtype=float), -1, 0)
    cx, sx, cy, sy, cz, sz = np.cos(x), np.sin(x), np.cos(y), np.sin(y), np.cos(z), np.sin(z)
    return _matrix(
        (cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx),
        (sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx),
        (-sy, cy * sx, cy * cx),
    )


def roll_pitch_yaw(rotation: Array) -> Array:
    """(..., 3) roll, pitch, yaw [rad] of rotations (..., 3, 3); at pitch = ±π/2 the yaw is taken as 0."""
    r = np.asarray(rotation, dtype=float)
    horizontal = np.hypot(r[..., 0, 0], r[..., 1, 0])
    pitch = np.arctan2(0.0 - r[..., 2, 0], horizontal)
    yaw = np.where(horizontal > 1e-14, np.arctan2(r[..., 1, 0], r[..., 0, 0]), 0.0)
    # Roll from what the yaw leaves: near pitch = ±π/2 the yaw is noise, which the roll then takes back.
    c, s = np.cos(yaw), np.sin(yaw)
    sine = s * r[..., 0, 2] - c * r[..., 1, 2] + 0.0
    return np.stack([np.arctan2(sine, c * r[..., 1, 1] - s * r[..., 0, 1]), pitch, yaw], axis=-1)


def angular_motion(angles: ArrayLike, rates: ArrayLike, accelerations: ArrayLike) -> tuple[Array, Array]:
    """Angular velocity and acceleration in the base frame of a motion given by roll, pitch and yaw.

    Args:
        angles: (..., 3) [θx, θy, θz] in rad.
        rates: (..., 3) their rates [rad/s].
        accelerations: (..., 3) their second derivatives [rad/s²].

    Returns:
        (..., 3) [rad/s] and (..., 3) [rad/s²].
    """
    angles, rates, accelerations = (np.asarray(v, dtype=float) for v in (angles, rates, accelerations))
    _, y, z = np.moveaxis(angles, -1, 0)
    dx, dy, dz = np.moveaxis(rates, -1, 0)
    ax, ay, az = np.moveaxis(accelerations, -1, 0)
    cy, sy, cz, sz = np.cos(y), np.sin(y), np.cos(z), np.sin(z)
    # The axes about which θx, θy and θz turn are (cz cy, sz cy, -sy), (-sz, cz, 0) and (0, 0, 1).
    level, level_rate = cy * dx, cy * ax - sy * dy * dx
    velocity = [cz * level - sz * dy, sz * level + cz * dy, dz - sy * dx]
    acceleration = [
        cz * level_rate - sz * ay - dz * velocity[1],
        sz * level_rate + cz * ay + dz * velocity[0],
        az - sy * ax - cy * dy * dx,
    ]
    return _columns(velocity), _columns(acceleration)


def angle_motion(angles: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike) -> tuple[Array, Array]:
    """Rates and second derivatives of roll, pitch and yaw; the inverse of :func:`angular_motion`.

    Args:
        angles: (..., 3) [θx, θy, θz], θy not ±π/2 [rad].
        velocity: (..., 3) angular, base frame [rad/s].
        acceleration: (..., 3) likewise [rad/s²].

    Returns:
        (..., 3) [rad/s] and (..., 3) [rad/s²].
    """
    angles, velocity, acceleration = (np.asarray(v, dtype=float) for v in (angles, velocity, acceleration))
    _, y, z = np.moveaxis(angles, -1, 0)
    vx, vy, vz = np.moveaxis(velocity, -1, 0)
    ax, ay, az = np.moveaxis(acceleration, -1, 0)
    cy, sy, cz, sz = np.cos(y), np.sin(y), np.cos(z), np.sin(z)
    dx, dy = (cz * vx + sz * vy) / cy, cz * vy - sz * vx
    dz = vz + sy * dx
    level, across = ax + dz * vy, ay - dz * vx
    ddx = (cz * level + sz * across + sy * dy * dx) / cy
    return (
        _columns([dx, dy, dz]),
        _columns([ddx, cz * across - sz * level, az + sy * ddx + cy * dy * dx]),
    )


def rotation_of(orientation: ArrayLike) -> Array:
    """(..., 3, 3) rotation of a quaternion (..., 4) (x, y, z, w), or of roll, pitch, yaw (..., 3) [rad].

    Raises:
        StateError: another shape, values that are not finite, or a quaternion whose norm is not 1 (to 1e-3).
    """
    values = real_array("orientation", orientation)
    if values.ndim == 0 or values.shape[-1] not in (3, 4):
        raise StateError(
            f"orientation has shape {values.shape}; give a quaternion (..., 4) in the order x, y, z, w or"
            " roll, pitch, yaw (..., 3)"
        )
    if not np.isfinite(values).all():
        raise StateError("orientation is not finite")
    if values.shape[-1] == 3:
        return rotation_from_roll_pitch_yaw(values)
    norms = np.linalg.norm(values, axis=-1)
    if np.abs(norms - 1.0).max(initial=0.0) > 1e-3:
        worst = norms.ravel()[int(np.abs(norms - 1.0).argmax())]
        raise StateError(f"orientation has norm {worst:g}; a quaternion of a rotation has norm 1")
    return rotation_from_quaternion(values)


def rotation_from_vector(vector: ArrayLike) -> Array:
    """(..., 3, 3) rotation by the angle |v| about v, for rotation vectors (..., 3) [rad]."""
    v = np.asarray(vector, dtype=float)
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    half = np.sinc(angle / (2.0 * np.pi)) / 2.0
    return rotation_from_quaternion(np.concatenate([half * v, np.cos(angle / 2.0)], axis=-1))


def rotation_vector(rotation: Array) -> Array:
    """(3,) rotation vector of one rotation (3, 3), of least length [rad]; quick enough for a control loop."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
    a, b, c = 0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy)
    cosine = 0.5 * (xx + yy + zz - 1.0)
    if cosine < 0.0:
        # Towards half a turn the antisymmetric part vanishes, and with it the axis.
        *axis, w = quaternion_from_rotation(rotation).tolist()
        sine = math.hypot(*axis)
        return np.array(axis) * (2.0 * math.atan2(sine, w) / sine)
    sine = math.sqrt(a * a + b * b + c * c)
    scale = math.atan2(sine, cosine) / sine if sine > 1e-12 else 1.0
    return np.array([scale * a, scale * b, scale * c])


def _matrix(*rows: Sequence[Array]) -> Array:
    """(..., 3, 3) of entries that are arrays (...) each, rows first."""
    result = np.empty((*np.shape(rows[0][0]), 3, 3))
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            result[..., i, j] = entry
    return result


def _columns(entries: Sequence[Array]) -> Array:
    """(..., 3) of three arrays (...)."""
    result = np.empty((*np.shape(entries[0]), 3))
    for i, entry in enumerate(entries):
        result[..., i] = entry
    return result
