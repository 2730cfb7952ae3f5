"""Measurements of a control loop about itself."""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import short
from robot_dynamics.ros.support.diagnostics import MISSED
from robot_dynamics.spatial import Array

NO_STATE = -(2**63)
"""Steady time of the last state, where there is none."""
LEAST = 100
"""Cycles from which on a share of them says something."""


class CycleMonitor:
    """Rate, age of the states and duration of the answers, over the last few seconds.

    Attributes:
        sending: duration of what follows on the loop's answer until the command has left [s].

    Args:
        window: cycles remembered.
    """

    def __init__(self, window: int = 2000) -> None:
        self.cycles = 0
        self.sending = 0.0
        self._arrivals: deque[float] = deque(maxlen=window)
        self._durations: deque[float] = deque(maxlen=window)

    def add(self, arrived: Array, duration: Array) -> None:
        """States that arrived at steady times (k,) [s] have been answered in so many seconds (k,)."""
        self.cycles += len(arrived)
        self._arrivals.extend(arrived.tolist())
        self._durations.extend((duration + self.sending).tolist())

    def values(self, last_state: int) -> dict[str, str]:
        """Values of a diagnostic status; the last state came at that steady time [ns] (or ``NO_STATE``)."""
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
            "age of the state [s]": f"{short(_age(last_state))}",
        }

    def warnings(self, timeout: float, last_state: int) -> list[str]:
        """Faults in the timing of the states.

        Args:
            timeout: after which states count as lost [s].
            last_state: see :meth:`values`.
        """
        found = []
        if len(self._arrivals) > LEAST:
            late = float(_late(self._periods()).mean())
            if late > MISSED:
                found.append(f"{100.0 * late:.1f} % of the joint states came late by more than a period")
        if (age := _age(last_state)) > 0.5 * timeout:
            found.append(f"the last joint state is {short(age)} s old")
        return found

    def _periods(self) -> Array:
        return np.diff(np.array(self._arrivals))


def _age(last_state: int) -> float:
    return np.inf if last_state == NO_STATE else 1e-9 * (time.monotonic_ns() - last_state)


def _late(periods: Array) -> NDArray[np.bool_]:
    # np.median loads numpy's masked arrays at its first call, which takes the processor from the loop.
    return np.asarray(periods > 2.0 * np.percentile(periods, 50.0))


def _percentiles(seconds: Array) -> str:
    return " / ".join(f"{1e3 * p:.3f}" for p in np.percentile(seconds, (50, 99, 100)))
