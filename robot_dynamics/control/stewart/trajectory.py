"""Pose trajectories of a platform: waypoints as a user sends them, made smooth.

Positions and roll, pitch, yaw run along one minimum-jerk spline; twists and accelerations that a waypoint
gives are met, the others are chosen for the least squared jerk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.spline import QuinticSpline, minimum_jerk_spline
from robot_dynamics.control.waypoints import check_times, waypoints_ahead
from robot_dynamics.errors import StateError, TrajectoryError
from robot_dynamics.inputs.arrays import of_type, real_array, real_vector
from robot_dynamics.spatial import Array, rpy_from_rotation
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import (
    angular_motion,
    rotation_from_roll_pitch_yaw,
    rotation_of,
)
from robot_dynamics.stewart.platform import StewartPlatform

# Roll and yaw cannot be told apart at a pitch of 90 degrees; no platform tilts so far.
LARGEST_PITCH = np.radians(80.0)
CHECK_STEP = 0.01
"""Least distance of the samples at which a path is looked at before it starts [s]."""
CHECK_SAMPLES = 500
"""Most samples looked at: the control loop waits for them."""


@dataclass(frozen=True)
class PoseWaypoint:
    """One point of a trajectory; what is None is not given.

    Attributes:
        time: since the trajectory's start [s].
        position: (3,) of the platform's origin, base frame [m].
        orientation: (4,) quaternion x, y, z, w.
        linear_velocity: (3,) [m/s].
        angular_velocity: (3,) base frame [rad/s].
        linear_acceleration: (3,) [m/s²].
        angular_acceleration: (3,) base frame [rad/s²].
    """

    time: float
    position: Sequence[float]
    orientation: Sequence[float]
    linear_velocity: Sequence[float] | None = None
    angular_velocity: Sequence[float] | None = None
    linear_acceleration: Sequence[float] | None = None
    angular_acceleration: Sequence[float] | None = None


def at_rest(position: Array, rotation: Array) -> Motion:
    """The platform standing still, without load."""
    zero = np.zeros(3)
    return Motion(position, rotation, zero, zero, zero, zero, zero, zero)


@dataclass(frozen=True)
class PoseTrajectory:
    """A smooth pose over time, at rest after its end.

    Attributes:
        spline: of x, y, z, roll, pitch, yaw.
    """

    spline: QuinticSpline

    @property
    def start(self) -> float:
        """[s], on the controller's clock."""
        return float(self.spline.times[0])

    @property
    def end(self) -> float:
        """[s], on the controller's clock."""
        return float(self.spline.times[-1])

    @property
    def duration(self) -> float:
        """[s]."""
        return self.end - self.start

    def sample(self, time: float) -> Motion:
        """The reference at ``time`` [s]."""
        if time >= self.end:
            place = self.spline.sample(self.end)[0]
            return at_rest(place[:3], rotation_from_roll_pitch_yaw(place[3:]))
        return _motion(*self.spline.sample(time))

    def at(self, times: ArrayLike) -> Motion:
        """References at ``times`` (N,) since the start [s]."""
        rows = [self.spline.sample(self.start + float(t)) for t in np.asarray(times, dtype=float).ravel()]
        places, rates, accelerations = (np.array(column) for column in zip(*rows, strict=True))
        motion = _motion(places, rates, accelerations)
        shape = np.shape(times)
        return motion if shape else Motion(*(value[0] for value in motion))


