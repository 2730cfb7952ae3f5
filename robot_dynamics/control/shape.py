"""Paths through waypoints that stay between them: least jerk where that keeps the shape, limited elsewhere.

Between two knots the quintic's derivative has the Bernstein coefficients (times 1/h)

    v0 h,  v0 h + a0 h²/4,  5 d − 2 (v0 + v1) h + (a1 − a0) h²/4,  v1 h − a1 h²/4,  v1 h

with d the distance between them. Where all have the sign of d, the path is monotone. The middle one is shared
out between both ends: each may use B = 5/2 |d|. Then every knot has its own polygon of velocities and
accelerations, whatever its neighbours choose. With all knots inside theirs the whole path is monotone.

Knots start from the least squared jerk. Only those next to a segment that leaves its waypoints are moved
into their polygons, and the others are chosen anew for least jerk.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.path_bounds import hulls
from robot_dynamics.control.spline import (
    QuinticSpline,
    check_finite,
    check_knots,
    hermite_coefficients,
    least_jerk_derivatives,
)
from robot_dynamics.spatial import Array

SHARE = 0.02
"""Allowed excess of a path beyond the interval between two waypoints, as a share of their distance."""
LEAST = 1e-3
"""The same at least [rad or m]."""
EVEN = 2.0
"""Ratio of durations up to which waypoints count as samples of a motion."""
LEVELS = 3
"""Halvings of a segment whose hull leaves its waypoints before its knots are moved."""
_SOLVED = 3
"""Rounds in which the other knots are chosen anew."""
_ROUNDS = 8
"""Rounds after which all knots of the joint move into their polygons."""
_HALF = 2.5

_Mask = NDArray[np.bool_]


def waypoint_spline(
    times: Array, positions: Array, velocities: Array, accelerations: Array, part: float = 1.0
) -> QuinticSpline:
    """The path through the knots that stays between them.

    Where velocities are open, it leaves the interval between two successive positions by no more than
    ``SHARE`` of their distance or ``LEAST``. Two equal positions are a rest; among evenly timed waypoints the
    path may leave them by ``LEAST``, as samples around a peak do. Given velocities and
    accelerations are followed, whatever overshoot they force.

    Args:
        times: (K,) [s], strictly increasing, K >= 2.
        positions: (K, n) [rad or m].
        velocities: (K, n) [rad/s or m/s]; NaN leaves it open.
        accelerations: (K, n) [rad/s² or m/s²]; NaN leaves it open.
        part: of the allowance that may be used.

    Raises:
        TrajectoryError: fewer than two knots, times that do not increase, or no finite path.
    """
    times = check_knots(times)
    with np.errstate(all="ignore"):
        shaped = _Shaped(times, positions, velocities, accelerations, part)
        shaped.keep()
        coefficients = hermite_coefficients(np.diff(times), positions, *shaped.rates)
    # A rest is one exactly, without the rounding of six coefficients.
    coefficients[:, 1:] *= ~shaped.resting[:, None]
    spline = QuinticSpline(times, coefficients)
    check_finite(spline)
    return spline


def strays(spline: QuinticSpline) -> tuple[Array, Array]:
    """Excess of each segment beyond the interval between its ends, below and above (K - 1, n) [rad or m].

    Bounds of whole segments, not samples.
    """
    by_power = np.ascontiguousarray(spline.coefficients.transpose(1, 0, 2))
    return _strays(by_power, 1.0)


def _strays(by_power: Array, part: float) -> tuple[Array, Array]:
    """See :func:`strays`; (6, M, n) coefficients."""
    begin, end = by_power[0], by_power.sum(axis=0)
    lower, upper = np.minimum(begin, end), np.maximum(begin, end)
    tolerance = part * allowance(end - begin)
    lowest, highest = hulls(by_power)
    rough = (lower - lowest > tolerance) | (highest - upper > tolerance)
    if rough.any():
        lowest[rough], highest[rough] = hulls(by_power[:, rough], levels=LEVELS)
    return np.maximum(lower - lowest, 0.0), np.maximum(highest - upper, 0.0)


def allowance(distance: Array) -> Array:
    """Allowed excess beyond the interval between two waypoints so far apart [rad or m]."""
    return np.maximum(SHARE * np.abs(distance), LEAST)


class _Shaped:
    """Velocities and accelerations at the knots of all joints, chosen round by round.

    Args:
        times: (K,).
        positions: (K, n).
        velocities: (K, n), NaN where open.
        accelerations: (K, n), NaN where open.
        part: of the allowance that may be used.
    """

    def __init__(
        self, times: Array, positions: Array, velocities: Array, accelerations: Array, part: float
    ) -> None:
        self._part = part
        self._times, self._positions = times, np.asarray(positions, dtype=float)
        self._h = np.diff(times)[:, None]
        self._distance = np.diff(self._positions, axis=0)
        self._given = np.stack([velocities, accelerations])
        self._fixed = ~np.isnan(self._given)
        self._budget = np.full(self._distance.shape, _HALF) * np.abs(self._distance)
        # Samples of a motion may be equal, such as those around a peak: they leave it within the allowance.
        still = (self._distance == 0.0) & ~_evenly_timed(self._h)
        resting = np.zeros(self._positions.shape, dtype=bool)
        resting[:-1] |= still
        resting[1:] |= still
        self._values = np.where(self._fixed, self._given, 0.0)
        self._fixed |= resting
        self._solve(np.arange(self._positions.shape[1]))

    @property
    def rates(self) -> tuple[Array, Array]:
        """Velocities and accelerations (K, n)."""
        return self._values[0], self._values[1]

    @property
    def resting(self) -> _Mask:
        """(K - 1, n) segments between equal positions without velocity and acceleration."""
        moving = (self._values != 0.0).any(axis=0)
        return np.asarray((self._distance == 0.0) & ~moving[:-1] & ~moving[1:])

    def keep(self) -> None:
        """Move knots into their polygons until every segment stays between its waypoints."""
        joints = np.arange(self._positions.shape[1])
        for attempt in range(_ROUNDS + 1):
            leaving = self._leaving(joints)
            moved = np.zeros((len(self._times), len(joints)), dtype=bool)
            moved[:-1] |= leaving
            moved[1:] |= leaving
            if attempt == _ROUNDS:
                moved |= leaving.any(axis=0)
            moved &= ~self._fixed[:, :, joints].all(axis=0)
            concerned = moved.any(axis=0)
            joints, moved = joints[concerned], moved[:, concerned]
            if not len(joints):
                return
            self._move(joints, moved)
            if attempt < _SOLVED:
                self._solve(joints)

    def _leaving(self, joints: NDArray[np.intp]) -> _Mask:
        """(K - 1, m) segments that leave their waypoints."""
        values = self._values[:, :, joints]
        coefficients = hermite_coefficients(self._h[:, 0], self._positions[:, joints], values[0], values[1])
        below, above = _strays(np.ascontiguousarray(coefficients.transpose(1, 0, 2)), self._part)
        # Comparisons with what is not a number are false: such a segment leaves.
        return np.asarray(~(np.maximum(below, above) <= self._part * allowance(self._distance[:, joints])))

    def _solve(self, joints: NDArray[np.intp]) -> None:
        """Choose what is not fixed for the least squared jerk; joints with the same knots fixed together."""
        wanted = np.where(self._fixed, self._values, np.nan)
        patterns: dict[bytes, list[int]] = {}
        for j in joints.tolist():
            patterns.setdefault(np.packbits(self._fixed[:, :, j]).tobytes(), []).append(j)
        for same in patterns.values():
            chosen = least_jerk_derivatives(
                self._times, self._positions[:, same], wanted[0][:, same], wanted[1][:, same]
            )
            self._values[:, :, same] = np.stack(chosen)

    def _move(self, joints: NDArray[np.intp], moved: _Mask) -> None:
        """Move the open values of the knots ``moved`` (K, m) into their polygons."""
        fixed = self._fixed[:, :, joints]
        v, a = np.nan_to_num(self._values[:, :, joints], posinf=0.0, neginf=0.0)
        left, right = self._budgets(joints, v, a)
        slowest, fastest = _velocities(self._h, self._distance[:, joints], left, right)
        v = np.where(moved & ~fixed[0], np.clip(v, slowest, fastest), v)
        low, high = _accelerations(self._h, self._distance[:, joints], left, right, v)
        # Of two demands that exclude each other neither is met: between them.
        low, high = np.minimum(low, high), np.maximum(low, high)
        a = np.where(moved & ~fixed[1], np.clip(a, low, high), a)
        self._values[:, :, joints] = np.stack([v, a])
        self._fixed[:, :, joints] |= moved

    def _budgets(self, joints: NDArray[np.intp], v: Array, a: Array) -> tuple[Array, Array]:
        """(K - 1, m) what the knots at the begin and at the end of each segment may use of its middle.

        What a given velocity uses beyond its half is missing at the other end.
        """
        h, distance = self._h, self._distance[:, joints]
        sign = np.sign(distance)
        half = self._budget[:, joints]
        given = ~np.isnan(self._given[0][:, joints])
        at_begin = sign * (2.0 * v[:-1] * h + a[:-1] * h * h / 4.0)
        at_end = sign * (2.0 * v[1:] * h - a[1:] * h * h / 4.0)
        for_begin = np.where(given[1:], np.clip(2.0 * half - at_end, 0.0, half), half)
        for_end = np.where(given[:-1], np.clip(2.0 * half - at_begin, 0.0, half), half)
        return for_begin, for_end


def _evenly_timed(h: Array) -> _Mask:
    """(K - 1, 1) segments that are about as long as those beside them."""
    beside = np.pad(h[:, 0], 1, mode="edge")
    around = np.stack([beside[:-2], beside[1:-1], beside[2:]])
    return np.asarray(around.max(axis=0) <= EVEN * around.min(axis=0))[:, None]


def _velocities(h: Array, distance: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """(K, m) slowest and fastest signed velocity of each knot's polygon.

    Args:
        h: (K - 1, 1) durations.
        distance: (K - 1, m).
        left: (K - 1, m) budget of the knot where a segment begins.
        right: (K - 1, m) budget of the knot where it ends.
    """
    shape = (len(h) + 1, distance.shape[1])
    most, weight, total = np.full(shape, np.inf), np.zeros(shape), np.zeros(shape)
    for side, budget in ((slice(None, -1), left), (slice(1, None), right)):
        most[side] = np.minimum(most[side], budget / h)
        total[side] += budget / (h * h)
        weight[side] += 2.0 / h
    sign = np.zeros(shape)
    sign[:-1] += np.sign(distance)
    sign[1:] += np.sign(distance)
    sign[1:-1] = np.trunc(sign[1:-1] / 2.0)  # both segments have to go the same way
    both = np.zeros(shape, dtype=bool)
    both[1:-1] = True
    most = np.where(both, np.minimum(most, total / weight), most)
    return np.where(sign < 0.0, -most, 0.0), np.where(sign > 0.0, most, 0.0)


def _accelerations(h: Array, distance: Array, left: Array, right: Array, v: Array) -> tuple[Array, Array]:
    """(K, m) least and greatest acceleration of each knot's polygon at the velocities ``v`` (K, m)."""
    low, high = np.full(v.shape, -np.inf), np.full(v.shape, np.inf)
    sign = np.sign(distance)
    for side, budget, way in ((slice(None, -1), left, 1.0), (slice(1, None), right, -1.0)):
        # In the segment's own direction, and backwards in time where it ends at the knot.
        speed = sign * v[side]
        least, most = -4.0 * speed / h, 4.0 * (budget - 2.0 * speed * h) / (h * h)
        least, most = (least, most) if way > 0.0 else (-most, -least)
        least, most = np.where(sign > 0.0, least, -most), np.where(sign > 0.0, most, -least)
        none = sign == 0.0
        low[side] = np.maximum(low[side], np.where(none, 0.0, least))
        high[side] = np.minimum(high[side], np.where(none, 0.0, most))
    return low, high
