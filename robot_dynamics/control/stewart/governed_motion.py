"""Governed motions: ways to a pose, and streams, led step by step by a reference governor."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol

from robot_dynamics.control.stewart.reference_governor import PoseTarget, ReferenceGovernor
from robot_dynamics.control.stewart.stream import StreamInterpolator


class GovernorGoal(Protocol):
    """Goal of a governed motion."""

    def target(self, time: float, step: float) -> PoseTarget | None:
        """Target at ``time`` [s], whose acceleration will be kept for a ``step`` [s]; None stops."""

    def reached(self, governor: ReferenceGovernor, time: float) -> bool:
        """Check whether the motion is finished at ``time`` [s]."""


class PoseGoal:
    """Rest at a pose."""

    def __init__(self, target: PoseTarget) -> None:
        self._target = target

    def target(self, time: float, step: float) -> PoseTarget | None:
        """The pose."""
        return self._target

    def reached(self, governor: ReferenceGovernor, time: float) -> bool:
        """Check whether the reference rests there, or no way leads on."""
        return governor.stuck or governor.arrived(self._target)


class StreamGoal:
    """Follow a stream as long as it comes.

    Attributes:
        stream: of poses.
    """

    def __init__(self, stream: StreamInterpolator) -> None:
        self.stream = stream

    def target(self, time: float, step: float) -> PoseTarget | None:
        """Target of the stream, with the acceleration in the middle of the step."""
        target = self.stream.target(time)
        if target is None or step == 0.0:
            return target
        middle = self.stream.target(time + 0.5 * step)
        return target if middle is None else replace(target, acceleration=middle.acceleration)

    def reached(self, governor: ReferenceGovernor, time: float) -> bool:
        """Check whether the stream has ended."""
        return self.stream.ended(time)


class GovernedMotion:
    """A motion that comes into being step by step.

    Attributes:
        governor: leads it.
        goal: where to.
        end: [s], on the controller's clock; infinite until the goal is reached.
    """

    def __init__(self, governor: ReferenceGovernor, goal: GovernorGoal) -> None:
        self.governor, self.goal = governor, goal
        self.end = math.inf

    def advance(self, time: float) -> None:
        """Continue to ``time`` [s] on the way to a goal."""
        self.governor.advance(time, self.goal.target(time, time - self.governor.reference.time))
        if self.goal.reached(self.governor, time):
            self.end = time
