"""What a governor leads, as a trajectory that the controller follows: stops, ways to a place, streams."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol

from robot_dynamics.control.stewart.governor import Governor, Target
from robot_dynamics.control.stewart.stream import PoseStream
from robot_dynamics.stewart.motion import Motion


class Goal(Protocol):
    """Where a governor shall lead to."""

    def target(self, time: float, step: float = 0.0) -> Target | None:
        """The target at ``time`` [s], whose acceleration will be kept for a ``step`` [s]; None stops."""

    def reached(self, governor: Governor, time: float) -> bool:
        """Whether that is done at ``time`` [s]."""


class Standstill:
    """To stop on the spot."""

    def target(self, time: float, step: float = 0.0) -> Target | None:
        """None."""
        return None

    def reached(self, governor: Governor, time: float) -> bool:
        """Once the reference stands."""
        return not governor.reference.twist.any()


class Place:
    """To go to a pose."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def target(self, time: float, step: float = 0.0) -> Target | None:
        """The pose."""
        return self._target

    def reached(self, governor: Governor, time: float) -> bool:
        """Once the reference rests there, or where no way leads on."""
        return governor.stuck or governor.arrived(self._target)


class Following:
    """To follow a stream as long as it comes.

    Attributes:
        stream: of poses.
    """

    def __init__(self, stream: PoseStream) -> None:
        self.stream = stream

    def target(self, time: float, step: float = 0.0) -> Target | None:
        """Where the stream is, with the acceleration in the middle of the step."""
        target = self.stream.target(time)
        if target is None or step == 0.0:
            return target
        middle = self.stream.target(time + 0.5 * step)
        return target if middle is None else replace(target, acceleration=middle.acceleration)

    def reached(self, governor: Governor, time: float) -> bool:
        """When the stream has ended."""
        return self.stream.ended(time)


class GovernedMotion:
    """A trajectory that comes into being step by step.

    Attributes:
        governor: leads it.
        goal: where to.
        start: [s], on the controller's clock.
        end: [s]; infinite until the goal is reached.
    """

    def __init__(self, governor: Governor, goal: Goal) -> None:
        self.governor, self.goal = governor, goal
        self.start = governor.reference.time
        self.end = math.inf

    def advance(self, time: float) -> bool:
        """Go on to ``time`` [s]; whether the goal has been reached by that."""
        if time <= self.governor.reference.time or time >= self.end:
            return False
        self.governor.advance(time, self.goal.target(time, time - self.governor.reference.time))
        if not self.goal.reached(self.governor, time):
            return False
        self.end = time
        return True

    def sample(self, time: float) -> Motion:
        """The reference at ``time`` [s], straight on from the last step."""
        reference = self.governor.reference
        if time >= self.end:
            return Target.rest(reference.position, reference.rotation).motion
        return reference.at(max(time, reference.time)).motion
