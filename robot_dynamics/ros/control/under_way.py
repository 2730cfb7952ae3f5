"""The trajectory that is being followed, so that the log can name it when it is dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robot_dynamics.control.protocol import Trajectory
from robot_dynamics.errors import short


class UnderWay:
    """Remembers the trajectory that was taken up last.

    Args:
        time: of the controller in force [s].
    """

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._what = ""
        self._trajectory: Trajectory[Any] | None = None

    def began(self, what: str, trajectory: Trajectory[Any]) -> None:
        """This is followed from now on; ``what`` says in a few words where it came from."""
        self._what, self._trajectory = what, trajectory

    def dropped(self) -> str:
        """For the end of a line of log: what is dropped now; empty where nothing was under way."""
        trajectory, self._trajectory = self._trajectory, None
        rest = trajectory.end - self._time() if trajectory is not None else 0.0
        return f"; dropped: {self._what}, {short(rest)} s before its end" if rest > 0.0 else ""
