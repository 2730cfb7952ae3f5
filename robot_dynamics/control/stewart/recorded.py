"""A recorded motion as a smooth curve, by the interpolation that trajectories are followed with."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.stewart.trajectory import LARGEST_PITCH
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.motion_table import MotionTable
from robot_dynamics.stewart.orientation import (
    angular_motion,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
)


class RecordedMotion:
    """Poses over time, joined by a spline in x, y, z, roll, pitch and yaw that stays between them.

    Args:
        table: at least two poses.

    Raises:
        TrajectoryError: a single pose, or the platform tilts by more than 80 degrees about y.
    """

    def __init__(self, table: MotionTable) -> None:
        if len(table.time) < 2:
            raise TrajectoryError("a motion needs at least two poses")
        places = np.hstack([table.position, _roll_pitch_yaw(table.orientation)])
        if np.abs(places[:, 4]).max() > LARGEST_PITCH:
            raise TrajectoryError("the motion tilts the platform by more than 80 degrees about y")
        free = np.full_like(places, np.nan)
        # Two poses are joined by a straight line; without this, any parabola would do.
        bends = np.zeros_like(places) if len(places) == 2 else free.copy()
        self.times: Array = table.time
        self._spline: QuinticSpline = waypoint_spline(table.time, places, free, bends)

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return float(self.times[-1] - self.times[0])

    def at(self, times: ArrayLike) -> Motion:
        """Poses, velocities and accelerations at ``times`` (N,) of the table's clock [s]; no load."""
        t, knots = np.asarray(times, dtype=float), self._spline.times
        segment = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 2)
        length = (knots[segment + 1] - knots[segment])[:, None]
        s = (t - knots[segment])[:, None] / length
        c = np.moveaxis(self._spline.coefficients[segment], 1, 0)
        place = c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * (c[4] + s * c[5]))))
        rate = (c[1] + s * (2 * c[2] + s * (3 * c[3] + s * (4 * c[4] + s * 5 * c[5])))) / length
        acceleration = (2 * c[2] + s * (6 * c[3] + s * (12 * c[4] + s * 20 * c[5]))) / length**2
        turning, turning_rate = angular_motion(place[:, 3:], rate[:, 3:], acceleration[:, 3:])
        rotation, zero = rotation_from_roll_pitch_yaw(place[:, 3:]), np.zeros_like(place[:, :3])
        linear = (rate[:, :3], turning, acceleration[:, :3], turning_rate)
        return Motion(place[:, :3], rotation, *linear, zero, zero)


def _roll_pitch_yaw(quaternions: Array) -> Array:
    """(N, 3) angles without jumps [rad]."""
    r = rotation_from_quaternion(quaternions)
    pitch = np.arcsin(np.clip(-r[:, 2, 0], -1.0, 1.0))
    roll, yaw = np.arctan2(r[:, 2, 1], r[:, 2, 2]), np.arctan2(r[:, 1, 0], r[:, 0, 0])
    return np.column_stack([np.unwrap(roll), pitch, np.unwrap(yaw)])
