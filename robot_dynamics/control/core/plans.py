"""Plans on their way into a control core, kept as long as it may use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeGuard

import numpy as np

from robot_dynamics.control.core.library import doubles, ffi
from robot_dynamics.control.core.snapshot import PHASES, VERDICTS, Snapshot
from robot_dynamics.control.protocol import LATCHED, VOID, FollowedTrajectory, Planned, R, R_co, late
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array

PLAN_WAITS = "the trajectory before it waits for the next joint state"
QUEUE_FULL = "too many trajectories wait for their start"


class SplineTrajectory(FollowedTrajectory[R_co], Protocol[R_co]):
    """A trajectory whose coordinates run along quintics."""

    @property
    def spline(self) -> QuinticSpline:
        """Of the coordinates of references."""


def along_a_spline(trajectory: FollowedTrajectory[R]) -> TypeGuard[SplineTrajectory[R]]:
    """True if a trajectory is one that a core in C can follow."""
    return isinstance(getattr(trajectory, "spline", None), QuinticSpline)


def plan_value(
    spline: QuinticSpline,
    number: int,
    epoch: int,
    continues: int,
    while_latched: bool = False,
    exact: bool = False,
) -> tuple[Any, tuple[Any, Any]]:
    """A spline as ``rd_plan *``, and the arrays that must live as long."""
    arrays = doubles(np.ascontiguousarray(spline.times)), doubles(np.ascontiguousarray(spline.coefficients))
    head = [number, epoch, continues, len(spline.times), *arrays, ffi().NULL, while_latched, exact]
    return ffi().new("rd_plan *", head), arrays


def _has(followed: object, trajectory: object) -> bool:
    """True if a trajectory is the one that is followed, or one that it carries on."""
    return followed is trajectory or any(one is trajectory for one in getattr(followed, "carried", ()))


class _Kept(NamedTuple, Generic[R]):
    """A plan and all that the core reads of it."""

    trajectory: SplineTrajectory[R]
    plan: Any
    arrays: tuple[Any, Any]


class Plans(Generic[R]):
    """The plans of one core.

    Args:
        library: of the core.
        core: ``rd_core *``.
        joints: n, of the machine.
        snapshot: of the core.
        reference_of: the reference with a place, rates and second derivatives (n,).
        take: lets the core look at the plan that was handed over.
    """

    def __init__(
        self,
        library: Any,
        core: Any,
        joints: int,
        snapshot: Snapshot,
        reference_of: Callable[[Array, Array, Array], R],
        take: Callable[[], None],
    ) -> None:
        self._library, self._core, self._snapshot = library, core, snapshot
        self._joints = joints
        self._reference_of = reference_of
        self._take = take
        self._kept: dict[int, _Kept[R]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def waiting(self, now: Any) -> int:
        """Number of a plan that has been handed over but not yet looked at; 0: none."""
        number = max(self._kept, default=0)
        return number if number > now.considered else 0

    def epoch(self, now: Any) -> int:
        """Counts what makes an unfinished plan void, with a plan that waits."""
        waiting = self.waiting(now)
        return int(now.epoch) + bool(waiting and not self._kept[waiting].plan.continues)

    @property
    def last(self) -> int:
        """Number of the plan that was handed over last; 0: none yet, or it has been given up."""
        return max(self._kept, default=0)

    def _queue(self, now: Any) -> list[SplineTrajectory[R]]:
        """Trajectories that are followed or wait, the last one first."""
        numbers = (self.waiting(now), *reversed(list(now.waiting)), now.current)
        return [self._kept[number].trajectory for number in numbers if number]

    def _begun(self, now: Any, time: float) -> SplineTrajectory[R] | None:
        return next((each for each in self._queue(now) if time >= each.start), None)

    def active(self, time: float) -> SplineTrajectory[R] | None:
        """The trajectory that is followed at ``time`` [s]; None before its start and after its end."""
        begun = self._begun(self._snapshot.read(), time)
        return begun if begun is not None and time < begun.end else None

    def waits(self, time: float) -> bool:
        """True if a trajectory begins after ``time`` [s]."""
        return any(time < each.start for each in self._queue(self._snapshot.read()))

    def reference(self, time: float) -> R:
        """The reference at ``time`` [s], as the core will have it if nothing comes in between.

        Of a stop it is the one whose present deceleration stays, which is near for some milliseconds.
        """
        now = self._snapshot.read()
        if (trajectory := self._begun(now, time)) is not None:
            return trajectory.sample(time)
        return self._reference_of(*self._unplanned(now, time))

    def _unplanned(self, now: Any, time: float) -> tuple[Array, Array, Array]:
        """Coordinates (n,) of a stop, or of what is held, and their derivatives."""
        zero = np.zeros(self._joints)
        if now.rests <= now.time:
            return self._snapshot.hold.copy(), zero, zero
        place, rate, acceleration = self._snapshot.motion
        since = min(max(0.0, time - now.time), max(0.0, now.rests - now.time))
        moved = place + since * (rate + 0.5 * since * acceleration)
        if time >= now.rests:
            return moved, zero, zero
        return moved, rate + since * acceleration, acceleration.copy()

    def motion(self, times: Array) -> tuple[Array, Array, Array]:
        """Coordinates of the references at ``times`` (m,) [s], and their derivatives, (m, n) each."""
        found = np.empty((3, len(times), self._joints))
        left = np.ones(len(times), dtype=bool)
        now = self._snapshot.read()
        for each in self._queue(now):
            begun = left & (times >= each.start)
            found[:, begun] = each.spline.at(times[begun])
            found[1:, begun & (times >= each.end)] = 0.0
            left &= ~begun
        for k in np.flatnonzero(left):
            found[:, k] = self._unplanned(now, float(times[k]))
        return found[0], found[1], found[2]

    def queue(self) -> tuple[SplineTrajectory[R], ...]:
        """Trajectories that are followed or wait, the last one first."""
        return tuple(self._queue(self._snapshot.read()))

    def follows(self, trajectory: object) -> bool:
        """True if ``trajectory`` waits, is followed, also beside another, or was followed to its end last."""
        now = self._snapshot.read()
        return any(
            number in self._kept and _has(self._kept[number].trajectory, trajectory)
            for number in (self.waiting(now), *now.waiting, now.current, now.finished)
        )

    def accept(
        self, planned: Planned[R], continues: int = 0, at_once: bool = False, while_latched: bool = False
    ) -> str:
        """Hand a plan over, or tell why it is void already.

        Args:
            planned: the plan, along a spline.
            continues: number of the plan in force, if it only goes on with that; 0: it is another one.
            at_once: in place of one that waits, even if that begins earlier.
            while_latched: whether it is taken up during a protective stop.

        Raises:
            TrajectoryError: it is not along quintics, or not of this machine.
        """
        trajectory = planned.trajectory
        if not along_a_spline(trajectory):
            raise TrajectoryError("this controller follows planned trajectories along quintics only")
        spline = trajectory.spline
        if (moved := spline.coefficients.shape[-1]) != self._joints:
            raise TrajectoryError(f"the plan moves {moved} coordinates; this machine has {self._joints}")
        now = self._snapshot.read()
        waiting = self.waiting(now)
        if now.trip.latched and not while_latched:
            return LATCHED
        if planned.epoch != self.epoch(now) or not PHASES[now.phase].controls:
            return VOID
        if waiting and not at_once and trajectory.start > self._kept[waiting].trajectory.start:
            return PLAN_WAITS
        if trajectory.start < now.time:
            return late(now.time - trajectory.start)
        number = max([int(now.considered), *self._kept]) + 1
        # It takes the place of one that waits: that one would never have been followed.
        exact = not getattr(trajectory, "streamed", True)
        given, arrays = plan_value(spline, number, now.epoch, continues, while_latched, exact)
        oldest, finished = now.oldest_plan, now.finished
        self._kept = {n: kept for n, kept in self._kept.items() if n >= oldest or n == finished}
        self._kept[number] = _Kept(trajectory, given, arrays)
        self._library.rd_core_offer_plan(self._core, given)
        return ""

    def withdraw(self) -> bool:
        """Take back the last plan, so that what it replaced goes on; False: something else came since."""
        return bool(self._library.rd_core_withdraw_plan(self._core, self.last))

    def considered(self) -> Any:
        """The picture after the core has looked at the plan that waits."""
        now = self._snapshot.read()
        if self.waiting(now):
            self._take()
            now = self._snapshot.read()
        return now

    def verdict(self) -> str:
        """Reason why the plan handed over last is discarded; empty where the core follows it.

        A thread that is starved may not have looked at it yet; the plan counts all the same when it does.
        """
        now = self.considered()
        verdict = "accepted" if self.waiting(now) else VERDICTS[now.verdict]
        reasons = {"accepted": "", "late": late(now.late), "queue_full": QUEUE_FULL, "latched": LATCHED}
        return reasons.get(verdict, VOID)
