"""Governed motions on their way into a control core: segments that each have a stop of their own.

The governor is called a few milliseconds ahead of the last state, with the reference that the core follows
then. Its step is handed over with the stop that follows if nothing further comes. However late or silent this
side is, the core follows a reference that keeps the limits and comes to rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.core.plans import Plans
from robot_dynamics.control.core.snapshot import PHASES, VERDICTS, Snapshot
from robot_dynamics.control.protocol import Planned
from robot_dynamics.control.stewart.governed_motion import GovernedMotion, StreamGoal
from robot_dynamics.control.stewart.platform_model import ReportedPose
from robot_dynamics.control.stewart.reference_governor import (
    GovernedPlan,
    GovernedReference,
    ReferenceGovernor,
)
from robot_dynamics.control.stewart.segments import segments_with_stop
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.stewart import Motion
from robot_dynamics.stewart.machine import Machine

FREE = (0.05, 0.25)
"""Least and greatest duration of a segment before its stop [s]."""
FREE_TO_A_PLACE = 0.03
"""Least duration on the way to a pose: with more, one at the edge of the workspace is hardly reached [s]."""
AHEAD = 3.0
"""Duration in intervals between two segments, as they have been lately."""
LEAD = 0.003
"""First lead: from the last state to the switch time of a segment, for the work on it [s]."""
MOST_LEAD = 0.02
"""Maximum lead [s]."""
MARGIN = 1.5
"""Lead over the duration of the work lately."""
STREAM_STEP = 0.005
"""Interval between two segments of a stream [s]."""
STEP = 0.01
"""Interval between two segments of other motions [s]."""
NEAR = 1e-4
"""A reference is on a plan that is nearer, in place [m] and twist [m/s, rad/s]."""
ATTEMPTS = 5
"""Maximum number of first segments that are not taken."""


class Governing:
    """Lead of one core along governed motions.

    Args:
        plans: of the core.
        snapshot: of the core.
        machine: the platform.

    Attributes:
        motion: the active governed motion; None: there is none.
        elsewhere: whether another thread runs the core's cycles.
    """

    def __init__(self, plans: Plans[Motion], snapshot: Snapshot, machine: Machine) -> None:
        self._plans, self._snapshot, self._machine = plans, snapshot, machine
        self.motion: GovernedMotion | None = None
        self._plan: GovernedPlan | None = None
        self.elsewhere = False
        self._lead = LEAD
        self._epoch = self._number = self._judged = self._attempts = 0
        self._seen = self._at = -1.0
        self._interval = STEP

    @property
    def step(self) -> float:
        """Recommended interval between two calls of :meth:`go_on` [s]."""
        following = self.motion is not None and isinstance(self.motion.goal, StreamGoal)
        return STREAM_STEP if following else STEP

    @property
    def switch_time(self) -> float:
        """Earliest switch time of a segment that is handed over now [s]."""
        return float(self._snapshot.read().time) + (self._lead if self.elsewhere else 0.0)

    def begin(self, motion: GovernedMotion) -> None:
        """Lead along a motion from now on, in place of everything else.

        Raises:
            TrajectoryError: the core does not follow it.
        """
        self.motion, self._attempts = motion, 0
        self._interval = self.step  # of the new motion
        motion.governor.plan = self._carried(motion.governor.reference)
        reason = self._try()
        while reason and self._attempts < ATTEMPTS:
            reason = self._try()
        if reason:
            self.motion = None
            raise TrajectoryError(reason)

    def _carried(self, here: GovernedReference) -> GovernedPlan | None:
        """Plan of the motion before, where the core follows it and a reference is on it."""
        plan = self._plan
        if plan is None or self._snapshot.read().current != self._number:
            return None
        there = plan.at(here.time)
        near = (
            np.abs(there.position - here.position).max() < NEAR
            and np.abs(there.twist - here.twist).max() < NEAR
        )
        return plan if near else None

    def _try(self) -> str:
        """Hand over the first segment; the reason where it is void already."""
        assert self.motion is not None
        now = self._plans.considered()
        governor = self.motion.governor
        # A plan that still waits will never have been followed.
        self._epoch, self._at = int(now.epoch) + 1, float(now.time)
        self._seen = self._at
        if self._attempts:
            self._lead = min(2.0 * self._lead, MOST_LEAD)
            governor.reference = self._reference(self.switch_time)
        self._attempts += 1
        return self._hand_over(governor.reference.time, self._plans.epoch(now), 0)

    def _may_begin(self, now: Any) -> bool:
        """Check whether the first segment has not been taken, so that another one is worth a trial."""
        refused = now.considered == self._number and VERDICTS[now.verdict] in ("late", "superseded")
        return refused and self._attempts < ATTEMPTS

    def lost(self) -> bool:
        """Check whether a hold, a jump, a loss or another trajectory has come before the motion."""
        if self.motion is None:
            return False
        now = self._snapshot.read()
        if PHASES[now.phase].controls and self._plans.epoch(now) == self._epoch:
            return False
        return not PHASES[now.phase].controls or not self._may_begin(now) or bool(self._try())

    def drop(self) -> None:
        """End the lead."""
        self.motion = None

    def go_on(self, time: float | None = None) -> None:
        """Hand the next segment over, where one is due.

        Args:
            time: of the state that comes next [s]; where another thread runs the cycles, None.
        """
        motion = self.motion
        if motion is None or motion.end < float("inf"):
            return
        now = self._snapshot.read()
        self._judge()
        if self._plans.waiting(now) or now.waiting[0] or (time is None and now.time == self._at):
            return
        departs = self.switch_time if time is None else time
        if departs <= self._at:
            return
        self._seen, self._at = self._at, float(now.time)
        elapsed = self._at - self._seen
        self._interval += 0.2 * (min(max(elapsed, 1e-3), FREE[1]) - self._interval)
        # Where the segment before has come to its stop already, another plan begins.
        current = int(now.current)
        epoch = self._plans.epoch(now)
        motion.governor.reference = self._reference(departs)
        self._attempts = ATTEMPTS
        if not self._hand_over(departs, epoch, current) and not current:
            self._epoch = epoch + 1

    def _reference(self, time: float) -> GovernedReference:
        """Reference of the core at a time [s]."""
        return GovernedReference.of(time, self._plans.reference(time))

    def _hand_over(self, departs: float, epoch: int, continues: int) -> str:
        """Hand over the segment from a switch time on [s]; the reason where it is void already."""
        motion = self.motion
        assert motion is not None
        governor = motion.governor
        # A stream may be approached as quickly as segments come: the governor takes four steps for it.
        follows = isinstance(motion.goal, StreamGoal)
        step, least = (0.25 * self._interval, FREE[0]) if follows else (self._interval, FREE_TO_A_PLACE)
        free = min(max(least, AHEAD * self._interval), FREE[1])
        self._note_lag(governor, follows)
        governor.advance(departs, motion.goal.target(departs, self._interval, governor), step, free)
        # Poses that had come by then have been taken meanwhile.
        if motion.goal.reached(governor, self._seen):
            motion.end = departs
        plan = self._plan = governor.plan
        assert plan is not None
        segments = segments_with_stop(plan)
        reason = self._plans.accept(Planned(segments, epoch), continues, at_once=True)
        self._number = self._plans.last
        worked = float(self._snapshot.read().time) - self._at
        self._lead = min(max(self._lead, MARGIN * worked), MOST_LEAD)
        return reason

    def _note_lag(self, governor: ReferenceGovernor, follows: bool) -> None:
        """Keep what the legs lag behind off the ends of their strokes while a stream is followed."""
        if not follows:
            governor.envelope.lag = np.zeros(6)
            return
        wanted = self._plans.reference(float(self._snapshot.read().time))
        measured = ReportedPose(self._machine, self._snapshot.telemetry.copy())
        governor.envelope.note_lag((measured.position, measured.rotation), (wanted.position, wanted.rotation))

    def _judge(self) -> None:
        """Lengthen the lead where the last segment came late."""
        now = self._snapshot.read()
        if now.considered == self._number != self._judged and VERDICTS[now.verdict] == "late":
            self._lead = min(2.0 * self._lead, MOST_LEAD)
        else:
            self._lead = max(LEAD, 0.9 * self._lead)
        self._judged = self._number
