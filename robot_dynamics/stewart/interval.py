"""Numbers that are functions of time within known bounds: interval arithmetic with a derivative beside it.

An ``Interval`` stands for a function f on an interval around t_m, or for as many of both as its arrays are
long: its value and slope at t_m, and the largest distance of f and f' from these anywhere on the interval.
The operations of arithmetic keep this true. A formulation for any scalar, such as the exact model, therefore
gives bounds of all its values between two samples. By the mean value theorem the deviation of f is also at
most half the width of the interval times the greatest |f'|, a bound of second order.
"""

from __future__ import annotations

from math import perm
from typing import Any

import numpy as np

from robot_dynamics.spatial import Array


class Interval:
    """A function on an interval of time.

    Attributes:
        value: (N,) f(t_m).
        radius: (N,) greatest |f - f(t_m)|, infinite where nothing is known.
        slope: (N,) f'(t_m).
        slope_radius: (N,) greatest |f' - f'(t_m)|.
        half: (N,) half the width of the interval [s].
    """

    __slots__ = ("half", "radius", "slope", "slope_radius", "value")
    __array_ufunc__ = None  # numpy's numbers leave the arithmetic to this class

    def __init__(self, value: Array, radius: Array, slope: Array, slope_radius: Array, half: Array) -> None:
        self.value, self.radius = value, radius
        self.slope, self.slope_radius = slope, slope_radius
        self.half = half

    def tight(self) -> Interval:
        """The same with the smaller of the two bounds of its deviation."""
        mean = self.half * (np.abs(self.slope) + self.slope_radius)
        # fmin: where a slope is not known, the other bound is.
        return Interval(self.value, np.fmin(self.radius, mean), self.slope, self.slope_radius, self.half)

    def __add__(self, other: Any) -> Interval:
        if isinstance(other, Interval):
            return Interval(
                self.value + other.value,
                self.radius + other.radius,
                self.slope + other.slope,
                self.slope_radius + other.slope_radius,
                self.half,
            )
        return Interval(self.value + other, self.radius, self.slope, self.slope_radius, self.half)

    __radd__ = __add__

    def scaled(self, factor: float) -> Interval:
        """A multiple; an interval also for the factor 0."""
        size = abs(factor)
        return Interval(
            factor * self.value,
            size * self.radius,
            factor * self.slope,
            size * self.slope_radius,
            self.half,
        )

    def __neg__(self) -> Interval:
        return Interval(-self.value, self.radius, -self.slope, self.slope_radius, self.half)

    def __sub__(self, other: Any) -> Interval:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Interval:
        return self.__neg__().__add__(other)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Interval):
            return 0.0 if other == 0.0 else self.scaled(other)
        a, b = np.abs(self.value), np.abs(other.value)
        reach_a, reach_b = a + self.radius, b + other.radius
        return Interval(
            self.value * other.value,
            a * other.radius + self.radius * reach_b,
            self.slope * other.value + self.value * other.slope,
            np.abs(self.slope) * other.radius
            + self.slope_radius * reach_b
            + np.abs(other.slope) * self.radius
            + other.slope_radius * reach_a,
            self.half,
        )

    __rmul__ = __mul__

    def reciprocal(self) -> Interval:
        """1/f; nothing is known of it where f may vanish."""
        size = np.abs(self.value)
        least = size - self.radius
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse, steepest = 1.0 / self.value, 1.0 / (least * least)
            square = inverse * inverse
            slope_radius = self.slope_radius * steepest + np.abs(self.slope) * (
                self.radius * (2.0 * size - self.radius) * square * steepest
            )
            radius = self.radius / (size * least)
        known = least > 0.0
        return Interval(
            inverse,
            np.where(known, radius, np.inf),
            -self.slope * square,
            np.where(known, slope_radius, np.inf),
            self.half,
        ).tight()

    def __truediv__(self, other: Any) -> Any:
        return self * (other.reciprocal() if isinstance(other, Interval) else 1.0 / other)

    def __rtruediv__(self, other: Any) -> Any:
        return other * self.reciprocal()

    def sqrt(self) -> Interval:
        """Square root of what is never negative; nothing is known of its slope where f may vanish."""
        least = np.maximum(self.value - self.radius, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            root, low = np.sqrt(np.maximum(self.value, 0.0)), np.sqrt(least)
            radius = np.maximum(root - low, np.sqrt(self.value + self.radius) - root)
            slope = self.slope / (2.0 * root)
            slope_radius = self.slope_radius / (2.0 * low) + np.abs(slope) * radius / low
        known = least > 0.0
        return Interval(
            root,
            radius,
            slope,
            np.where(known, slope_radius, np.inf),
            self.half,
        ).tight()

    def cosine_and_sine(self) -> tuple[Interval, Interval]:
        """Of an angle [rad]."""
        c, s = np.cos(self.value), np.sin(self.value)
        reach = np.abs(self.slope) + self.slope_radius
        bow = 0.5 * self.radius * self.radius

        def interval(value: Array, rate: Array) -> Interval:
            radius = np.minimum(np.abs(rate) * self.radius + bow, 2.0)
            turned = np.minimum(np.abs(value) * self.radius + bow, 2.0)
            slope_radius = np.abs(rate) * self.slope_radius + turned * reach
            return Interval(value, radius, rate * self.slope, slope_radius, self.half)

        return interval(c, -s), interval(s, c)


def polynomials(coefficients: Array, centers: Array, halves: Array, widths: Array) -> tuple[Array, Array]:
    """Polynomials and their first three derivatives by time on intervals: middle and deviation.

    Args:
        coefficients: (6, m, N) of the powers of s, which runs from 0 to 1; m polynomials on each interval.
        centers: (N,) of the intervals of s.
        halves: (N,) half the widths of these.
        widths: (N,) how long s takes from 0 to 1 [s].

    Returns:
        Values and greatest deviations, (4, m, N) each.
    """
    shifted = coefficients.copy()
    for row in range(5):  # Horner's scheme gives the coefficients of the powers of s - center
        for power in range(4, row - 1, -1):
            shifted[power] += centers * shifted[power + 1]
    sizes = np.abs(shifted)
    values, deviations = np.empty((2, 4, *coefficients.shape[1:]))
    for order in range(4):
        deviation = np.zeros(coefficients.shape[1:])
        for power in range(5, order, -1):
            deviation = (deviation + perm(power, order) * sizes[power]) * halves
        scale = widths**order
        values[order], deviations[order] = perm(order, order) * shifted[order] / scale, deviation / scale
    return values, deviations


def joined(values: Array, deviations: Array, size: int) -> tuple[Array, Array]:
    """Bounds on groups of ``size`` intervals that follow each other, from those (4, m, N) of each.

    The values are those of the group's middle interval; N is a multiple of ``size``.
    """
    groups = (4, values.shape[1], -1, size)
    low, high = (
        (values - deviations).reshape(groups).min(axis=3),
        (values + deviations).reshape(groups).max(axis=3),
    )
    middle = values.reshape(groups)[..., size // 2]
    return middle, np.maximum(high - middle, middle - low)


def motion_intervals(values: Array, deviations: Array, half: Array) -> list[list[Interval]]:
    """Intervals of m coordinates, their rates and their accelerations.

    Args:
        values: (4, m, N) with three derivatives, see :func:`polynomials`.
        deviations: (4, m, N).
        half: (N,) how far the interval reaches to either side of where the values are [s].
    """
    return [
        [
            Interval(values[k, i], deviations[k, i], values[k + 1, i], deviations[k + 1, i], half).tight()
            for i in range(values.shape[1])
        ]
        for k in range(3)
    ]
