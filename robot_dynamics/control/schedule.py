"""What is to be followed: trajectories, each from its start until the next one's, or a place to hold."""

from __future__ import annotations

from typing import Generic

from robot_dynamics.control.protocol import R, Trajectory


class Schedule(Generic[R]):
    """The trajectory in force and those that wait for their start.

    Args:
        hold: the reference at rest to begin with.
    """

    def __init__(self, hold: R) -> None:
        self._hold = hold
        self._current: Trajectory[R] | None = None
        self._waiting: list[Trajectory[R]] = []

    @property
    def empty(self) -> bool:
        """Whether there is nothing to follow."""
        return self._current is None and not self._waiting

    @property
    def begun(self) -> bool:
        """Whether a trajectory is in force."""
        return self._current is not None

    def reference(self, time: float) -> R:
        """The reference at ``time`` [s]."""
        for trajectory in (*reversed(self._waiting), self._current):
            if trajectory is not None and time >= trajectory.start:
                return trajectory.sample(time)
        return self._hold

    def holds(self, trajectory: Trajectory[R]) -> bool:
        """Whether ``trajectory`` is in force or waits for its start."""
        return trajectory is self._current or any(trajectory is other for other in self._waiting)

    def follow(self, trajectory: Trajectory[R]) -> None:
        """Take up ``trajectory`` at its start; until then all goes on as it was, and leads to it."""
        self._waiting = [other for other in self._waiting if other.start < trajectory.start]
        self._waiting.append(trajectory)

    def stop(self, hold: R) -> None:
        """Drop every trajectory and hold ``hold``."""
        self._hold = hold
        self._current = None
        self._waiting = []

    def advance(self, time: float) -> None:
        """Take up a trajectory whose start has come; leave one that has ended."""
        while self._waiting and time >= self._waiting[0].start:
            self._current = self._waiting.pop(0)
        if self._current is not None and time >= self._current.end:
            self._hold = self._current.sample(time)
            self._current = None
