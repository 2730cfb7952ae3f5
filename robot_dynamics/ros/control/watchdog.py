"""The safe output while joint states are missing, or while a halt fades."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from robot_dynamics.ros.control.outlet import Outlet

SAFE_PERIOD = 0.01
"""Seconds between two commands of the safe output, and between two looks at the age of the states."""


@dataclass(frozen=True)
class Trouble:
    """States come, but the controller has no effort for them.

    Attributes:
        began: time of the first of them on the controller's clock [s].
        latest: time of the last of them [s].
    """

    began: float
    latest: float

    @property
    def lasted(self) -> float:
        """[s]"""
        return max(0.0, self.latest - self.began)


class SafeOutput:
    """The safe output of a controller from the moment when a fault began, whatever becomes of the loop's own.

    Args:
        outlet: of the controller in force when it began.
        faded: seconds for which it has been the answer to bad states already.
    """

    def __init__(self, outlet: Outlet[Any], faded: float) -> None:
        self._outlet = outlet
        self._began = time.monotonic() - faded

    def send(self, nanoseconds: int) -> bool:
        """Send what is due, with a stamp; whether it was any effort."""
        effort = self._outlet.safe_effort(max(0.0, time.monotonic() - self._began))
        self._outlet.send(effort, nanoseconds)
        return bool(effort.any())
