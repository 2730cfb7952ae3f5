"""What a control loop measures about itself."""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class CycleMonitor:
    """Rate, age of the states and duration of the answers, over the last few seconds.

    Args:
        window: cycles remembered.
    """

    def __init__(self, window: int = 2000) -> None:
        self.cycles = 0
        self._arrivals: deque[float] = deque(maxlen=window)
        self._durations: deque[float] = deque(maxlen=window)

    def begin(self) -> float:
        """A state has arrived; returns the steady time [s]."""
        now = time.monotonic()
        self.cycles += 1
        self._arrivals.append(now)
        return now

    def end(self, began: float) -> None:
        """The command has left."""
        self._durations.append(time.monotonic() - began)

    @property
    def last(self) -> float:
        """Steady time of the last state [s]; minus infinity before the first."""
        return self._arrivals[-1] if self._arrivals else -np.inf

    def values(self) -> dict[str, str]:
        """The figures for a diagnostic status."""
        if len(self._arrivals) < 2:
            return {"rate [Hz]": "0"}
        periods = np.diff(np.array(self._arrivals))
        median = float(np.median(periods))
        durations = np.array(self._durations) if self._durations else np.zeros(1)
        return {
            "rate [Hz]": f"{1.0 / periods.mean():.1f}",
            "late by more than a period [share]": f"{float(np.mean(periods > 2.0 * median)):.5f}",
            "period 50 / 99 / 100 % [ms]": " / ".join(
                f"{1e3 * p:.3f}" for p in np.percentile(periods, (50, 99, 100))
            ),
            "answer 50 / 99 / 100 % [ms]": " / ".join(
                f"{1e3 * p:.3f}" for p in np.percentile(durations, (50, 99, 100))
            ),
            "age of the state [s]": f"{time.monotonic() - self.last:.3f}",
        }


class VelocityEstimator:
    """Velocities for joint states that carry none: filtered backward differences of the positions.

    Args:
        cutoff: of the first-order filter [Hz].
    """

    def __init__(self, cutoff: float = 50.0) -> None:
        self._rate = 2.0 * np.pi * cutoff
        self._time = np.nan
        self._position: Array | None = None
        self._velocity: Array | None = None

    def update(self, now: float, position: Array) -> Array:
        """The velocity at ``now`` [s]; zero at first, and after time ran backwards."""
        elapsed = now - self._time
        if self._position is None or self._velocity is None or not elapsed > 0.0:
            self._velocity = np.zeros_like(position)
        else:
            share = 1.0 - np.exp(-self._rate * elapsed)
            self._velocity = self._velocity + share * ((position - self._position) / elapsed - self._velocity)
        self._time, self._position = now, position
        return self._velocity
