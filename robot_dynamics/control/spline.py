"""Minimum-jerk interpolation of joint waypoints: twice continuously differentiable, so accelerations exist.

Between two knots the path is the quintic that matches position, velocity and acceleration at both. Whatever
the waypoints leave open (velocities, accelerations, or both) is chosen so that the integral of the squared
jerk over the whole path is smallest. A single rest-to-rest segment is then the classic quintic; waypoints
that give positions only become the quintic spline with continuous fourth derivative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.path_bounds import extremes
from robot_dynamics.control.tridiagonal import product, solve_symmetric
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array

# Coefficients of c0 + c1 s + ... + c5 s^5 on s in [0, 1] from (p0, v0, a0, p1, v1, a1), derivatives with
# respect to s.
_HERMITE = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)


def _jerk_form() -> Array:
    """(6, 6) quadratic form J with  integral of jerk² ds = xᵀ J x,  x = (p0, v0, a0, p1, v1, a1)."""
    third = np.zeros((6, 6))
    for i in range(3, 6):
        for j in range(3, 6):
            factor = i * (i - 1) * (i - 2) * j * (j - 1) * (j - 2)
            third[i, j] = factor / (i + j - 5)
    return np.asarray(_HERMITE.T @ third @ _HERMITE)


_JERK = _jerk_form()
_SECOND = np.array([2.0, 6.0, 12.0, 20.0])
# Segments computed together: what belongs to them stays in the caches.
_CHUNK = 1024


@dataclass(frozen=True)
class QuinticSpline:
    """A piecewise quintic path of n joints.

    Attributes:
        times: (K,) [s], strictly increasing knot times.
        coefficients: (K - 1, 6, n), of the powers of (t - times[k]) / (times[k+1] - times[k]).
    """

    times: Array
    coefficients: Array

    def sample(self, time: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n,) at ``time`` [s]; at rest beyond the ends."""
        if time <= self.times[0]:
            return self._evaluate(0, 0.0)
        if time >= self.times[-1]:
            return self._evaluate(len(self.times) - 2, 1.0)
        k = int(np.searchsorted(self.times, time, side="right")) - 1
        return self._evaluate(k, float((time - self.times[k]) / (self.times[k + 1] - self.times[k])))

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (..., n) at ``times`` (...) [s], held beyond the ends."""
        k = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.times) - 2)
        h = np.diff(self.times)[k]
        s = np.clip((times - self.times[k]) / h, 0.0, 1.0)[..., None]
        powers = s ** np.arange(6)
        rows = [powers, powers[..., :-1] * np.arange(1.0, 6.0), powers[..., :-2] * _SECOND]
        found = [
            np.einsum("...p,...pn->...n", row, self.coefficients[k][..., order:, :]) / h[..., None] ** order
            for order, row in enumerate(rows)
        ]
        return found[0], found[1], found[2]

    def _evaluate(self, segment: int, s: float) -> tuple[Array, Array, Array]:
        h = float(self.times[segment + 1] - self.times[segment])
        s2 = s * s
        s3 = s2 * s
        s4 = s2 * s2
        powers = np.array(
            (
                (1.0, s, s2, s3, s4, s4 * s),
                (0.0, 1.0, 2.0 * s, 3.0 * s2, 4.0 * s3, 5.0 * s4),
                (0.0, 0.0, 2.0, 6.0 * s, 12.0 * s2, 20.0 * s3),
            )
        )
        position, velocity, acceleration = powers.dot(self.coefficients[segment])
        return position, velocity / h, acceleration / (h * h)

    def extremes(self) -> tuple[Array, Array, Array]:
        """Smallest and largest position and largest speed (n,) of the whole path."""
        positions = extremes(self.times, self.coefficients)
        return positions.lowest, positions.highest, extremes(self.times, self.coefficients, 1).largest


def hermite_spline(times: Array, begins: Array, ends: Array) -> QuinticSpline:
    """The quintics with given ends, whose accelerations need not agree from one to the next.

    Args:
        times: (K,) [s], strictly increasing.
        begins: (K - 1, 3, n) positions, velocities and accelerations at the beginning of each.
        ends: (K - 1, 3, n) likewise at the end.
    """
    durations = np.diff(times)[:, None, None]
    scales = durations ** np.arange(3)[:, None]
    given = np.concatenate([begins * scales, ends * scales], axis=1)
    return QuinticSpline(times, np.asarray(_HERMITE @ given))


def minimum_jerk_spline(
    times: Array, positions: Array, velocities: Array, accelerations: Array
) -> QuinticSpline:
    """The smoothest path through the knots.

    Args:
        times: (K,) [s], strictly increasing, K >= 2.
        positions: (K, n) [rad or m].
        velocities: (K, n) [rad/s or m/s]; a row of NaN leaves the knot's velocity open.
        accelerations: (K, n) [rad/s² or m/s²]; a row of NaN leaves the knot's acceleration open.

    Raises:
        TrajectoryError: fewer than two knots, or times that do not increase.
    """
    times = check_knots(times)
    with np.errstate(all="ignore"):
        slopes, curvatures = least_jerk_derivatives(times, positions, velocities, accelerations)
        coefficients = hermite_coefficients(np.diff(times), positions, slopes, curvatures)
    spline = QuinticSpline(times, coefficients)
    check_finite(spline)
    return spline


def check_knots(times: Array) -> Array:
    """``times`` (K,) [s] as numbers; TrajectoryError unless there are two at least and they increase."""
    times = np.asarray(times, dtype=float)
    if len(times) < 2 or not np.all(np.diff(times) > 0.0):
        raise TrajectoryError("a path needs at least two knots at strictly increasing times")
    return times


def hermite_coefficients(h: Array, positions: Array, velocities: Array, accelerations: Array) -> Array:
    """(K - 1, 6, n) coefficients of the quintics between knots that lie ``h`` (K - 1,) apart."""
    count, joints = positions.shape
    coefficients = np.empty((count - 1, 6, joints))
    for first in range(0, count - 1, _CHUNK):
        left = slice(first, min(first + _CHUNK, count - 1))
        right = slice(left.start + 1, left.stop + 1)
        step = h[left, None]
        ends = [
            scale * values[side]
            for side in (left, right)
            for scale, values in ((1.0, positions), (step, velocities), (step * step, accelerations))
        ]
        flat = _HERMITE @ np.concatenate(ends).reshape(6, -1)
        coefficients[left] = flat.reshape(6, -1, joints).transpose(1, 0, 2)
    return coefficients


def check_finite(spline: QuinticSpline) -> None:
    """TrajectoryError unless position, velocity and acceleration are finite everywhere on the path.

    Comparisons with a NaN are false, whatever the limit, so this comes before every one of them.
    """
    c, h = spline.coefficients, np.diff(spline.times)[:, None]
    with np.errstate(all="ignore"):
        if np.isfinite(120.0 * max(c.max(), -c.min()) / min(1.0, h.min() ** 2)):
            return
        size = np.abs(c).sum(axis=1)
        wrong = np.argwhere(~np.isfinite(20.0 * size * np.maximum(1.0, 1.0 / (h * h))))
    if len(wrong):
        k, joint = wrong[0].tolist()
        raise TrajectoryError(
            f"value {joint} has no finite position, velocity and acceleration between knots {k} and {k + 1},"
            f" {h[k, 0]:.3g} s apart; give smaller numbers, or more time between them"
        )


def least_jerk_derivatives(
    times: Array, positions: Array, velocities: Array, accelerations: Array
) -> tuple[Array, Array]:
    """Velocities and accelerations at the knots with the open ones chosen for least squared jerk.

    The stationarity conditions couple neighbouring knots only: a block tridiagonal system with one 2 x 2
    block a knot, the same matrix for every joint.
    """
    given = np.stack([velocities, accelerations]).transpose(0, 2, 1)
    open_ = np.isnan(given).any(axis=1)
    if not open_.any():
        return velocities, accelerations
    # Unknowns are scaled by one common time so that blocks stay well conditioned whatever the unit.
    unit = float(np.mean(np.diff(times)))
    scale = np.array([unit, unit * unit])[:, None, None]
    h = np.diff(times) / unit
    diagonal = np.zeros((2, 2, len(times)))
    upper = np.empty((2, 2, len(h)))
    right = np.zeros(given.shape)
    step = np.diff(positions, axis=0).T
    # The jerk's quadratic form in the values at both ends of a segment takes their places' difference alone.
    for i in (0, 1):
        right[i, :, :-1] += _JERK[1 + i, 0] * h ** (i - 4.0) * step
        right[i, :, 1:] += _JERK[4 + i, 0] * h ** (i - 4.0) * step
        for j in (0, 1):
            power = h ** (i + j - 3.0)
            diagonal[i, j, :-1] += _JERK[1 + i, 1 + j] * power
            diagonal[i, j, 1:] += _JERK[4 + i, 4 + j] * power
            upper[i, j] = _JERK[1 + i, 4 + j] * power
    # What is given is known: its column goes to the right-hand side, its row becomes an identity.
    k = np.flatnonzero(~open_.all(axis=0))
    known = np.where(open_[:, None, k], 0.0, given[:, :, k] * scale)
    right[:, :, k] -= product(diagonal[:, :, k], known)
    after, before = k < len(h), k > 0
    right[:, :, k[after] + 1] -= product(upper[:, :, k[after]].swapaxes(0, 1), known[:, :, after])
    right[:, :, k[before] - 1] -= product(upper[:, :, k[before] - 1], known[:, :, before])
    right[:, :, k] = np.where(open_[:, None, k], right[:, :, k], known)
    upper *= open_[:, None, :-1] & open_[None, :, 1:]
    diagonal *= open_[:, None] & open_[None, :]
    diagonal[[0, 1], [0, 1]] += ~open_
    slopes, curvatures = solve_symmetric(diagonal, upper, right) / scale
    return slopes.T, curvatures.T
