"""Clock of the sender of a stream: rate and offset from the times of its poses, which scatter.

A sender with a constant rate either computes a pose for its tick and sends it some time later, or computes it
for the moment of sending. In the first case the motion is smooth over the ticks, in the second over the
times.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from robot_dynamics.spatial import Array

MEMORY = 128
"""Number of poses after which older ones are forgotten."""
ASTRAY, RESTART = 0.4, 8
"""Mean deviation in periods beyond which the sender has another rate, and the memory that finds it."""
SLOW = 1.0 / 16.0
"""Share of a new deviation in their mean."""
RARE = 8.0
"""Cost of a lost pose, in squared standard deviations: one of fifty is lost."""
LEAST_STEP, LEAST_SHARE = 1e-4, 0.1
"""Least time between the first two poses [s]; least step of a tick, in periods, and factor on a period."""
LEAST_JITTER = 0.05
"""Smallest standard deviation of the times that counts, in periods."""
LEAST_NOISE = 1e-5
"""The same of the poses [m, rad]."""
PREFERRED = 1.5
"""Factor by which one reading of the times is smoother when it replaces the other."""


class SenderClock:
    """Estimates when a sender with a constant rate has meant its poses.

    Recursive least squares of a straight line through the times over the numbers of the poses, with a memory
    that grows to ``MEMORY`` (Kalata 1984, alpha-beta filter). Missing poses are noticed by time and place.

    Attributes:
        period: time between two poses [s]; 0 before the second.
        on_ticks: whether the poses follow the ticks, and not the times, more smoothly.
    """

    def __init__(self) -> None:
        self.on_ticks = True
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._count, self._tick, self._mean, self._square, self._noise = 0, 0.0, 0.0, 0.0, 0.0
        self._last: deque[tuple[float, float, Array]] = deque(maxlen=4)
        self._bends = [0.0, 0.0]
        self.period = 0.0

    @property
    def jitter(self) -> float:
        """Root mean square of the deviations of the times from the ticks [s]."""
        return math.sqrt(self._square)

    def tick(self, time: float, place: Array) -> float:
        """Tick [s] of a pose with a ``time`` [s] that scatters.

        Args:
            time: of sending or arrival.
            place: (6,) position and rotation vector from any fixed pose [m, rad].
        """
        if self._count == 1 and time - self._tick <= LEAST_STEP:
            return self._tick  # in a burst; nothing is known of the period yet
        self._count = count = min(self._count + 1, MEMORY)
        if count <= 2:
            self.period = time - self._tick if count == 2 else 0.0
            self._tick = time
        else:
            lost = self._steps(time, place) if count > RESTART else 1
            self._take(time, lost, count)
        self._last.append((time, self._tick, place))
        self._compare()
        return self._tick

    def _take(self, time: float, steps: int, count: int) -> None:
        late = time - self._tick - steps * self.period
        # Poses of a burst come at the same time.
        step = steps * self.period + 2.0 * (2 * count - 1) / (count * (count + 1)) * late
        self._tick += max(step, LEAST_SHARE * self.period)
        change = 6.0 / (count * (count + 1)) * late / steps
        self.period = max(self.period + change, LEAST_SHARE * self.period)
        share = max(SLOW, 1.0 / count)
        self._mean += share * (late - self._mean)
        self._square += share * (late * late - self._square)
        if abs(self._mean) > ASTRAY * self.period:
            self._count, self._mean = RESTART, 0.0

    def _steps(self, time: float, place: Array) -> int:
        """Number of ticks since the last pose that explains time and place best."""
        spread, noise = max(self.jitter, LEAST_JITTER * self.period), max(self._noise, LEAST_NOISE)
        best, chosen, off = math.inf, 1, 0.0
        nearest = round((time - self._tick) / self.period)
        for steps in range(max(1, nearest - 1), max(1, nearest + 1) + 1):
            late = time - self._tick - steps * self.period
            error = float(np.abs(place - self._expected(self._tick + steps * self.period)).max())
            cost = (late / spread) ** 2 + RARE * (steps - 1)
            if self.on_ticks:  # places that follow the times say nothing about the ticks
                cost += (error / noise) ** 2
            if cost < best:
                best, chosen, off = cost, steps, error
        self._noise += SLOW * (off - self._noise)
        return chosen

    def _expected(self, time: float) -> Array:
        """Place (6,) at a time [s] by the parabola through the last three."""
        (_, a, p), (_, b, q), (_, c, r) = list(self._last)[-3:]
        u, v, w = time - a, time - b, time - c
        return np.asarray(
            p * (v * w / ((a - b) * (a - c)))
            + q * (u * w / ((b - a) * (b - c)))
            + r * (u * v / ((c - a) * (c - b)))
        )

    def _compare(self) -> None:
        """Compare the third differences of the places over the times and over the ticks."""
        if len(self._last) < 4:
            return
        for k in (0, 1):
            t = [one[k] for one in self._last]
            row = [one[2] for one in self._last]
            for order in (1, 2, 3):
                row = [(row[i + 1] - row[i]) / max(t[i + order] - t[i], 1e-4) for i in range(len(row) - 1)]
            self._bends[k] += SLOW * (float(row[0] @ row[0]) - self._bends[k])
        over_times, over_ticks = self._bends
        worse = over_ticks if self.on_ticks else over_times
        other = over_times if self.on_ticks else over_ticks
        if worse > PREFERRED**2 * other:
            self.on_ticks = not self.on_ticks
