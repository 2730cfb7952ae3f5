"""Straight-line paths of the platform in task space.

Dasgupta and Mruthyunjaya 1998, section 4.3: position and roll, pitch and yaw run straight from start to end,
either with parabolic blends (constant acceleration, constant velocity, constant deceleration) or, smoother,
with the quintic that starts and ends without velocity and acceleration. Orientations given as quaternions
turn about one fixed axis instead.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from robot_dynamics.errors import TrajectoryError, quoted
from robot_dynamics.inputs.arrays import one_of, real_array, real_number, real_vector
from robot_dynamics.inputs.records import a, check_fields, number, numbers, or_none
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import (
    angular_motion,
    quaternion_from_rotation,
    rotation_from_roll_pitch_yaw,
    rotation_from_vector,
    rotation_of,
    rotation_vector,
)
from robot_dynamics.stewart.path_bounds import Pieces

Profile = Literal["quintic", "parabolic"]
# Peak speed of the quintic over its mean speed.
QUINTIC_PEAK = 1.875
# Relative slack for timings that are met exactly.
ROUNDING = 1e-9
SHORTEST, LONGEST = 1e-6, 1e9
"""Durations of a path [s]."""
FARTHEST = 1e9
"""Coordinates of its ends [m]."""


@dataclass(frozen=True)
class TimeLaw:
    """Fraction of a path from 0 to 1 over time, by a quintic or with parabolic blends.

    Attributes:
        duration: [s].
        blend: time of the acceleration and of the deceleration [s]; None for the quintic.
    """

    duration: float
    blend: float | None

    def __post_init__(self) -> None:
        check_fields(self, {"duration": number, "blend": or_none(number)}, TrajectoryError)
        if not self.duration > 0.0 or not (self.blend is None or 0.0 < self.blend <= self.duration / 2.0):
            raise TrajectoryError(
                f"a TimeLaw has the duration {self.duration:g} s and the blend {self.blend} s; the first must"
                " be positive, the second at most half of it"
            )

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """Fraction, its rate [1/s] and its second rate [1/s²] at ``times`` (...); at rest outside."""
        t = np.clip(times, 0.0, self.duration)
        if self.blend is None:
            x = t / self.duration
            return (
                x**3 * (10.0 + x * (6.0 * x - 15.0)),
                30.0 * x**2 * (1.0 - x) ** 2 / self.duration,
                60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / self.duration**2,
            )
        speed = 1.0 / (self.duration - self.blend)
        gain = speed / self.blend
        left = self.duration - t
        starting, stopping = t < self.blend, left < self.blend
        fraction = np.where(
            starting,
            0.5 * gain * t**2,
            np.where(stopping, 1.0 - 0.5 * gain * left**2, speed * (t - 0.5 * self.blend)),
        )
        rate = np.where(starting, gain * t, np.where(stopping, gain * left, speed))
        inside = (times >= 0.0) & (times <= self.duration)
        acceleration = np.where(starting, gain, np.where(stopping, -gain, 0.0)) * inside
        return fraction, rate, acceleration

    @property
    def knots(self) -> list[float]:
        """Times at which one polynomial ends and the next begins [s]."""
        inner = [] if self.blend is None else [self.blend, self.duration - self.blend]
        return [0.0, *inner, self.duration]

    def polynomial(self, start: float, end: float) -> Array:
        """(6,) coefficients of the fraction between two times without a knot between, of s from 0 to 1."""
        middle, time = 0.5 * (start + end), Polynomial([start, end - start])
        if self.blend is None:
            fraction = Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])(time / self.duration)
        else:
            speed = 1.0 / (self.duration - self.blend)
            gain, left = speed / self.blend, self.duration - time
            if middle < self.blend:
                fraction = 0.5 * gain * time**2
            elif self.duration - middle < self.blend:
                fraction = 1.0 - 0.5 * gain * left**2
            else:
                fraction = speed * (time - 0.5 * self.blend)
        result = np.zeros(6)
        result[: len(fraction.coef)] = fraction.coef
        return result


@runtime_checkable
class PlatformPath(Protocol):
    """Anything that tells where the platform shall be, and when."""

    @property
    def duration(self) -> float:
        """[s], counted from 0."""

    def at(self, times: ArrayLike) -> Motion:
        """Pose, velocity and acceleration at ``times`` (...) [s]."""


@runtime_checkable
class PolynomialPath(PlatformPath, Protocol):
    """A path that tells its polynomials too, so that it can be bounded between all samples."""

    @property
    def pieces(self) -> Pieces:
        """The same path; its time begins anywhere."""


_LINE = {
    "start_position": numbers(3),
    "displacement": numbers(3),
    "start_rotation": numbers(3, 3),
    "start_angles": or_none(numbers(3)),
    "turn": numbers(3),
    "duration": number,
    "linear_law": a(TimeLaw),
    "angular_law": a(TimeLaw),
}


@dataclass(frozen=True)
class StraightLine:
    """A path from one pose to another; made by :func:`straight_line`.

    Attributes:
        start_position: (3,) [m].
        displacement: (3,) from start to end [m].
        start_rotation: (3, 3) at the start.
        start_angles: (3,) roll, pitch, yaw at the start [rad]; None when the path turns about one axis.
        turn: (3,) change of these angles, or the rotation vector from start to end, base frame [rad].
        duration: [s].
        linear_law: time law of the position.
        angular_law: time law of the orientation.
    """

    start_position: Array
    displacement: Array
    start_rotation: Array
    start_angles: Array | None
    turn: Array
    duration: float
    linear_law: TimeLaw
    angular_law: TimeLaw

    def __post_init__(self) -> None:
        check_fields(self, _LINE, TrajectoryError)

    def at(self, times: ArrayLike) -> Motion:
        """Pose, velocity and acceleration at ``times`` (...) [s], without load; at rest before and after."""
        t = real_array("times", times, TrajectoryError)
        if not np.isfinite(t).all():
            raise TrajectoryError(f"times is {quoted(times)}; every number must be finite")
        fraction, rate, acceleration = (x[..., None] for x in self.linear_law.at(t))
        turned, turn_rate, turn_acceleration = (x[..., None] for x in self.angular_law.at(t))
        if self.start_angles is None:
            rotation = rotation_from_vector(turned * self.turn) @ self.start_rotation
            velocity, turning = turn_rate * self.turn, turn_acceleration * self.turn
        else:
            angles = self.start_angles + turned * self.turn
            rotation = rotation_from_roll_pitch_yaw(angles)
            velocity, turning = angular_motion(angles, turn_rate * self.turn, turn_acceleration * self.turn)
        zero = np.zeros((*t.shape, 3))
        return Motion(
            self.start_position + fraction * self.displacement,
            rotation,
            rate * self.displacement,
            velocity,
            acceleration * self.displacement,
            turning,
            zero,
            zero,
        )

    @property
    def pieces(self) -> Pieces:
        """Its polynomials."""
        times = np.unique([*self.linear_law.knots, *self.angular_law.knots])
        angle = float(np.linalg.norm(self.turn))
        axis = None
        start, change = self.start_angles, self.turn
        if start is None:
            about = self.turn / angle if angle > 0.0 else np.array([0.0, 0.0, 1.0])
            axis = (quaternion_from_rotation(self.start_rotation), about)
            start, change = np.zeros(3), np.array([angle, 0.0, 0.0])
        coefficients = np.empty((len(times) - 1, 6, 6))
        for piece, (begin, end) in enumerate(itertools.pairwise(times.tolist())):
            for law, way, columns in (
                (self.linear_law, self.displacement, slice(0, 3)),
                (self.angular_law, change, slice(3, 6)),
            ):
                coefficients[piece, :, columns] = law.polynomial(begin, end)[:, None] * way
        coefficients[:, 0] += np.concatenate([self.start_position, start])
        return Pieces(times, coefficients, axis)


def straight_line(
    start_position: ArrayLike,
    start_orientation: ArrayLike,
    end_position: ArrayLike,
    end_orientation: ArrayLike,
    duration: float,
    profile: Profile = "quintic",
    linear_speed: float | None = None,
    angular_speed: float | None = None,
) -> StraightLine:
    """A straight path between two poses.

    Args:
        start_position: (3,) [m].
        start_orientation: roll, pitch, yaw (3,) [rad] or quaternion (4,) x, y, z, w.
        end_position: (3,) [m].
        end_orientation: of the same kind as ``start_orientation``.
        duration: [s].
        profile: "parabolic" needs both speeds and reaches them (eqs. 39, 40); "quintic" keeps below them.
        linear_speed: greatest speed of the platform's origin [m/s].
        angular_speed: greatest rate of the orientation, the norm of the three angles' rates as in the paper,
            or the angular speed of a path between quaternions [rad/s].

    Raises:
        TrajectoryError: the timing cannot be met, or a value is not usable; the message says what would do.
        StateError: an orientation is not usable.
    """
    first, last = _point("start_position", start_position), _point("end_position", end_position)
    begin = real_array("start_orientation", start_orientation)
    end = real_array("end_orientation", end_orientation)
    if begin.ndim != 1 or begin.shape != end.shape:
        raise TrajectoryError(
            f"the orientations have shapes {begin.shape} and {end.shape}; give two quaternions (4,) or two"
            " triples of roll, pitch and yaw (3,)"
        )
    rotation = rotation_of(begin)
    angles = begin if begin.shape == (3,) else None
    turn = end - begin if angles is not None else rotation_vector(rotation_of(end) @ rotation.T)
    one_of("profile", profile, ("quintic", "parabolic"), TrajectoryError)
    span = real_array("duration", duration, TrajectoryError)
    if span.shape != () or not SHORTEST <= span <= LONGEST:
        raise TrajectoryError(
            f"duration is {quoted(duration)} s; it must be positive, {SHORTEST:g} to {LONGEST:g} s"
        )
    duration = float(span)
    shift = last - first
    return StraightLine(
        start_position=first,
        displacement=shift,
        start_rotation=rotation,
        start_angles=angles,
        turn=turn,
        duration=duration,
        linear_law=_law(float(np.linalg.norm(shift)), duration, profile, linear_speed, "linear_speed", "m"),
        angular_law=_law(
            float(np.linalg.norm(turn)), duration, profile, angular_speed, "angular_speed", "rad"
        ),
    )


def _law(
    distance: float, duration: float, profile: Profile, speed: float | None, name: str, unit: str
) -> TimeLaw:
    if speed is not None:
        speed = real_number(name, speed, TrajectoryError)
        if not speed > 0.0:
            raise TrajectoryError(f"{name} is {speed:g} {unit}/s; it must be positive")
    if profile == "quintic":
        peak = QUINTIC_PEAK * distance / duration
        if speed is not None and peak > speed * (1.0 + ROUNDING):
            raise TrajectoryError(
                f"{distance:g} {unit} in {duration:g} s peaks at {peak:g} {unit}/s, above {name} {speed:g}"
                f" {unit}/s; take at least {QUINTIC_PEAK * distance / speed:g} s"
            )
        return TimeLaw(duration, None)
    if speed is None:
        raise TrajectoryError(f"a path with parabolic blends needs {name} [{unit}/s]")
    if distance == 0.0:
        return TimeLaw(duration, duration / 2.0)
    blend = duration - distance / speed  # eq. 39
    if not 0.0 < blend <= duration / 2.0 * (1.0 + ROUNDING):
        raise TrajectoryError(
            f"{distance:g} {unit} in {duration:g} s with {name} {speed:g} {unit}/s cannot be blended;"
            f" the speed must be above {distance / duration:g} and at most"
            f" {2.0 * distance / duration:g} {unit}/s"
        )
    return TimeLaw(duration, min(blend, duration / 2.0))


def _point(name: str, value: ArrayLike) -> Array:
    point = real_vector(name, value, 3, TrajectoryError)
    if np.abs(point).max() > FARTHEST:
        raise TrajectoryError(f"{name} is {quoted(value)}; no coordinate may exceed {FARTHEST:g} m")
    return point
