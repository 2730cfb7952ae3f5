"""What every controller shares: its phases, its output, and the schedule of what is to be followed."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.spatial import Array

R = TypeVar("R", covariant=True)
S = TypeVar("S")


class Phase(enum.Enum):
    """What a controller is doing."""

    WAITING = "waiting for the first joint state"
    HOLDING = "holding position"
    TRACKING = "following a trajectory"
    STALE = "no joint state: safe output"
    FAULT = "the model gave no usable effort: safe output"

    @property
    def controls(self) -> bool:
        """Whether feedback is in force."""
        return self in (Phase.HOLDING, Phase.TRACKING)


@dataclass(frozen=True)
class Command:
    """What leaves a controller in one cycle.

    Attributes:
        effort: (n,) within the limits, in the order of the controller's joints [N·m or N].
        unlimited: (n,) what the law asked for before the limits.
        reference: where the machine shall be now; its type is the controller's.
        phase: of the controller in this cycle.
    """

    effort: Array
    unlimited: Array
    reference: Any
    phase: Phase

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """(n,) joints whose effort was cut."""
        return np.asarray(self.effort != self.unlimited)


class Timed(Protocol[R]):
    """A trajectory: references over a span of time, at rest after its end."""

    @property
    def start(self) -> float:
        """[s], on the controller's clock."""

    @property
    def end(self) -> float:
        """[s], on the controller's clock."""

    def sample(self, time: float) -> R:
        """The reference at ``time`` [s]."""


class Schedule(Generic[S]):
    """What is to be followed: a trajectory, one that waits for its start, or a place to hold.

    Args:
        hold: the reference at rest to begin with.
    """

    def __init__(self, hold: S) -> None:
        self._hold = hold
        self._current: Timed[S] | None = None
        self._next: Timed[S] | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to follow."""
        return self._current is None and self._next is None

    @property
    def begun(self) -> bool:
        """Whether a trajectory is in force."""
        return self._current is not None

    def reference(self, time: float) -> S:
        """The reference at ``time`` [s]."""
        for trajectory in (self._next, self._current):
            if trajectory is not None and time >= trajectory.start:
                return trajectory.sample(time)
        return self._hold

    def holds(self, trajectory: Timed[S]) -> bool:
        """Whether ``trajectory`` is in force or waits for its start."""
        return trajectory is self._current or trajectory is self._next

    def follow(self, trajectory: Timed[S]) -> None:
        """Take up ``trajectory`` at its start; until then what is in force goes on."""
        self._next = trajectory

    def stop(self, hold: S) -> None:
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


class PeriodMeter:
    """Follows the time between two states, which is the control period."""

    LONGEST = 0.2
    """A longer time between two states is a gap, not a control period [s]."""
    SMOOTHING = 0.05

    def __init__(self) -> None:
        self.period = 0.0

    def add(self, elapsed: float) -> None:
        """Note the time since the last state [s]; a gap or a repeated state says nothing."""
        if not self.LONGEST > elapsed > 0.0:
            return
        if not 0.5 < self.period / elapsed < 2.0:
            self.period = elapsed
        self.period += self.SMOOTHING * (elapsed - self.period)


class JumpDetector:
    """Notices states that no motion can have reached: a simulation was reset, an encoder was zeroed."""

    STEP = 0.05
    """A smaller step is left to the feedback [rad or m]."""
    ACCELERATION = 500.0
    """More than any machine reaches [rad/s² or m/s²]."""
    SPEED_MARGIN = 3.0

    def __init__(self) -> None:
        self._time = -np.inf
        self._position: Array | None = None
        self._speed: Array | None = None

    def add(self, time: float, position: Array, velocity: Array) -> str:
        """Note a state at ``time`` [s]; why the machine cannot have come here from the last one, if so."""
        reason = ""
        if time < self._time:
            reason = f"time ran backwards by {self._time - time:.3f} s"
        if self._position is not None and self._speed is not None and time > self._time:
            elapsed = time - self._time
            reach = elapsed * (self.SPEED_MARGIN * self._speed + 0.5 * self.ACCELERATION * elapsed)
            step = np.abs(position - self._position)
            if (step > self.STEP + reach).any():
                reason = f"a joint jumped by {step.max():.3f} rad or m in {elapsed:.3f} s"
        self._time, self._position, self._speed = time, position, np.abs(velocity)
        return reason


class Transition:
    """What efforts still have of a model that has been replaced, fading to nothing."""

    def __init__(self) -> None:
        self._began = 0.0
        self._duration = 0.0
        self._difference: Array | None = None

    def begin(self, time: float, difference: Array, duration: float) -> None:
        """At ``time`` [s] efforts would jump by ``-difference``: spread that over ``duration`` [s]."""
        self._difference = difference + self.rest(time)
        self._began, self._duration = time, duration

    def rest(self, time: float) -> Array | float:
        """What to add to the new model's effort at ``time`` [s]."""
        if self._difference is None:
            return 0.0
        share = fade(time - self._began, self._duration)
        if share == 0.0:
            self.end()
            return 0.0
        return share * self._difference

    def end(self) -> None:
        """Go over to the new model at once."""
        self._difference = None


def fade(since: float, duration: float) -> float:
    """Share of a load that is still carried ``since`` seconds after a fault; it fades to zero linearly."""
    return max(0.0, 1.0 - since / duration) if duration > 0.0 else 0.0
