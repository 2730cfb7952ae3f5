"""Streams of samples, of joints or of a platform: a smooth motion through places that come one by one.

The motion follows from the times of the samples alone, so samples may come late, in bursts or not at all.
Local polynomials smooth it: least squares of a cubic through the samples around a moment, with weights that
fade to zero at both ends of the window (Lancaster and Salkauskas 1981, moving least squares). So neither a
sample that enters the window nor one that leaves it makes a step in position, velocity or acceleration.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array

S = TypeVar("S")

LONGEST_PERIOD = 0.25
"""Longest period of a stream; samples farther apart are no stream [s]."""
GAP = 4.5
"""Time without a sample that is a gap, in periods."""
SHORTEST_GAP = 0.05
"""Shortest gap [s]."""
MOST_AHEAD = 1.0
"""Stamps further ahead of the states are of another clock [s]."""
LEAST_STEP = 1e-5
"""Samples nearer to each other in time are the same [s]."""
DELAY = 1.7
"""Delay of the motion behind the times of the samples, in periods."""
AHEAD, BEHIND = 1.5, 4.5
"""Ends of the window of samples around a moment, in periods after and before it."""
BEYOND = 1.3
"""Time after the last sample for which the motion continues, in periods."""
SHORTEST_BEYOND = 0.02
"""Shortest such time [s]."""
WIDENED = 3.0
"""Beginning of the window before a moment after the last sample, in times since that sample."""
REACHED = 1.05
"""Least window, in distances to the next sample."""
NEEDED = 6
"""Number of samples in a row that make a stream."""
DEGREE = 3
RIDGE = 1e-9
"""Regularisation, for samples of which several have nearly the same time."""
USUAL_JERK = 10.0
"""Expected jerk of a motion; where samples scatter, one that is not needed is not believed [m/s³, rad/s³]."""
SLOW = 0.02
"""Share of a new scatter in its mean."""
KEPT = 64
"""Number of samples that are kept in any case; more are where their times are ahead."""


def check_stamp(stamp: float, now: float, timeout: float) -> None:
    """Check that a stamp [s] is of the controller's clock, and no older than the stream's timeout.

    Raises:
        TrajectoryError: it is not.
    """
    ahead = stamp - now
    if not -timeout <= ahead <= MOST_AHEAD:
        raise TrajectoryError(
            f"its stamp is {abs(ahead):.3g} s {'after' if ahead > 0.0 else 'before'} that of the last joint"
            f" state; it must be between {timeout:g} s before and {MOST_AHEAD:g} s after it;"
            " a stamp of 0 or stream_clock: recovered needs no common clock"
        )


@dataclass(frozen=True)
class Smoothed(Generic[S]):
    """A smooth motion at a moment.

    Attributes:
        middle: the sample that is nearest.
        way: (n,) from its place.
        rate, second, third: (n,) derivatives of the way.
    """

    middle: S
    way: Array
    rate: Array
    second: Array
    third: Array


class StreamFilter(Generic[S]):
    """Smooth motion through the samples of a stream.

    Where the next sample comes late the motion goes on for ``BEYOND`` periods, and stops then. After a gap
    the filter begins anew.

    Args:
        timeout: the stream has ended when no sample has come for so long, or for a gap of its period [s].

    Attributes:
        period: time between two samples [s]; 0 before the second.
        window: shortest time before a moment from which samples count [s].
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._samples: list[S] = []
        self._times: list[float] = []
        self._alive = -np.inf
        self._noise = 0.0
        self.period = self.window = 0.0

    def add(self, sample: S, time: float, now: float, period: float) -> bool:
        """Take a sample of a ``time``; False for one that is not newer.

        Args:
            sample: the sample.
            time: when it was meant [s].
            now: when it has come [s].
            period: time between two samples [s].
        """
        self._alive = max(now, time)
        if self._times and time - self._times[-1] <= LEAST_STEP:
            return False
        self.period = period
        # The motion may be at `now` where the samples are ahead of it: those of its window are needed still.
        past = bisect_left(self._times, now - max(BEHIND * period, self.window))
        kept = max(min(past, len(self._times) + 1 - KEPT), 0)
        self._samples = [*self._samples[kept:], sample]
        self._times = [*self._times[kept:], time]
        return True

    def clear(self) -> None:
        """Begin anew."""
        self._samples, self._times, self.period = [], [], 0.0

    @property
    def last(self) -> S | None:
        """The newest sample."""
        return self._samples[-1] if self._samples else None

    @property
    def latest(self) -> float:
        """Time of the newest sample [s]; without one -infinity."""
        return self._times[-1] if self._times else -np.inf

    @property
    def count(self) -> int:
        """Number of samples in the filter."""
        return len(self._times)

    @property
    def gap(self) -> float:
        """Time without a sample that is a gap [s]."""
        if not self.ready:
            return LONGEST_PERIOD
        return max(GAP * self.period, SHORTEST_GAP)

    @property
    def ready(self) -> bool:
        """True when there are enough samples to follow."""
        return len(self._times) >= NEEDED

    def ended(self, time: float) -> bool:
        """Check whether no sample has come for too long at ``time`` [s]."""
        return time - self._alive > max(self._timeout, GAP * self.period)

    def ways(self, middle: S, samples: Sequence[S]) -> Array:
        """(K, n) from the place of one sample to those of others."""
        raise NotImplementedError

    def rates(self, samples: Sequence[S]) -> Array | None:
        """(K, n) derivatives of the places; None where one of the samples has none."""
        raise NotImplementedError

    def smoothed(self, at: float) -> Smoothed[S] | None:
        """The motion at a moment of the samples' times [s]; None where it has to stop.

        Before the first sample the motion waits where it begins.
        """
        if not self.ready:
            return None
        period, late = self.period, at - self._times[-1]
        if late > max(BEYOND * period, SHORTEST_BEYOND):
            return None
        behind = max(BEHIND * period, WIDENED * late, self.window)
        if at < self._times[0]:
            begins, still = self._fit(self._times[0], behind), np.zeros_like
            return Smoothed(
                begins.middle, begins.way, still(begins.way), still(begins.way), still(begins.way)
            )
        return self._fit(at, behind)

    def _fit(self, at: float, behind: float) -> Smoothed[S]:
        """Moving least squares at a moment, of the samples around it."""
        period, times = self.period, self._times
        # Where samples are missing the window reaches the next one on either side.
        later = bisect_right(times, at)
        ahead = max(AHEAD * period, REACHED * (times[later] - at) if later < len(times) else 0.0)
        behind = max(behind, REACHED * (at - times[later - 1]))
        first = min(bisect_left(times, at - behind), len(times) - DEGREE - 1)
        end = bisect_right(times, at + ahead)
        samples = self._samples[first:end]
        s = (np.array(times[first:end]) - at) / period
        reach = np.where(s > 0.0, ahead / period, behind / period)
        weights = np.maximum(1.0 - (s / np.maximum(reach, np.abs(s[0]) * 1.01 * (s <= 0.0))) ** 2, 0.0) ** 3
        middle = samples[int(np.argmin(np.abs(s)))]
        places = self.ways(middle, samples)
        powers = s[:, None] ** np.arange(DEGREE + 1)
        weighted = weights[:, None] * powers
        left, right = weighted.T @ powers, weighted.T @ places
        if (given := self.rates(samples)) is not None:
            rates = np.zeros_like(powers)
            rates[:, 1:] = powers[:, :-1] * np.arange(1, DEGREE + 1)
            left += rates.T @ (weights[:, None] * rates)
            right += rates.T @ (weights[:, None] * (period * given))
        left += RIDGE * np.diag(np.diag(left))
        left[DEGREE, DEGREE] += self._noise / (USUAL_JERK * period**DEGREE / 6.0) ** 2
        c = np.linalg.solve(left, right)
        scatter = float((weights @ (places - powers @ c) ** 2).mean() / weights.sum())
        self._noise += SLOW * (scatter - self._noise)
        return Smoothed(middle, c[0], c[1] / period, 2.0 * c[2] / period**2, 6.0 * c[3] / period**3)
