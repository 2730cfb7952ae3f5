"""Clock of the sender of a stream: rate and offset from the times of its poses, which scatter.

A sender with a constant rate either computes a pose for its tick and sends it some time later, or computes it
for the moment of sending. In the first case the motion is smooth over the ticks, in the second over the
times.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise

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
STALLED = 20.0
"""Greatest cost of a pose that is late, where its place says which one it is."""
OUTLYING = 3.0
"""Deviations beyond so many standard deviations count as these."""
GAPS = 0.75
"""Share of the poses before which others are missing, beyond which the sender has another rate."""
MOST_LOST, FARTHEST = 3, 64
"""Numbers of missing poses: most that count at once in their mean; most between two poses."""
LEAST_STEP, LEAST_SHARE = 1e-4, 0.1
"""Least time between the first two poses [s]; least step of a tick, in periods, and factor on a period."""
SAME_RATE = 0.5
"""Deviation of the first interval after a gap, in periods, within which the rate is the one before."""
BURST = 0.2
"""Poses nearer to each other, in periods, have waited for each other."""
TOGETHER = 0.5
"""Poses nearer to each other, in periods, may be those that were taken for lost."""
LEAST_JITTER = 0.05
"""Smallest standard deviation of the times that counts, in periods."""
LEAST_NOISE = 1e-5
"""The same of the poses [m, rad]."""
PREFERRED, MOST_PREFERRED = 1.5, 4.5
"""Factor by which one reading of the times is smoother when it replaces the other; its most for one pose."""

DRIFT = 2e-4
"""Rate at which two clocks move apart, at most."""
STEPPED, NOTICED = 0.02, 1.0
"""Excess of all delays by which a clock has been set, after so long [s]."""


class LeastDelay:
    """Difference of two clocks by messages from one to the other: the least one lately.

    A busy computer only lengthens ways. So the least of the differences is that of the clocks and of the
    shortest way, and it does not move with the load.
    """

    def __init__(self) -> None:
        self._least, self._at, self._near = math.inf, 0.0, 0.0

    def note(self, difference: float, now: float) -> float:
        """Take the difference [s] of a message at ``now`` [s]; returns the least one."""
        least = self._least + DRIFT * max(now - self._at, 0.0)
        if difference < least + STEPPED:
            self._near = now
        elif now - self._near > NOTICED:
            least = difference
        self._least, self._at = min(difference, least), now
        return self._least


class SenderClock:
    """Estimates when a sender with a constant rate has meant its poses.

    Recursive least squares of a straight line through the times over the numbers of the poses, with a memory
    that grows to ``MEMORY`` (Kalata 1984, alpha-beta filter). Missing poses are noticed by time and place.
    Outlying deviations are cut (Huber 1964), so a sender that is late once changes neither rate nor ticks.

    Attributes:
        period: time between two poses [s]; 0 before the second.
        known: the same before a gap; 0 where there has been none.
        on_ticks: whether the poses follow the ticks, and not the times, more smoothly.
    """

    def __init__(self) -> None:
        self.on_ticks = True
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.known = 0.0
        self._score = 0.0
        self._begin()

    def pause(self) -> None:
        """Begin anew after a gap; a rate that is found again is the one before."""
        self.known = self.period or self.known
        self._begin()

    def _begin(self) -> None:
        self._count, self._tick, self._mean, self._square, self._noise = 0, 0.0, 0.0, 0.0, 0.0
        self._missing, self._gaps, self._spare = 0.0, 0.0, 0
        self._last: deque[tuple[float, float, Array]] = deque(maxlen=4)
        self.period = 0.0

    @property
    def jitter(self) -> float:
        """Root mean square of the deviations of the times from the ticks [s]."""
        return math.sqrt(self._square)

    @property
    def _spread(self) -> float:
        return max(self.jitter, LEAST_JITTER * self.period)

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
            if count == 2 and abs(self.period - self.known) < SAME_RATE * self.known:
                self.period, self._count = self.known, RESTART
        else:
            steps = self._steps(time, place) if count > RESTART else 1
            self._take(time, steps, count)
        while self._last and self._last[-1][1] >= self._tick:
            self._last.pop()  # more poses had been taken for lost than were
        self._last.append((time, self._tick, place))
        self._compare()
        return self._tick

    def _take(self, time: float, steps: int, count: int) -> None:
        late = time - self._tick - steps * self.period
        known = count > RESTART
        cut = min(max(late, -OUTLYING * self._spread), OUTLYING * self._spread) if known else late
        # Poses of a burst come at the same time.
        step = steps * self.period + 2.0 * (2 * count - 1) / (count * (count + 1)) * cut
        self._tick += max(step, LEAST_SHARE * self.period) if steps > 0 else step
        change = 6.0 / (count * (count + 1)) * cut / max(steps, 1)
        self.period = max(self.period + change, LEAST_SHARE * self.period)
        share = max(SLOW, 1.0 / count)
        self._mean += share * (min(max(late, -self.period), self.period) - self._mean)
        self._square += share * (cut * cut - self._square)
        self._missing += SLOW * (min(max(steps - 1, -MOST_LOST), MOST_LOST) - self._missing)
        self._gaps += SLOW * (min(max(steps - 1, -1), 1) - self._gaps)
        self._spare = max(self._spare + steps - 1, 0) if steps != 1 or late < -BURST * self.period else 0
        if abs(self._mean) > ASTRAY * self.period:
            self._count, self._mean = RESTART, 0.0
        elif self._gaps > GAPS:
            self.period *= 1.0 + self._missing / self._gaps
            self._missing, self._gaps, self._spare, self._count = 0.0, 0.0, 0, RESTART

    def _steps(self, time: float, place: Array) -> int:
        """Number of ticks since the last pose that explains time and place best.

        It is below 1 where poses that were taken for lost come later, in a burst: together.
        """
        spread, noise = self._spread, max(self._noise, LEAST_NOISE)
        best, chosen, off = math.inf, 1, 0.0
        nearest = min(round((time - self._tick) / self.period), FARTHEST)
        together = time - self._last[-1][0] < TOGETHER * self.period
        for steps in range(1 - self._spare if together else 1, max(1, nearest + 1) + 1):
            late = time - self._tick - steps * self.period
            error = float(np.abs(place - self._expected(self._tick + steps * self.period)).max())
            cost = (late / spread) ** 2
            if self.on_ticks:  # places that follow the times say nothing about the ticks
                cost = min(cost, STALLED) + (error / noise) ** 2
            cost += RARE * max(steps - 1, 0)
            if cost < best:
                best, chosen, off = cost, steps, error
        self._noise += SLOW * (off - self._noise)
        return chosen

    def _expected(self, time: float) -> Array:
        """Place (6,) at a time [s] by the parabola through the last three."""
        if len(self._last) < 3:
            return self._last[-1][2]
        (_, a, p), (_, b, q), (_, c, r) = list(self._last)[-3:]
        u, v, w = time - a, time - b, time - c
        return np.asarray(
            p * (v * w / ((a - b) * (a - c)))
            + q * (u * w / ((b - a) * (b - c)))
            + r * (u * v / ((c - a) * (c - b)))
        )

    def _compare(self) -> None:
        """Compare the third differences of the places over the times and over the ticks.

        Poses of a burst say nothing, and no single one much.
        """
        times = [one[0] for one in self._last]
        if len(times) < 4 or min(b - a for a, b in pairwise(times)) < BURST * self.period:
            return
        over_times, over_ticks = self._bend(times), self._bend([one[1] for one in self._last])
        if min(over_times, over_ticks) <= 0.0:
            return
        smoother = math.log(over_ticks / over_times)
        most = math.log(MOST_PREFERRED**2)
        self._score += SLOW * (min(max(smoother, -most), most) - self._score)
        needed = math.log(PREFERRED**2)
        if abs(self._score) > needed:
            self.on_ticks = self._score < 0.0

    def _bend(self, moments: list[float]) -> float:
        """Square of the third divided difference of the last four places."""
        row = [one[2] for one in self._last]
        for order in (1, 2, 3):
            row = [(row[i + 1] - row[i]) / (moments[i + order] - moments[i]) for i in range(len(row) - 1)]
        return float(row[0] @ row[0])