def plan_pose(
    platform: StewartPlatform,
    waypoints: Sequence[PoseWaypoint],
    start_time: float,
    origin: Motion,
    now: float,
) -> PoseTrajectory:
    """A trajectory that leaves ``origin`` without a jump and passes every waypoint that is still ahead.

    Args:
        platform: gives strokes, joint angles, force limits and singularities.
        waypoints: at non-negative, strictly increasing times.
        start_time: when time 0 of the waypoints is, on the controller's clock [s].
        origin: reference at the moment of departure.
        now: the controller's clock [s].

    Raises:
        TrajectoryError: a waypoint is not usable, or the path leaves the machine's limits.
        SingularityError: the path meets a singular pose, or comes too near to one; tells when.
    """
    of_type("waypoints", waypoints, Sequence)
    for point in waypoints:
        of_type("a waypoint", point, PoseWaypoint)
    times = real_array("time of the waypoints", [point.time for point in waypoints], TrajectoryError)
    check_times(times)
    departure = max(now, start_time)
    ahead = waypoints_ahead(times, start_time, departure, now)
    points = [point for point, due in zip(waypoints, ahead, strict=True) if due]
    rows = [_row(origin, None)]
    for k, point in zip(np.flatnonzero(ahead).tolist(), points, strict=True):
        rows.append(_row(_given(point, k), rows[-1][0]))
    places, rates, accelerations = (np.array(column) for column in zip(*rows, strict=True))
    for what, last in (("velocity", rates[-1]), ("acceleration", accelerations[-1])):
        last[np.isnan(last)] = 0.0
        if what == "velocity" and np.abs(last).max() > 1e-6:
            raise TrajectoryError("the last waypoint moves; a trajectory must end at rest")
    trajectory = PoseTrajectory(
        minimum_jerk_spline(
            np.concatenate(([departure], times[ahead] + start_time)), places, rates, accelerations
        )
    )
    if np.abs(np.array(trajectory.spline.extremes()[:2])[:, 4]).max() > LARGEST_PITCH:
        raise TrajectoryError("the path tilts the platform by more than 80 degrees about y")
    # A platform that rests on a stop must be allowed to leave it.
    platform.check_path(trajectory, max(CHECK_STEP, trajectory.duration / CHECK_SAMPLES), from_outside=True)
    return trajectory


def _motion(places: Array, rates: Array, accelerations: Array) -> Motion:
    """Position, roll, pitch, yaw (..., 6) and their derivatives as a motion without load."""
    angular_velocity, angular_acceleration = angular_motion(
        places[..., 3:], rates[..., 3:], accelerations[..., 3:]
    )
    zero = np.zeros_like(places[..., :3])
    return Motion(
        places[..., :3],
        rotation_from_roll_pitch_yaw(places[..., 3:]),
        rates[..., :3],
        angular_velocity,
        accelerations[..., :3],
        angular_acceleration,
        zero,
        zero,
    )


def _given(point: PoseWaypoint, index: int) -> Motion:
    """A waypoint as a motion, NaN where it gives nothing."""
    values = []
    for name in (
        "position",
        "linear_velocity",
        "angular_velocity",
        "linear_acceleration",
        "angular_acceleration",
    ):
        value = getattr(point, name)
        if value is None:
            values.append(np.full(3, np.nan))
        else:
            values.append(real_vector(f"waypoint {index}: {name}", value, 3, TrajectoryError))
    try:
        rotation = rotation_of(point.orientation)
    except StateError as error:
        raise TrajectoryError(f"waypoint {index}: {error}") from error
    position, linear, angular, linear_rate, angular_rate = values
    zero = np.zeros(3)
    return Motion(position, rotation, linear, angular, linear_rate, angular_rate, zero, zero)


def _row(motion: Motion, before: Array | None) -> tuple[Array, Array, Array]:
    """Position and roll, pitch, yaw (6,), their rates and accelerations; the angles next to those before."""
    angles = np.array(rpy_from_rotation(motion.rotation))
    if before is not None:
        angles = angles + 2.0 * np.pi * np.round((before[3:] - angles) / (2.0 * np.pi))
    basis = np.column_stack([angular_motion(angles, unit, np.zeros(3))[0] for unit in np.eye(3)])
    rates = np.linalg.solve(basis, motion.angular_velocity)
    drift = angular_motion(angles, np.nan_to_num(rates), np.zeros(3))[1]
    accelerations = np.linalg.solve(basis, motion.angular_acceleration - drift)
    if np.isnan(rates).any():
        # Without a rate the second derivatives of the angles do not follow from the angular acceleration.
        accelerations = np.full(3, np.nan)
    return (
        np.concatenate([motion.position, angles]),
        np.concatenate([motion.linear_velocity, rates]),
        np.concatenate([motion.linear_acceleration, accelerations]),
    )
