"""The six directions in which a platform leaves its home pose, alone or two at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import rotation_from_roll_pitch_yaw

NAMES = ("x", "y", "z", "roll", "pitch", "yaw")
"""Translations [m] and rotations [rad] away from home; R = Rz(yaw) Ry(pitch) Rx(roll) R_home."""
PLANES = ((0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 4), (0, 4), (2, 3))
"""Pairs of directions that are mapped."""
LARGEST_TURN = np.radians([60.0, 60.0, 90.0])


@dataclass(frozen=True)
class AxisPoses:
    """Poses of a batch.

    Attributes:
        position: (..., 3) of the platform's origin, base frame [m].
        rotation: (..., 3, 3).
    """

    position: Array
    rotation: Array


def displaced(machine: Machine, offsets: Array) -> AxisPoses:
    """Poses at ``offsets`` (..., 6) from home."""
    turn = rotation_from_roll_pitch_yaw(offsets[..., 3:])
    return AxisPoses(machine.home_position + offsets[..., :3], turn @ machine.home_rotation)


def is_turn(axis: int) -> bool:
    """True for a rotation."""
    return axis >= 3


def shown_value(axis: int, value: float) -> float:
    """A displacement in the unit it is shown in: mm or degrees."""
    return float(np.degrees(value)) if is_turn(axis) else 1e3 * value


def shown_unit(axis: int) -> str:
    """See :func:`shown_value`."""
    return "°" if is_turn(axis) else "mm"
