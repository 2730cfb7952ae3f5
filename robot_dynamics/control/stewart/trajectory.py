"""Pose trajectories of a platform: smooth paths through the waypoints of a user.

Positions and roll, pitch, yaw run along splines that stay between their waypoints. Twists and accelerations
that a waypoint gives are met, the others are chosen for the least squared jerk that keeps the path there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.moving_start import decelerations, moving_spline
from robot_dynamics.control.path_bounds import hulls
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import LONGEST_TRAJECTORY, check_times, waypoints_ahead
from robot_dynamics.errors import StateError, TrajectoryError, short
from robot_dynamics.inputs.arrays import listed, of_type, real_array, real_vector
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.checks import act_on
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import (
    angular_motion,
    roll_pitch_yaw,
    rotation_from_roll_pitch_yaw,
    rotation_of,
)
from robot_dynamics.stewart.path_bounds import Pieces
from robot_dynamics.stewart.platform import StewartPlatform
from robot_dynamics.stewart.verified_limits import PathViolation, path_violations

# Roll and yaw cannot be distinguished at a pitch of 90 degrees; no platform tilts so far.
LARGEST_PITCH = np.radians(80.0)
ACCELERATION_MARGIN = 1.01
"""Factor on acceleration limits, beyond which a path is refused."""
UNLIMITED = (np.inf, np.inf)
"""No limit of linear and angular acceleration."""
BRAKING = 0.5
"""Share of the acceleration limits with which each coordinate of a moving start brakes."""
SAMPLES = 64
"""Number of moments of a segment at which accelerations are compared, where its bounds do not decide."""


@dataclass(frozen=True)
class PoseWaypoint:
    """Point of a pose trajectory; values that are None are not given.

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
    """Motion of a platform that stands still, without load."""
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
        """Start on the controller's clock [s]."""
        return float(self.spline.times[0])

    @property
    def end(self) -> float:
        """End on the controller's clock [s]."""
        return float(self.spline.times[-1])

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return self.end - self.start

    def sample(self, time: float) -> Motion:
        """The reference at ``time`` [s]."""
        if time >= self.end:
            place = self.spline.sample(self.end)[0]
            return at_rest(place[:3], rotation_from_roll_pitch_yaw(place[3:]))
        return motion_along(*self.spline.sample(time))

    @property
    def pieces(self) -> Pieces:
        """The polynomials of x, y, z, roll, pitch, yaw."""
        return Pieces(self.spline.times, self.spline.coefficients)

    def at(self, times: ArrayLike) -> Motion:
        """References at ``times`` (...) since the start [s]."""
        return self.motion(self.start + np.asarray(times, dtype=float))

    def motion(self, times: Array) -> Motion:
        """References at ``times`` (...) [s], on the controller's clock."""
        return motion_along(*self.spline.at(times))


def plan_pose(
    platform: StewartPlatform,
    waypoints: Sequence[PoseWaypoint],
    start_time: float,
    origin: Motion,
    now: float,
    wrench: Array | None = None,
    accelerations: tuple[float, float] = UNLIMITED,
) -> PoseTrajectory:
    """Plan a trajectory that leaves ``origin`` without a jump and passes every waypoint that is still ahead.

    Args:
        platform: gives strokes, joint angles, force limits and singularities; with all that it carries.
        waypoints: at non-negative, strictly increasing times.
        start_time: when time 0 of the waypoints is, on the controller's clock [s].
        origin: reference at the plan start.
        now: the controller's clock [s].
        wrench: (6,) external force [N] and moment about the platform's origin [N·m], platform frame, that the
            legs bear beside; none when None.
        accelerations: maximum linear and angular acceleration [m/s², rad/s²].

    Raises:
        TrajectoryError: a waypoint is not usable, or the path exceeds an acceleration limit; tells when.
        LimitError: the path leaves the machine's limits, wherever; tells when, which leg and by how much.
        SingularityError: the path meets a singular pose, or comes too near to one; tells when.
    """
    trajectory = smooth_pose(waypoints, start_time, origin, now, accelerations)
    # A platform that rests on a stop must be allowed to leave it.
    found = trajectory_violations(platform, trajectory, wrench, from_outside=True)
    act_on(tuple(replace(one.violation, message=one.message) for one in found), "raise")
    if excess := acceleration_excess(trajectory, accelerations):
        raise TrajectoryError(excess)
    return trajectory


