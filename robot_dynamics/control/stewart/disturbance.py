"""What the model does not know, such as a load that nobody has told: estimated from the standing error.

The estimate is an acceleration z that the law asks for beside its own, z' = ki · (pose error), and the exact
model makes forces of it. With the law's error equation the error then obeys e''' + kv e'' + kp e' + ki e = 0,
which needs ki < kp · kv to be stable and has real roots up to 4/27 · kp^1.5 when kv = 2 sqrt(kp).
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.spatial import Array


class DisturbanceObserver:
    """An integral with a declared bound.

    Args:
        gain: ki [1/s³]; 0 leaves the estimate at zero.
        bounds: of the magnitudes of its linear [m/s²] and of its angular part [rad/s²].

    Attributes:
        estimate: (6,) acceleration, linear and angular, base frame.
        frozen: the forces of the last cycle were cut, so that the error tells nothing of a disturbance.
    """

    LONGEST = 0.05
    """A longer time between two states is a gap, over which nothing is integrated [s]."""

    def __init__(self, gain: float, bounds: tuple[float, float]) -> None:
        self.gain, self.bounds = gain, bounds
        self.estimate: Array = np.zeros(6)
        self.frozen = False
        self._time = -math.inf

    def update(self, time: float, error: Array) -> Array:
        """The estimate at ``time`` [s] with the pose error (6,), linear and rotation vector [m, rad]."""
        elapsed, self._time = time - self._time, time
        if self.gain > 0.0 and not self.frozen and 0.0 < elapsed < self.LONGEST:
            self.estimate = bounded(self.estimate + (self.gain * elapsed) * error, self.bounds)
        self.frozen = False
        return self.estimate

    def like(self, other: DisturbanceObserver) -> None:
        """Go on with the estimate of another one, within the own bounds."""
        self.estimate, self._time = bounded(other.estimate, self.bounds), other._time
        self.frozen = other.frozen
        if self.gain == 0.0:
            self.estimate = np.zeros(6)


def bounded(estimate: Array, bounds: tuple[float, float]) -> Array:
    """``estimate`` (6,) with linear and angular part no longer than ``bounds``, their directions kept."""
    result: Array = estimate.copy()
    for part, most in ((result[:3], bounds[0]), (result[3:], bounds[1])):
        size = math.sqrt(float(part @ part))
        if size > most:
            part *= most / size
    return result
