"""What is to be followed: a trajectory, one that waits for its start, or a place to hold."""

from __future__ import annotations

from typing import Generic

from robot_dynamics.control.protocol import R, Trajectory


class Schedule(Generic[R]):
    """The trajectory in force and the next one.

    Args:
        hold: the reference at rest to begin with.
    """

    def __init__(self, hold: R) -> None:
        self._hold = hold
        self._current: Trajectory[R] | None = None
        self._next: Trajectory[R] | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to follow."""
        return self._current is None and self._next is None

    @property
    def begun(self) -> bool:
        """Whether a trajectory is in force."""
        return self._current is not None

    def reference(self, time: float) -> R:
        """The reference at ``time`` [s]."""
        for trajectory in (self._next, self._current):
            if trajectory is not None and time >= trajectory.start:
                return trajectory.sample(time)
        return self._hold

    def holds(self, trajectory: Trajectory[R]) -> bool:
        """Whether ``trajectory`` is in force or waits for its start."""
        return trajectory is self._current or trajectory is self._next

    def follow(self, trajectory: Trajectory[R]) -> None:
        """Take up ``trajectory`` at its start; until then what is in force goes on."""
        self._next = trajectory

    def stop(self, hold: R) -> None:
        """Drop every trajectory and hold ``hold``."""
        self._hold = hold
        self._current = self._next = None

    def advance(self, time: float) -> None:
        """Take up a trajectory whose start has come; leave one that has ended."""
        if self._next is not None and time >= self._next.start:
            self._current, self._next = self._next, None
        if self._current is not None and time >= self._current.end:
            self._hold = self._current.sample(time)
            self._current = None
