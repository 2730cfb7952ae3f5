"""A log for what anybody can make happen as often as he likes."""

from __future__ import annotations

import time
from typing import Protocol


class RosLog(Protocol):
    """Target of a line: the logger of a node."""

    def error(self, message: str, /) -> object:
        """Write a line about an error."""

    def warning(self, message: str, /) -> object:
        """Write a line of warning."""


class Remarks:
    """Warnings about trajectories that are followed all the same.

    Args:
        log: of the node.
    """

    def __init__(self, log: RosLog) -> None:
        self._log = log
        self._told = False

    def tell(self, trajectory: object) -> None:
        """Log the remarks of a trajectory; of those that leave the identified ranges only the first."""
        for remark in getattr(trajectory, "remarks", ()):
            self._log.warning(remark)
        untested = getattr(trajectory, "untested", "")
        if untested and not self._told:
            self._told = True
            self._log.warning(untested)


class RateLimitedLog:
    """Passes on some lines at once, and of more only one in a while, with the number of those left out.

    Unlike rclpy's own throttle it lets different reasons through that follow each other.

    Args:
        log: of the node.
        severe: whether the lines are errors, or else warnings.
        burst: as many lines are written without delay.
        period: after so long one more may follow [s].
    """

    def __init__(self, log: RosLog, severe: bool = True, burst: int = 10, period: float = 2.0) -> None:
        self._log = log
        self._severe = severe
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
        line = f"{text} ({left_out} more lines were left out)" if left_out else text
        # Each in its own place: rclpy raises ValueError where one place logs with two severities.
        if self._severe:
            self._log.error(line)
        else:
            self._log.warning(line)