def acceleration_excess(trajectory: PoseTrajectory, accelerations: tuple[float, float]) -> str:
    """Worst acceleration beyond a limit by a hundredth or more in words; empty where there is none.

    What moves already may go on as it does.

    Args:
        trajectory: to be compared.
        accelerations: maximum linear and angular acceleration [m/s², rad/s²].
    """
    times, coefficients = trajectory.spline.times, trajectory.spline.coefficients
    steps = np.diff(times)
    rates, seconds = (
        np.abs(hulls(np.moveaxis(coefficients, 1, 0), order)).max(axis=0) / steps[:, None] ** order
        for order in (1, 2)
    )
    turning = seconds[:, 3:].sum(axis=1) + rates[:, 3:].sum(axis=1) ** 2
    bounds = np.column_stack([np.linalg.norm(seconds[:, :3], axis=1), turning])
    begins = _magnitudes(trajectory.motion(times[:1]))[0]
    limits = ACCELERATION_MARGIN * np.maximum(accelerations, begins)
    doubtful = np.flatnonzero((bounds > limits).any(axis=1))
    moments = (times[doubtful, None] + np.linspace(0.0, 1.0, SAMPLES) * steps[doubtful, None]).ravel()
    if not len(moments):
        return ""
    found = _magnitudes(trajectory.motion(moments))
    k, part = np.unravel_index(int(np.argmax(found / limits)), found.shape)
    if found[k, part] <= limits[part]:
        return ""
    name, unit = (("max_acceleration", "m/s²"), ("max_angular_acceleration", "rad/s²"))[part]
    return (
        f"the platform would have the acceleration {short(found[k, part], 4)} {unit}"
        f" {short(moments[k] - times[0])} s after the start; {name} allows"
        f" {limits[part] / ACCELERATION_MARGIN:.4g}"
    )


def _magnitudes(motion: Motion) -> Array:
    """(N, 2) linear and angular accelerations of motions (N) [m/s², rad/s²]."""
    parts = (motion.linear_acceleration, motion.angular_acceleration)
    return np.stack([np.linalg.norm(part, axis=-1) for part in parts], axis=-1)


def smooth_pose(
    waypoints: Sequence[PoseWaypoint],
    start_time: float,
    origin: Motion,
    now: float,
    accelerations: tuple[float, float] = UNLIMITED,
) -> PoseTrajectory:
    """Plan as :func:`plan_pose` does, without regard to limits; a moving start brakes within its own."""
    of_type("waypoints", waypoints, Sequence)
    waypoints = listed("waypoints", waypoints, TrajectoryError, 10 * LONGEST_TRAJECTORY)
    for point in waypoints:
        of_type("a waypoint", point, PoseWaypoint)
    given = [point.time for point in waypoints]
    times = real_vector("time of the waypoints", given, len(given), TrajectoryError)
    check_times(times)
    switch_time = max(now, start_time)
    ahead = waypoints_ahead(times, start_time, switch_time, now)
    places, rates, seconds = _rows(waypoints, np.flatnonzero(ahead).tolist(), origin)
    for what, last in (("velocity", rates[-1]), ("acceleration", seconds[-1])):
        last[np.isnan(last)] = 0.0
        if what == "velocity" and np.abs(last).max() > 1e-6:
            raise TrajectoryError("the last waypoint moves; a trajectory must end at rest")
    knots = np.concatenate(([switch_time], times[ahead] + start_time))
    free = np.full(6, np.inf)
    usual = decelerations(free, free, rates[0], seconds[0])
    braking = np.minimum(usual, BRAKING * np.repeat(accelerations, 3))
    spline = moving_spline(knots, places, rates, seconds, braking)
    pitch = QuinticSpline(spline.times, spline.coefficients[:, :, 4:5])
    if np.abs(np.array(pitch.extremes()[:2])).max() > LARGEST_PITCH:
        raise TrajectoryError("the path tilts the platform by more than 80 degrees about y")
    return PoseTrajectory(spline)


