"""What a control loop measures about itself."""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import short
from robot_dynamics.ros.support.diagnostics import MISSED
from robot_dynamics.spatial import Array

LEAST = 100
"""Cycles from which on a share of them says something."""


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

    def add(self, arrived: Array, duration: Array) -> None:
        """States that arrived at steady times (k,) [s] have been answered in so many seconds (k,)."""
        self.cycles += len(arrived)
        self._arrivals.extend(arrived.tolist())
        self._durations.extend(duration.tolist())

    @property
    def last(self) -> float:
        """Steady time of the last state [s]; minus infinity before the first."""
        return self._arrivals[-1] if self._arrivals else -np.inf

    @property
    def age(self) -> float:
        """Steady seconds since the last state; infinite before the first."""
        return time.monotonic() - self.last

    def values(self, age: float | None = None) -> dict[str, str]:
        """For a diagnostic status; ``age`` of the last state [s], where somebody knows it better."""
        if len(self._arrivals) < 2:
            return {"rate [Hz]": "0"}
        periods = self._periods()
        durations = np.array(self._durations) if self._durations else np.zeros(1)
        return {
            "rate [Hz]": f"{1.0 / max(periods.mean(), 1e-9):.1f}",
            "missed deadlines": str(int(_late(periods).sum())),
            "missed deadlines [share]": f"{_late(periods).mean():.5f}",
            "period 50 / 99 / 100 % [ms]": _percentiles(periods),
            "answer 50 / 99 / 100 % [ms]": _percentiles(durations),
            "age of the state [s]": f"{short(self.age if age is None else age)}",
        }

    def warnings(self, timeout: float, age: float | None = None) -> list[str]:
        """What is wrong with the states' timing, where they count as lost after ``timeout`` [s].

        ``age`` is that of the last state [s], where somebody knows it better.
        """
        found = []
        if len(self._arrivals) > LEAST:
            late = float(_late(self._periods()).mean())
            if late > MISSED:
                found.append(f"{100.0 * late:.1f} % of the joint states came late by more than a period")
        oldness = self.age if age is None else age
        if oldness > 0.5 * timeout:
            found.append(f"the last joint state is {short(oldness)} s old")
        return found

    def _periods(self) -> Array:
        return np.diff(np.array(self._arrivals))


def _late(periods: Array) -> NDArray[np.bool_]:
    # np.median loads numpy's masked arrays at its first call, which takes the processor from the loop.
    return np.asarray(periods > 2.0 * np.percentile(periods, 50.0))


def _percentiles(seconds: Array) -> str:
    return " / ".join(f"{1e3 * p:.3f}" for p in np.percentile(seconds, (50, 99, 100)))


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
