"""Governed motions: ways to a pose, and streams, led step by step by a reference governor."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol

import numpy as np

from robot_dynamics.control.stewart.envelope import Pace, rotated
from robot_dynamics.control.stewart.reference_governor import (
    GovernedReference,
    PoseTarget,
    ReferenceGovernor,
)
from robot_dynamics.control.stewart.stream import PoseFilter
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_vector

JOINING = 0.5
"""Shortest time in which a stream is joined [s]."""
QUICKEST, STRONGEST, STRONGEST_RATE = 1.875, 5.7735, 4.0
"""Largest speed and acceleration of a quintic from rest to rest over a distance of 1 in a time of 1, and
largest acceleration of one that takes away a speed of 1."""
SHARE = 0.3
"""Share of the acceleration for joining a stream."""


class GovernorGoal(Protocol):
    """Goal of a governed motion."""

    def target(self, time: float, step: float, governor: ReferenceGovernor) -> PoseTarget | None:
        """Target at ``time`` [s], whose acceleration will be kept for a ``step`` [s]; None stops."""

    def reached(self, governor: ReferenceGovernor, time: float) -> bool:
        """Check whether the motion is finished at ``time`` [s]."""


class PoseGoal:
    """Rest at a pose."""

    def __init__(self, target: PoseTarget) -> None:
        self._target = target

    def target(self, time: float, step: float, governor: ReferenceGovernor) -> PoseTarget | None:
        """The pose."""
        return self._target

    def reached(self, governor: ReferenceGovernor, time: float) -> bool:
        """Check whether the reference rests there, or no way leads on."""
        return governor.stuck or governor.arrived(self._target)


class Joining:
    """Offset from a stream, which ends without a jump: where the reference is when it joins the stream.

    Args:
        here: the reference.
        target: of the stream at the same time.
        speed: of the legs on the way [m/s].
        pace: of references.
        jacobian: (6, 6) from twists to the rates of the legs.
    """

    def __init__(
        self, here: GovernedReference, target: PoseTarget, speed: float, pace: Pace, jacobian: Array
    ) -> None:
        turn = rotation_vector(here.rotation @ target.rotation.T)
        self._begun = here.time
        self._way = np.concatenate([here.position - target.position, turn])
        self._rate = here.twist - target.twist
        most = np.repeat([pace.acceleration, pace.angular_acceleration], 3)
        legs = float(np.abs(jacobian @ self._way).max())
        hardest = float((np.abs(self._way) / most).max())
        self._long = max(JOINING, QUICKEST * legs / speed, math.sqrt(STRONGEST * hardest / SHARE))
        self._short = max(JOINING, STRONGEST_RATE * float((np.abs(self._rate) / most).max()) / SHARE)

    def over(self, time: float) -> bool:
        """Check whether the stream is reached at ``time`` [s]."""
        return time - self._begun >= max(self._long, self._short)

    def added(self, target: PoseTarget, time: float) -> PoseTarget:
        """Target with the offset at ``time`` [s]."""
        s, r = (min((time - self._begun) / one, 1.0) for one in (self._long, self._short))
        way, rate = self._way, self._rate * self._short
        offset = way * (1.0 - s**3 * (10.0 - s * (15.0 - 6.0 * s))) + rate * r * (1.0 - r) ** 3 * (
            1.0 + 3.0 * r
        )
        slope = -30.0 * way * s**2 * (1.0 - s) ** 2 / self._long
        slope = slope + rate * (1.0 - r) ** 2 * (1.0 + 2.0 * r - 15.0 * r**2) / self._short
        bend = -60.0 * way * s * (1.0 - s) * (1.0 - 2.0 * s) / self._long**2
        bend = bend + rate * (-36.0 * r + 96.0 * r**2 - 60.0 * r**3) / self._short**2
        return replace(
            target,
            position=target.position + offset[:3],
            rotation=rotated(target.rotation, offset[3:]),
            twist=target.twist + slope,
            acceleration=target.acceleration + bend,
        )


class StreamGoal:
    """Follow a stream as long as it comes; it is joined slowly, also after a gap.

    Args:
        stream: of poses.
        speed: of the legs on the way to it [m/s].
        jacobian: (6, 6) from twists to the rates of the legs.

    Attributes:
        stream: of poses.
        joined: whether the reference has reached the stream.
    """

    def __init__(self, stream: PoseFilter, speed: float, jacobian: Array) -> None:
        self.stream = stream
        self._speed, self._jacobian = speed, jacobian
        self._joining: Joining | None = None
        self._interrupted = True

    @property
    def joined(self) -> bool:
        """See the class."""
        return not self._interrupted and self._joining is None

    def target(self, time: float, step: float, governor: ReferenceGovernor) -> PoseTarget | None:
        """Target of the stream, with the acceleration in the middle of the step."""
        target = self.stream.target(time)
        if target is None:
            self._interrupted = True
            return None
        if self._interrupted:
            here = governor.reference.at(time)
            self._joining = Joining(here, target, self._speed, governor.pace, self._jacobian)
            self._interrupted = False
        target = replace(target, acceleration=target.acceleration + 0.5 * step * target.jerk)
        if self._joining is None:
            return target
        if self._joining.over(time):
            self._joining = None
            return target
        return self._joining.added(target, time)

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
        governor = self.governor
        governor.advance(time, self.goal.target(time, time - governor.reference.time, governor))
        if self.goal.reached(self.governor, time):
            self.end = time
