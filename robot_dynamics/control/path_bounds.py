"""Bounds of piecewise polynomials on whole intervals, from their Bernstein coefficients.

A polynomial stays between its least and greatest Bernstein coefficient, and its first and last coefficient
are its values at the ends. Halving an interval brings both together with the square of its width, so a few
halvings of the intervals that matter give extremes of a whole path. No moment is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb, perm

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.spatial import Array

DEGREE = 5
PRECISION = 1e-10
"""Largest distance of extremes from those of the path, relative to its largest coefficient."""
HALVINGS = 45


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest values of n joints over a path, and when they occur.

    Attributes:
        lowest: (n,).
        highest: (n,).
        lowest_time: (n,) [s].
        highest_time: (n,) [s].
    """

    lowest: Array
    highest: Array
    lowest_time: Array
    highest_time: Array

    @property
    def largest(self) -> Array:
        """(n,) largest magnitude."""
        return np.maximum(self.highest, -self.lowest)

    @property
    def largest_time(self) -> Array:
        """(n,) when the magnitude is largest [s]."""
        return np.where(self.highest >= -self.lowest, self.highest_time, self.lowest_time)


def bernstein(coefficients: Array, order: int = 0) -> Array:
    """(6 - order, ...) Bernstein coefficients of a derivative by s of polynomials in s.

    Args:
        coefficients: (6, ...) of the powers of s, which runs from 0 to 1.
        order: of the derivative, 0 to 5.
    """
    flat = coefficients.reshape(DEGREE + 1, -1)
    return np.asarray((_to_bernstein(order) @ flat).reshape(-1, *coefficients.shape[1:]))


@cache
def _to_bernstein(order: int) -> Array:
    degree = DEGREE - order
    change = np.array([[comb(i, j) / comb(degree, j) for j in range(degree + 1)] for i in range(degree + 1)])
    factors = np.array([perm(j + order, order) for j in range(degree + 1)], dtype=float)
    return np.hstack([np.zeros((degree + 1, order)), change * factors])


@cache
def _halving(degree: int) -> Array:
    """(2, degree + 1, degree + 1) Bernstein coefficients of both halves (de Casteljau)."""
    left = np.array(
        [[comb(i, j) / 2.0**i if j <= i else 0.0 for j in range(degree + 1)] for i in range(degree + 1)]
    )
    return np.stack([left, left[::-1, ::-1]])


@cache
def subdivision(degree: int, levels: int) -> Array:
    """(2^levels (degree + 1), degree + 1) Bernstein coefficients of all equal parts of [0, 1]."""
    parts = np.eye(degree + 1)[None]
    for _ in range(levels):
        parts = np.einsum("hij,pjk->phik", _halving(degree), parts).reshape(-1, degree + 1, degree + 1)
    return np.asarray(parts.reshape(-1, degree + 1))


def hulls(coefficients: Array, order: int = 0, levels: int = 0) -> tuple[Array, Array]:
    """Lower and upper bounds (...) of each polynomial, or of a derivative by s.

    Args:
        coefficients: (6, ...) of the powers of s.
        order: of the derivative.
        levels: how often the interval is halved: each makes the bounds about four times as tight.
    """
    rows = bernstein(coefficients, order).reshape(DEGREE + 1 - order, -1)
    if levels:
        rows = subdivision(DEGREE - order, levels) @ rows
    shape = coefficients.shape[1:]
    return rows.min(axis=0).reshape(shape), rows.max(axis=0).reshape(shape)


def extremes(times: Array, coefficients: Array, order: int = 0) -> Extremes:
    """Extremes of a piecewise quintic path, or of its derivatives by time.

    Args:
        times: (K,) knots [s].
        coefficients: (K - 1, 6, n) of the powers of (t - times[k]) / (times[k + 1] - times[k]).
        order: 0: position, 1: velocity, 2: acceleration.
    """
    count, _, joints = coefficients.shape
    steps = np.diff(times)
    by_power = np.ascontiguousarray(coefficients.transpose(1, 0, 2)).reshape(DEGREE + 1, -1)
    rows = bernstein(by_power, order)
    if order:
        rows /= np.repeat(steps, joints) ** order
    joint = np.tile(np.arange(joints), count)
    high, high_row, high_place = _maxima(rows, joint, joints)
    low, low_row, low_place = _maxima(-rows, joint, joints)
    when = [
        times[row // joints] + place * steps[row // joints]
        for row, place in ((low_row, low_place), (high_row, high_place))
    ]
    return Extremes(-low, high, when[0], when[1])


def _maxima(rows: Array, group: NDArray[np.intp], count: int) -> tuple[Array, NDArray[np.intp], Array]:
    """Largest value of each group of polynomials, with the row and the place in it where it is reached.

    Branch and bound: a part whose hull does not exceed what is reached elsewhere is left.

    Args:
        rows: (d + 1, M) Bernstein coefficients.
        group: (M,) of each row.
        count: number of groups.
    """
    best, best_row, best_place = np.full(count, -np.inf), np.zeros(count, dtype=np.intp), np.zeros(count)
    row = np.arange(rows.shape[1])
    begin, width = np.zeros(rows.shape[1]), 1.0
    size = np.zeros(count)
    np.maximum.at(size, group, np.abs(rows).max(axis=0))
    halving = _halving(len(rows) - 1)
    for _ in range(HALVINGS):
        reached = np.maximum(rows[0], rows[-1])
        found = np.full(count, -np.inf)
        np.maximum.at(found, group, reached)
        for where in np.flatnonzero((reached == found[group]) & (found > best)[group])[::-1].tolist():
            at = group[where]
            best[at], best_row[at] = reached[where], row[where]
            best_place[at] = begin[where] + (width if rows[-1, where] > rows[0, where] else 0.0)
        open_ = rows.max(axis=0) > (best + PRECISION * size)[group]
        if not open_.any():
            break
        kept = rows[:, open_]
        rows = np.concatenate([halving[0] @ kept, halving[1] @ kept], axis=1)
        group, row = np.tile(group[open_], 2), np.tile(row[open_], 2)
        width *= 0.5
        begin = np.concatenate([begin[open_], begin[open_] + width])
    return best, best_row, best_place
