"""A log for what anybody can make happen as often as he likes."""

from __future__ import annotations

import time
from collections.abc import Callable


class BurstLog:
    """Passes on some lines at once, and of more only one in a while, with the number of those left out.

    Unlike rclpy's own throttle it lets different reasons through that follow each other.

    Args:
        log: writes a line.
        burst: as many lines are written without delay.
        period: after so long one more may follow [s].
    """

    def __init__(self, log: Callable[[str], object], burst: int = 10, period: float = 2.0) -> None:
        self._log = log
        self._burst = burst
        self._period = period
        self._free = float(burst)
        self._last = time.monotonic()
        self._left_out = 0

    def __call__(self, text: str) -> None:
        """Write a line, or count it."""
        now = time.monotonic()
        self._free = min(float(self._burst), self._free + (now - self._last) / self._period)
        self._last = now
        if self._free < 1.0:
            self._left_out += 1
            return
        self._free -= 1.0
        left_out, self._left_out = self._left_out, 0
        self._log(f"{text} ({left_out} more lines were left out)" if left_out else text)
