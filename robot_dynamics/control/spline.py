"""Minimum-jerk interpolation of joint waypoints: twice continuously differentiable, so accelerations exist.

Between two knots the path is the quintic that matches position, velocity and acceleration at both. Whatever
the waypoints leave open (velocities, accelerations, or both) is chosen so that the integral of the squared
jerk over the whole path is smallest. A single rest-to-rest segment is then the classic quintic; waypoints
that give positions only become the quintic spline with continuous fourth derivative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        return self._evaluate(k, (time - self.times[k]) / (self.times[k + 1] - self.times[k]))

    def _evaluate(self, segment: int, s: float) -> tuple[Array, Array, Array]:
        c0, c1, c2, c3, c4, c5 = self.coefficients[segment]
        h = self.times[segment + 1] - self.times[segment]
        position = c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))))
        velocity = c1 + s * (2.0 * c2 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))
        acceleration = 2.0 * c2 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))
        return position, velocity / h, acceleration / (h * h)

    def extremes(self) -> tuple[Array, Array, Array]:
        """Smallest and largest position and largest speed (n,), from 33 samples of every segment."""
        s = np.linspace(0.0, 1.0, 33)
        powers = s[:, None] ** np.arange(6)
        rates = np.zeros_like(powers)
        rates[:, 1:] = powers[:, :-1] * np.arange(1.0, 6.0)
        positions = np.einsum("si,kij->ksj", powers, self.coefficients)
        steps = np.diff(self.times)[:, None, None]
        speeds = np.abs(np.einsum("si,kij->ksj", rates, self.coefficients) / steps)
        return positions.min(axis=(0, 1)), positions.max(axis=(0, 1)), speeds.max(axis=(0, 1))


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
    times = np.asarray(times, dtype=float)
    if len(times) < 2 or not np.all(np.diff(times) > 0.0):
        raise TrajectoryError("a path needs at least two knots at strictly increasing times")
    slopes, curvatures = _fill_open_derivatives(times, positions, velocities, accelerations)
    h = np.diff(times)[:, None]
    ends = np.stack(
        [
            positions[:-1],
            h * slopes[:-1],
            h * h * curvatures[:-1],
            positions[1:],
            h * slopes[1:],
            h * h * curvatures[1:],
        ],
        axis=1,
    )
    return QuinticSpline(times, np.einsum("ij,kjn->kin", _HERMITE, ends))


def _fill_open_derivatives(
    times: Array, positions: Array, velocities: Array, accelerations: Array
) -> tuple[Array, Array]:
    """Velocities and accelerations at the knots with the open ones chosen for least squared jerk.

    The stationarity conditions couple neighbouring knots only: a block tridiagonal system with one 2 x 2
    block a knot, solved by block elimination, the same matrix for every joint.
    """
    knots, joints = positions.shape
    given = np.stack([velocities, accelerations], axis=1)
    open_ = np.isnan(given).any(axis=2)
    if not open_.any():
        return velocities, accelerations
    # Unknowns are scaled by one common time so that blocks stay well conditioned whatever the unit.
    unit = float(np.mean(np.diff(times)))
    scale = np.array([unit, unit * unit])
    diagonal = np.zeros((knots, 2, 2))
    upper = np.zeros((knots, 2, 2))
    lower = np.zeros((knots, 2, 2))
    right = np.zeros((knots, 2, joints))
    for k in range(knots - 1):
        h = (times[k + 1] - times[k]) / unit
        weight = np.array([1.0, h, h * h, 1.0, h, h * h])
        form = _JERK * np.outer(weight, weight) / h**5
        diagonal[k] += form[1:3, 1:3]
        diagonal[k + 1] += form[4:6, 4:6]
        upper[k] = form[1:3, 4:6]
        lower[k + 1] = form[4:6, 1:3]
        right[k] -= np.outer(form[1:3, 0], positions[k]) + np.outer(form[1:3, 3], positions[k + 1])
        right[k + 1] -= np.outer(form[4:6, 0], positions[k]) + np.outer(form[4:6, 3], positions[k + 1])
    for k, i in np.argwhere(~open_):
        diagonal[k, i] = upper[k, i] = lower[k, i] = 0.0
        diagonal[k, i, i] = 1.0
        right[k, i] = given[k, i] * scale[i]
    for k in range(1, knots):
        factor = np.linalg.solve(diagonal[k - 1].T, lower[k].T).T
        diagonal[k] -= factor @ upper[k - 1]
        right[k] -= factor @ right[k - 1]
    solution = np.zeros((knots, 2, joints))
    solution[-1] = np.linalg.solve(diagonal[-1], right[-1])
    for k in range(knots - 2, -1, -1):
        solution[k] = np.linalg.solve(diagonal[k], right[k] - upper[k] @ solution[k + 1])
    solution /= scale[None, :, None]
    return solution[:, 0], solution[:, 1]
