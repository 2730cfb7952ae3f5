"""Plans on their way into a control core, kept as long as it may use them."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from robot_dynamics.control.arm.trajectory import Reference, Trajectory
from robot_dynamics.control.native.library import Plan, address
from robot_dynamics.control.native.library import Snapshot as Head
from robot_dynamics.control.native.snapshot import PHASES, VERDICTS, Snapshot
from robot_dynamics.control.protocol import Planned
from robot_dynamics.errors import TrajectoryError

PLAN_WAITS = "the trajectory before it waits for the next joint state"
VOID = "a hold, a jump, a loss of states or another trajectory came first"
VERDICT_PATIENCE = 0.1
"""How long to wait for the next cycle to take a plan up [s]; it counts all the same when it comes later."""
VERDICT_POLL = 2e-4


class Plans:
    """The plans of one core.

    Args:
        library: of the core.
        handle: address of the core.
        snapshot: of the core.
    """

    def __init__(self, library: ctypes.CDLL, handle: int, snapshot: Snapshot) -> None:
        self._library, self._handle, self._snapshot = library, handle, snapshot
        self._kept: dict[int, tuple[Trajectory, object]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def waiting(self, now: Head) -> int:
        """Number of a plan that has been handed over but not yet looked at; 0: none."""
        number = max(self._kept, default=0)
        return number if number > now.considered else 0

    def reference(self, time: float) -> Reference:
        """The reference at ``time`` [s], as the core will have it if nothing comes in between."""
        now = self._snapshot.read()
        for number in (self.waiting(now), now.next, now.current):
            if number and time >= self._kept[number][0].start:
                return self._kept[number][0].sample(time)
        return Reference.at_rest(self._snapshot.hold)

    def follows(self, trajectory: object) -> bool:
        """Whether ``trajectory`` waits, is followed, or was followed to its end last."""
        now = self._snapshot.read()
        return any(
            number in self._kept and self._kept[number][0] is trajectory
            for number in (self.waiting(now), now.next, now.current, now.finished)
        )

    def accept(self, planned: Planned[Reference]) -> str:
        """Hand a plan over, or tell why it is void already."""
        trajectory = planned.trajectory
        if not isinstance(trajectory, Trajectory):
            raise TrajectoryError("this controller follows planned joint trajectories only")
        now = self._snapshot.read()
        waiting = self.waiting(now)
        if planned.epoch != now.epoch + bool(waiting) or not PHASES[now.phase].controls:
            return VOID
        if waiting and trajectory.start > self._kept[waiting][0].start:
            return PLAN_WAITS
        if trajectory.start < now.time:
            return _late(now.time - trajectory.start)
        number = max([int(now.considered), *self._kept]) + 1
        spline = trajectory.spline
        times, coefficients = np.ascontiguousarray(spline.times), np.ascontiguousarray(spline.coefficients)
        # It takes the place of one that waits: that one would never have been followed.
        given = Plan(number, now.epoch, len(times), address(times), address(coefficients))
        oldest, finished = now.oldest_plan, now.finished
        self._kept = {n: kept for n, kept in self._kept.items() if n >= oldest or n == finished}
        self._kept[number] = trajectory, (given, times, coefficients)
        self._library.rd_core_offer_plan(self._handle, ctypes.byref(given))
        return ""

    def verdict(self) -> str:
        """Why the plan handed over last is discarded, once the thread that runs the core has looked at it."""
        deadline = time.monotonic() + VERDICT_PATIENCE
        while self.waiting(now := self._snapshot.read()) and time.monotonic() < deadline:
            time.sleep(VERDICT_POLL)
        if self.waiting(now) or VERDICTS[now.verdict] == "accepted":
            return ""
        return _late(now.late) if VERDICTS[now.verdict] == "late" else VOID


def _late(seconds: float) -> str:
    return f"planning took {seconds:.3f} s longer than it was allowed to"
