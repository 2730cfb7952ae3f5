"""How a path runs from its start to its end: by a quintic, or with parabolic blends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.inputs.records import check_fields, number, or_none
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class TimeLaw:
    """How a fraction runs from 0 to 1.

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
        """Where its polynomials end and begin [s]."""
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