def trajectory_violations(
    platform: StewartPlatform,
    trajectory: PoseTrajectory,
    wrench: Array | None = None,
    from_outside: bool = False,
) -> tuple[PathViolation, ...]:
    """Limits that a trajectory exceeds, verified in continuous time; times count from its start.

    Args:
        platform: with all that it carries.
        trajectory: to be verified.
        wrench: see :func:`plan_pose`.
        from_outside: a stroke or an angle beyond its limit at the start may be left from there.
    """
    begin = trajectory.start
    pieces = trajectory.pieces
    return path_violations(
        platform.machine,
        replace(pieces, times=pieces.times - begin),
        trajectory.at,
        np.zeros(6) if wrench is None else wrench,
        from_outside,
    )


def motion_along(places: Array, rates: Array, accelerations: Array) -> Motion:
    """Position, roll, pitch, yaw (..., 6) and their derivatives as a motion without load [m, rad]."""
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


def _rows(
    waypoints: Sequence[PoseWaypoint], chosen: Sequence[int], origin: Motion
) -> tuple[Array, Array, Array]:
    """Position and roll, pitch, yaw (K + 1, 6) of the origin and of the waypoints that are chosen, their
    rates and accelerations; NaN where nothing is given."""
    vectors = [
        np.vstack([getattr(origin, name)[None], _column(waypoints, chosen, name, 3)])
        for name in (
            "position",
            "linear_velocity",
            "angular_velocity",
            "linear_acceleration",
            "angular_acceleration",
        )
    ]
    position, linear, angular, linear_rate, angular_rate = vectors
    turned = _orientations(waypoints, chosen)
    angles = np.unwrap(roll_pitch_yaw(np.concatenate([origin.rotation[None], turned])), axis=0)
    units = np.eye(3)[:, None]
    basis = np.stack([angular_motion(angles, unit, np.zeros(3))[0] for unit in units], axis=-1)
    rates = np.linalg.solve(basis, angular[..., None])[..., 0]
    drift = angular_motion(angles, np.nan_to_num(rates), np.zeros(3))[1]
    accelerations = np.linalg.solve(basis, (angular_rate - drift)[..., None])[..., 0]
    # Without a rate the second derivatives of the angles do not follow from the angular acceleration.
    accelerations[np.isnan(rates).any(axis=1)] = np.nan
    return (
        np.hstack([position, angles]),
        np.hstack([linear, rates]),
        np.hstack([linear_rate, accelerations]),
    )


def _column(waypoints: Sequence[PoseWaypoint], chosen: Sequence[int], name: str, size: int) -> Array:
    """One field of the waypoints that are chosen (K, size), NaN where it is not given."""
    result = np.full((len(chosen), size), np.nan)
    given = [(row, getattr(waypoints[k], name)) for row, k in enumerate(chosen)]
    given = [(row, value) for row, value in given if value is not None]
    if not given:
        return result
    try:
        values = real_array(name, [value for _, value in given], TrajectoryError)
    except TrajectoryError:
        values = np.empty(0)
    if values.shape != (len(given), size) or not np.isfinite(values).all():
        for row, value in given:  # names the one that is not usable
            real_vector(f"waypoint {chosen[row]}: {name}", value, size, TrajectoryError)
    result[[row for row, _ in given]] = values
    return result


def _orientations(waypoints: Sequence[PoseWaypoint], chosen: Sequence[int]) -> Array:
    """(K, 3, 3) rotations of the waypoints that are chosen."""
    try:
        return rotation_of(_column(waypoints, chosen, "orientation", 4))
    except (StateError, TrajectoryError):
        for k in chosen:  # names the one that is not usable
            try:
                rotation_of(waypoints[k].orientation)
            except StateError as error:
                raise TrajectoryError(f"waypoint {k}: {error}") from error
        raise
