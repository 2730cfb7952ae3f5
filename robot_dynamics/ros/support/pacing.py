"""A loop that keeps pace with the steady clock, and what it notes about its own lateness."""

from __future__ import annotations

import time
from array import array

import numpy as np

MICROSECOND = 1000
# A loop that was held up longer than this (a suspended machine) does not try to make up for it.
GIVE_UP = 100_000_000


class Lateness:
    """Histogram of how late the cycles of a loop began, or their answers came, with bins of one microsecond.

    Args:
        period: of the loop [ns].
    """

    def __init__(self, period: int) -> None:
        self.cycles = 0
        self.over = 0
        self.worst = 0
        self._period = period
        self._bins = array("q", bytes(8 * (max(2 * period, 20_000_000) // MICROSECOND)))

    def add(self, late: int) -> None:
        """Note one cycle that began ``late`` nanoseconds after its deadline."""
        self.cycles += 1
        self.over += late > self._period
        self.worst = max(self.worst, late)
        self._bins[min(max(late, 0) // MICROSECOND, len(self._bins) - 1)] += 1

    @property
    def share(self) -> float:
        """Share of the cycles that were late by more than a period."""
        return self.over / max(self.cycles, 1)

    def percentiles(self, name: str) -> dict[str, float]:
        """Percentiles to report [µs], under ``name``."""
        counted = np.cumsum(np.frombuffer(self._bins, dtype=np.int64))
        places = np.searchsorted(counted, np.array((0.5, 0.99, 0.999)) * self.cycles)
        worst = self.worst // MICROSECOND
        half, most, nearly_all = (min(int(place), worst) for place in places)
        return {
            f"{name}_us_p50": half,
            f"{name}_us_p99": most,
            f"{name}_us_p99.9": nearly_all,
            f"{name}_us_max": worst,
        }

    def summary(self) -> dict[str, float]:
        """Statistics to report: cycles, cycles late by more than a period, percentiles [µs]."""
        return {"cycles": self.cycles, "late_by_a_period": self.over, **self.percentiles("late")}


class Pacer:
    """Deadlines on the steady clock, a whole number of periods after the first, so that nothing drifts.

    Args:
        period: between two deadlines [ns].
    """

    def __init__(self, period: int) -> None:
        self.period = period
        self.lateness = Lateness(period)
        self.began = time.monotonic_ns()
        self._deadline = self.began + period

    def remaining(self) -> int:
        """Nanoseconds to the next deadline, negative when it has passed."""
        return self._deadline - time.monotonic_ns()

    def start_cycle(self) -> None:
        """The work due at the deadline begins: note how late, and set the next deadline."""
        late = time.monotonic_ns() - self._deadline
        self.lateness.add(late)
        self._deadline += self.period
        if late > GIVE_UP:
            self._deadline = time.monotonic_ns() + self.period

    def restart_statistics(self) -> None:
        """Forget how late the cycles have been, and count anew."""
        self.lateness = Lateness(self.period)
        self.began = time.monotonic_ns()

    @property
    def rate(self) -> float:
        """Cycles per second since the start [Hz]."""
        elapsed = time.monotonic_ns() - self.began
        return 1e9 * self.lateness.cycles / max(elapsed, 1)
