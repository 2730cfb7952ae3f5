"""Bounds of lengths, speeds, forces and angles of each leg that hold on whole intervals of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.codegen.expression import sqrt
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.inputs.records import check_fields, finite
from robot_dynamics.spatial import Array, cross_entries, quaternion_rows
from robot_dynamics.stewart.exact_model import PlatformInputs, actuator_forces
from robot_dynamics.stewart.interval import Interval, joined, motion_intervals, polynomials
from robot_dynamics.stewart.machine import LEG_COUNT, Machine
from robot_dynamics.stewart.regrouping import Parameters, regroup
from robot_dynamics.stewart.scalar_algebra import Vector, add, dot, times

MANY = 500
"""So many pieces and more are looked at in groups first."""
GROUP = 8
PARTS = 4
"""Into how many a box is split."""


@dataclass(frozen=True)
class Pieces:
    """A path as polynomials: x, y, z, roll, pitch, yaw over pieces of time.

    Attributes:
        times: (K,) where pieces begin and end [s].
        coefficients: (K - 1, 6, 6) of the powers of s, which runs from 0 to 1 in each; then the coordinate.
        axis: None, or an orientation (4,), quaternion, and a unit vector (3,), base frame: coordinate 3 is
            then the angle by which the platform has turned about this axis since, and 4 and 5 are nothing.
    """

    times: Array
    coefficients: Array
    axis: tuple[Array, Array] | None = None

    def __post_init__(self) -> None:
        check_fields(self, {"times": finite, "coefficients": finite}, TrajectoryError)
        count = self.times.size - 1
        if count < 1 or self.times.ndim != 1 or self.coefficients.shape != (count, LEG_COUNT, LEG_COUNT):
            raise TrajectoryError(
                f"times of Pieces has shape {self.times.shape}, coefficients {self.coefficients.shape};"
                " expected (K,) and (K - 1, 6, 6)"
            )


@dataclass(frozen=True)
class Boxes:
    """Spans of time of a path: either ``group`` whole pieces each, or equal parts of single pieces.

    Attributes:
        piece: (N,) the first of its pieces.
        center: (N,) where in its piece a part of one has its middle, 0 to 1.
        half: (N,) half the width of a part, in the same measure.
        group: how many pieces each has; parts have one.
    """

    piece: NDArray[np.int_]
    center: Array
    half: Array
    group: int

    @staticmethod
    def over(count: int) -> Boxes:
        """Boxes that cover ``count`` pieces; groups of them where they are many."""
        group = GROUP if count > MANY else 1
        first = np.arange(0, count, group)
        return Boxes(first, np.full(len(first), 0.5), np.full(len(first), 0.5), group)

    def split(self, chosen: Any, count: int) -> Boxes:
        """Parts of those that are chosen, where the path has ``count`` pieces."""
        piece, center, half = self.piece[chosen], self.center[chosen], self.half[chosen]
        if self.group > 1:
            single = (piece[:, None] + np.arange(self.group)).ravel()
            single = single[single < count]
            return Boxes(single, np.full(len(single), 0.5), np.full(len(single), 0.5), 1)
        places = np.tile(np.arange(1 - PARTS, PARTS, 2), len(piece))
        half = np.repeat(half, PARTS) / PARTS
        return Boxes(np.repeat(piece, PARTS), np.repeat(center, PARTS) + half * places, half, 1)

    def subset(self, chosen: Any) -> Boxes:
        """Those that are chosen."""
        return Boxes(self.piece[chosen], self.center[chosen], self.half[chosen], self.group)

    def spans(self, pieces: Pieces) -> tuple[Array, Array, Array]:
        """Start, time of the values and end of each box: times (N,) [s]."""
        times = pieces.times
        if self.group > 1:
            last = np.minimum(self.piece + self.group, len(times) - 1)
            middle = np.minimum(self.piece + self.group // 2, len(times) - 2)
            return times[self.piece], 0.5 * (times[middle] + times[middle + 1]), times[last]
        width, start = np.diff(times)[self.piece], times[self.piece]
        return (
            start + width * (self.center - self.half),
            start + width * self.center,
            start + width * (self.center + self.half),
        )


@dataclass(frozen=True)
class LegBounds:
    """Bounds of the legs on boxes; every deviation is from the value in the middle of the box.

    Attributes:
        lengths, speeds, forces, base_cosines, platform_cosines: values and deviations, (2, N, 6) each: [m],
            [m/s], [N], and cosines of the angles from the directions at home.
        jacobian: (N, 6, 6) in the middle, moments over the characteristic length.
        jacobian_deviation: (N,) Frobenius norm of how far it goes from there.
    """

    lengths: Array
    speeds: Array
    forces: Array
    base_cosines: Array
    platform_cosines: Array
    jacobian: Array
    jacobian_deviation: Array


class PathBounds:
    """Bounds of what paths ask of one machine.

    Args:
        machine: the platform, with everything that it carries.
        wrench: (6,) external force [N] and moment about the platform's origin [N·m], platform frame.
    """

    def __init__(self, machine: Machine, wrench: Array) -> None:
        self._machine = machine
        self._wrench = [float(value) for value in wrench]
        self._parameters = _well_conditioned(machine)

    def of(self, pieces: Pieces, boxes: Boxes) -> LegBounds:
        """Bounds on ``boxes`` of ``pieces``."""
        place, rate, second = self._motion(pieces, boxes)
        turn: _Turn = (
            _RollPitchYaw(place[3:], rate[3:], second[3:])
            if pieces.axis is None
            else _AboutAxis(*pieces.axis, place[3], rate[3], second[3])
        )
        # Interval arithmetic multiplies what it does not know, infinity, by zero.
        with np.errstate(invalid="ignore", over="ignore"):
            forces = actuator_forces(
                self._parameters,
                PlatformInputs(
                    position=place[:3],
                    orientation=turn.quaternion,
                    linear_velocity=rate[:3],
                    angular_velocity=turn.velocity,
                    linear_acceleration=second[:3],
                    angular_acceleration=turn.acceleration,
                    force=self._wrench[:3],
                    torque=self._wrench[3:],
                ),
            )
            legs = self._legs(place[:3], rate[:3], turn)
            jacobian, deviation = self._jacobian(legs.rows)
            return LegBounds(
                lengths=_gathered(legs.lengths),
                speeds=_gathered(legs.speeds),
                forces=_gathered(forces),
                base_cosines=_gathered(legs.base),
                platform_cosines=_gathered(legs.platform),
                jacobian=jacobian,
                jacobian_deviation=deviation,
            )

    def _motion(self, pieces: Pieces, boxes: Boxes) -> list[list[Interval]]:
        start, middle, end = boxes.spans(pieces)
        count = len(pieces.coefficients)
        # A last group that is not full has its last piece again.
        index = np.minimum((boxes.piece[:, None] + np.arange(boxes.group)).ravel(), count - 1)
        center, half = (np.repeat(values, boxes.group) for values in (boxes.center, boxes.half))
        coefficients = np.ascontiguousarray(pieces.coefficients[index].transpose(1, 2, 0))
        values, deviations = polynomials(coefficients, center, half, np.diff(pieces.times)[index])
        if boxes.group > 1:
            values, deviations = joined(values, deviations, boxes.group)
        return motion_intervals(values, deviations, np.maximum(end - middle, middle - start))

    def _legs(self, position: Sequence[Interval], velocity: Sequence[Interval], turn: _Turn) -> _Legs:
        machine, found = self._machine, _Legs([], [], [], [], [])
        rotation = quaternion_rows(turn.quaternion)
        for k in range(LEG_COUNT):
            arm = times(rotation, machine.platform_points[k])
            vector = [(arm[i] + position[i] - float(machine.base_points[k, i])).tight() for i in range(3)]
            motion = add(velocity, cross_entries(turn.velocity, arm))
            length = sqrt(dot(vector, vector))
            per_length = 1.0 / length
            direction = [(x * per_length).tight() for x in vector]
            home = machine.home_directions[k]
            local = times(rotation, home @ machine.home_rotation)
            found.lengths.append(length)
            found.speeds.append(dot(direction, motion))
            found.base.append(dot(home, direction))
            found.platform.append(dot(local, direction))
            found.rows.append([*direction, *cross_entries(arm, direction)])
        return found

    def _jacobian(self, rows: list[list[Interval]]) -> tuple[Array, Array]:
        scale = np.array([1.0] * 3 + [1.0 / self._machine.characteristic_length] * 3)
        both = np.array([_gathered(row) for row in rows])  # leg, value or deviation, box, column
        values, deviations = (both * scale).transpose(1, 2, 0, 3)
        return values, np.sqrt((deviations**2).sum(axis=(1, 2)))


@dataclass(frozen=True)
class _Legs:
    """Intervals of each leg; see :class:`LegBounds`."""

    lengths: list[Interval]
    speeds: list[Interval]
    base: list[Interval]
    platform: list[Interval]
    rows: list[list[Interval]]


class _Turn:
    """Orientation and its motion.

    Attributes:
        quaternion: x, y, z, w.
        velocity: angular, base frame.
        acceleration: angular, base frame.
    """

    quaternion: list[Interval]
    velocity: Vector
    acceleration: Vector


class _AboutAxis(_Turn):
    """By an angle about an axis, after a first orientation."""

    def __init__(self, first: Array, axis: Array, angle: Interval, rate: Interval, second: Interval) -> None:
        c, s = (0.5 * angle).cosine_and_sine()
        (x, y, z, w), (a, b, d) = first.tolist(), axis.tolist()
        turned = (a * w + b * z - d * y, b * w + d * x - a * z, d * w + a * y - b * x, -a * x - b * y - d * z)
        self.quaternion = [
            (s.scaled(by_sine) + c.scaled(by_cosine)).tight()
            for by_sine, by_cosine in zip(turned, (x, y, z, w), strict=True)
        ]
        self.velocity = [rate.scaled(part) for part in (a, b, d)]
        self.acceleration = [second.scaled(part) for part in (a, b, d)]


class _RollPitchYaw(_Turn):
    """From roll, pitch, yaw: R = Rz Ry Rx."""

    def __init__(
        self, angles: Sequence[Interval], rates: Sequence[Interval], seconds: Sequence[Interval]
    ) -> None:
        (ca, sa), (cb, sb), (cc, sc) = ((0.5 * angle).cosine_and_sine() for angle in angles)
        self.quaternion = [
            (sa * cb * cc - ca * sb * sc).tight(),
            (ca * sb * cc + sa * cb * sc).tight(),
            (ca * cb * sc - sa * sb * cc).tight(),
            (ca * cb * cc + sa * sb * sc).tight(),
        ]
        (cy, sy), (cz, sz) = (angle.cosine_and_sine() for angle in angles[1:])
        x, y, z = rates
        # The axis of roll, and how it turns.
        along = [cy * cz, cy * sz, -sy]
        turning = [-(y * sy * cz) - z * cy * sz, z * cy * cz - y * sy * sz, -(y * cy)]
        self.velocity = [x * along[0] - y * sz, x * along[1] + y * cz, x * along[2] + z]
        across = [-(seconds[1] * sz) - y * z * cz, seconds[1] * cz - y * z * sz, seconds[2]]
        self.acceleration = [seconds[0] * along[i] + x * turning[i] + across[i] for i in range(3)]


def _gathered(intervals: Sequence[Any]) -> Array:
    """Values and tight deviations (2, N, n) of n intervals; what is not known deviates by infinity."""
    tight = [interval.tight() for interval in intervals]
    both = np.array([[ball.value for ball in tight], [ball.radius for ball in tight]])
    both[1][~np.isfinite(both[1])] = np.inf
    return np.asarray(both.transpose(0, 2, 1))


def _well_conditioned(machine: Machine) -> Parameters:
    """The regrouped constants with the triangle that the legs rise from the most."""
    base, directions = machine.base_points, machine.home_directions

    def rise(legs: tuple[int, ...]) -> float:
        a, b, c = legs
        normal = np.cross(base[b] - base[a], base[c] - base[a])
        return float(np.abs(directions[list(legs)] @ normal).min())

    a, b, c = max(combinations(range(LEG_COUNT), 3), key=rise)
    return regroup(machine, triangle=(a, b, c))
