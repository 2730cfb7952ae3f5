"""Motion and load of a platform, and how they are read from what users give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import StateError
from robot_dynamics.inputs.arrays import of_type, real_array
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_of


class Motion(NamedTuple):
    """Motion and load of the platform; every array has the same leading batch axes.

    Attributes:
        position: (..., 3) of the platform's origin, base frame [m].
        rotation: (..., 3, 3) from the platform frame to the base frame.
        linear_velocity: (..., 3) of the origin, base frame [m/s].
        angular_velocity: (..., 3) base frame [rad/s].
        linear_acceleration: (..., 3) of the origin, base frame [m/s²].
        angular_acceleration: (..., 3) base frame [rad/s²].
        force: (..., 3) external force on the platform, platform frame [N].
        torque: (..., 3) external moment about the platform's origin, platform frame [N·m].
    """

    position: Array
    rotation: Array
    linear_velocity: Array
    angular_velocity: Array
    linear_acceleration: Array
    angular_acceleration: Array
    force: Array
    torque: Array


def motion_of(
    position: ArrayLike,
    orientation: ArrayLike,
    linear_velocity: ArrayLike | None = None,
    angular_velocity: ArrayLike | None = None,
    linear_acceleration: ArrayLike | None = None,
    angular_acceleration: ArrayLike | None = None,
    force: ArrayLike | None = None,
    torque: ArrayLike | None = None,
) -> Motion:
    """Checked values with one batch shape.

    Args:
        position: (3,) or (N, 3) of the platform's origin [m].
        orientation: quaternion (4,) or (N, 4) x, y, z, w, or roll, pitch, yaw (3,) or (N, 3).
        linear_velocity: (3,) or (N, 3) [m/s]; zero when omitted, as everything that follows.
        angular_velocity: (3,) or (N, 3), base frame [rad/s].
        linear_acceleration: (3,) or (N, 3) [m/s²].
        angular_acceleration: (3,) or (N, 3), base frame [rad/s²].
        force: (3,) or (N, 3) external force on the platform, platform frame [N].
        torque: (3,) or (N, 3) external moment about the platform's origin, platform frame [N·m].

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    rotation = rotation_of(orientation)
    vectors = {
        "position": position,
        "linear_velocity": linear_velocity,
        "angular_velocity": angular_velocity,
        "linear_acceleration": linear_acceleration,
        "angular_acceleration": angular_acceleration,
        "force": force,
        "torque": torque,
    }
    arrays = {name: vector(name, value) for name, value in vectors.items()}
    batch = common_batch({**arrays, "orientation": rotation[..., 0]})
    full = {name: np.broadcast_to(array, (*batch, 3)) for name, array in arrays.items()}
    return Motion(rotation=np.broadcast_to(rotation, (*batch, 3, 3)), **full)


def check_motion(motion: Motion) -> None:
    """Refuse what is no :class:`Motion` of arrays that belong together.

    Raises:
        TypeError: no motion, or one of something else than arrays.
        StateError: arrays of other shapes.
    """
    of_type("motion", motion, Motion)
    for name, value in zip(Motion._fields, motion, strict=True):
        of_type(f"{name} of the motion", value, np.ndarray)
        ends = (3, 3) if name == "rotation" else (3,)
        if value.dtype.kind != "f" or value.shape[-len(ends) :] != ends:
            raise StateError(
                f"{name} of the motion is {value.dtype} {value.shape}; expected numbers, axes (..., {ends})"
            )


def common_batch(arrays: Mapping[str, Array]) -> tuple[int, ...]:
    """The leading axes that arrays (..., m) have when they are broadcast against each other.

    Raises:
        StateError: they do not fit together.
    """
    try:
        return np.broadcast_shapes(*(array.shape[:-1] for array in arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise StateError(f"the batches do not fit together: {shapes}") from error


def vector(name: str, value: ArrayLike | None) -> Array:
    """``value`` (..., 3) as an array, zero when it is None; StateError when it is none or not finite."""
    if value is None:
        return np.zeros(3)
    array = real_array(name, value)
    if array.ndim == 0 or array.shape[-1] != 3:
        raise StateError(f"{name} has shape {array.shape}; expected (3,) or (N, 3)")
    if not np.isfinite(array).all():
        raise StateError(f"{name} is not finite")
    return array
