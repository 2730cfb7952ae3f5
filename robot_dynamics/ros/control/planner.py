"""Plans trajectories beside the loop: a cycle never waits for work whose cost depends on a message."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robot_dynamics.control.core.plans import PLAN_WAITS
from robot_dynamics.control.protocol import VOID, FollowedTrajectory, Planned, PlanStart
from robot_dynamics.errors import StoppingError, TrajectoryError
from robot_dynamics.ros.control.session import StateClock
from robot_dynamics.ros.support.background import Background
from robot_dynamics.ros.support.faults import explain

ALLOWANCE = 0.02
"""Time that a plan gets at first between the last state and its start [s of the states' clock]."""
MOST_ATTEMPTS = 6
"""Number of times that a plan that came too late is made again, with more time each time."""
MOST_WAITING = 10
"""Trajectories that wait to be planned; further ones are refused."""
CROWD = 3
"""Trajectories that may wait although newer ones replace them: targets of a stream belong together."""
REPLACED = "a newer one has replaced it before it was planned"
RETRY = 0.05
"""Steady seconds until a plan is made again whose predecessor has not been looked at."""


class Followed(Protocol):
    """Follower of the plans: a controller, or what stands for one. See ``protocol.Controller``."""

    @property
    def time(self) -> float:
        """The present [s]."""

    @property
    def epoch(self) -> int:
        """Counts what makes an unfinished plan void."""

    def hold(self) -> None:
        """Stop following."""

    def plan_start(self, start: float | None, allowance: float) -> PlanStart[Any]:
        """Start of a plan that is ready within ``allowance`` [s]."""

    def accept(self, planned: Planned[Any]) -> str:
        """Follow a finished plan, or tell why it is discarded."""


F = TypeVar("F", bound=Followed)
F_co = TypeVar("F_co", bound=Followed, covariant=True)


class HasController(Protocol[F_co]):
    """Owner of the follower of the plans."""

    @property
    def controller(self) -> F_co | None:
        """In force; None while there is none."""

    @property
    def active(self) -> bool:
        """Return whether trajectories are followed."""

    @property
    def clock(self) -> StateClock:
        """Of the controller in force."""


@dataclass(frozen=True)
class PlanRequest:
    """Request of a message, decoded.

    Attributes:
        stamp: when time 0 of its points is [ns]; 0: as soon as possible.
        points: their number; without any, the machine is to hold where it is.
        plan: makes a trajectory that leaves a plan start; it changes nothing.
    """

    stamp: int
    points: int
    plan: Callable[[PlanStart[Any]], Planned[Any]]


@dataclass(frozen=True)
class Head:
    """Facts about a message of a topic that are known before it is decoded.

    Attributes:
        topic: that it came on.
        joints: that it moves.
        stamp: when time 0 of its points is [ns]; 0: as soon as possible.
    """

    topic: str
    joints: frozenset[str]
    stamp: int

    def replaces(self, older: Head, now: int) -> bool:
        """Return whether nothing would be followed of an ``older`` message that still waits ``now`` [ns]."""
        return (
            self.topic == older.topic
            and self.joints >= older.joints
            and max(self.stamp, now) <= max(older.stamp, now)
        )


@dataclass(frozen=True)
class _Job(Generic[F]):
    """A trajectory on its way.

    Attributes:
        controller: for which it was sent.
        generation: of what is planned then; see ``Planner._look``.
        decode: what the message asks for; touches nothing of the node.
        followed: called when it is followed; None: the machine holds.
        refused: called with the reason it is not.
        wanted: whether it still is.
        head: of its message; None: nothing replaces it while it waits.
    """

    controller: F
    generation: int
    decode: Callable[[], PlanRequest]
    followed: Callable[[FollowedTrajectory[Any] | None], None]
    refused: Callable[[str], None]
    wanted: Callable[[], bool]
    head: Head | None


class Planner(Generic[F]):
    """Decodes and plans one trajectory after the other in a thread, and hands them over in the node's own.

    A plan departs at now and its allowance, or when a stop has come to rest. It is discarded when a hold, a
    jump, a loss of states or another controller came after the trajectory had been sent; one that comes late
    is made again with more time. Where several wait, those are dropped that a newer one of their topic
    replaces. In lockstep, where the plant waits for each answer, everything is done at once, so that runs can
    be repeated.

    Args:
        node: whose callbacks hand the plans over.
        loop: has the controller.
        lockstep: do everything at once.
    """

    def __init__(self, node: Node, loop: HasController[F], lockstep: bool) -> None:
        self._node = node
        self._loop = loop
        self._lockstep = lockstep
        self._generation = 0
        self._seen: tuple[object, int] | None = None
        self._background = Background(node)
        self._jobs: deque[_Job[F]] = deque()

    def follow(
        self,
        decode: Callable[[], PlanRequest],
        followed: Callable[[FollowedTrajectory[Any] | None], None],
        refused: Callable[[str], None],
        wanted: Callable[[], bool] = lambda: True,
        head: Head | None = None,
    ) -> None:
        """Follow a trajectory as soon as it is planned; what is followed now goes on until then.

        Args:
            decode: what is wanted; called in a thread, it touches nothing of the node.
            followed: called when it is followed from now on, in the node's thread; None: the machine holds.
            refused: called with the reason it is not, in the node's thread.
            wanted: whether it still is; asked between two steps.
            head: of its message, where it replaces older ones that wait, and newer ones replace it.
        """
        controller = self._loop.controller
        if controller is None or not self._loop.active:
            refused("the controller is not active")
            return
        if head is not None and len(self._jobs) > CROWD:
            self._drop_replaced(head, controller.time)
        if len(self._jobs) >= MOST_WAITING:
            refused(f"{MOST_WAITING} trajectories are being planned already")
            return
        job = _Job(controller, self._look(), decode, followed, refused, wanted, head)
        if self._lockstep:
            self._at_once(job)
            return
        self._jobs.append(job)
        if len(self._jobs) == 1:
            self._begin(job)

    def _drop_replaced(self, head: Head, time: float) -> None:
        """Refuse what waits at a ``time`` [s] and would be replaced; before the first state nothing."""
        waiting = list(self._jobs)[1:] if math.isfinite(time) else []
        for job in waiting:
            if job.head is not None and head.replaces(job.head, self._loop.clock.nanoseconds(time)):
                self._jobs.remove(job)
                job.refused(REPLACED)

    def _at_once(self, job: _Job[F]) -> None:
        try:
            wanted = job.decode()
            if wanted.points:
                planned = wanted.plan(self._plan_start(job, wanted, 0.0))
                if reason := self._hand_over(job, planned):
                    raise TrajectoryError(reason)
                job.followed(planned.trajectory)
            else:
                job.controller.hold()
                job.followed(None)
        except StoppingError:
            self._wait(lambda: self._repeat(job))
        except Exception as error:  # whatever it is, what was followed before goes on
            job.refused(explain(error))

    # One job after the other; each step ends with the next one, or with the job

    def _begin(self, job: _Job[F]) -> None:
        self._background.submit(
            "trajectory",
            job.decode,
            lambda wanted: self._plan(job, wanted),
            lambda reason: self._refuse(job, reason),
        )

    def _plan(
        self, job: _Job[F], wanted: PlanRequest, allowance: float = ALLOWANCE, attempt: int = 1
    ) -> None:
        """The message is decoded: let it be planned."""
        if not wanted.points:
            job.controller.hold()
            self._end(lambda: job.followed(None))
            return
        try:
            plan_start = self._plan_start(job, wanted, allowance)
        except StoppingError:
            self._wait(lambda: self._again(job, wanted))
            return

        def take(planned: Planned[Any]) -> None:
            reason = self._hand_over(job, planned)
            if not reason:
                self._end(lambda: job.followed(planned.trajectory))
            elif reason == PLAN_WAITS:
                self._wait(lambda: self._again(job, wanted))
            elif job.controller.epoch == planned.epoch and attempt < MOST_ATTEMPTS:
                late = job.controller.time - planned.trajectory.start
                self._plan(job, wanted, 2.0 * (allowance + max(0.0, late)), attempt + 1)
            else:
                raise TrajectoryError(reason)

        self._background.submit(
            "trajectory", lambda: wanted.plan(plan_start), take, lambda reason: self._refuse(job, reason)
        )

    def _wait(self, then: Callable[[], None]) -> None:
        """Try again in a while; the clock of the states may stand still meanwhile."""

        def go_on() -> None:
            self._node.destroy_timer(timer)
            then()

        timer = self._node.create_timer(RETRY, go_on, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _again(self, job: _Job[F], wanted: PlanRequest) -> None:
        try:
            self._plan(job, wanted)
        except TrajectoryError as error:
            self._refuse(job, str(error))

    def _repeat(self, job: _Job[F]) -> None:
        if self._loop.active:
            self._at_once(job)
        else:
            job.refused("the controller is not active")

    def _refuse(self, job: _Job[F], reason: str) -> None:
        if self._jobs and self._jobs[0] is job:
            self._end(lambda: job.refused(reason))
        else:
            self._node.get_logger().error(reason)

    def _end(self, tell: Callable[[], None]) -> None:
        """The first job is done with."""
        self._jobs.popleft()
        try:
            tell()
        finally:
            if self._jobs:
                self._begin(self._jobs[0])

    # The controller

    def _plan_start(self, job: _Job[F], wanted: PlanRequest, allowance: float) -> PlanStart[Any]:
        self._check(job)
        start = None if wanted.stamp == 0 else self._loop.clock.seconds(wanted.stamp)
        return job.controller.plan_start(start, allowance)

    def _hand_over(self, job: _Job[F], planned: Planned[Any]) -> str:
        """See ``Controller.accept``."""
        self._check(job)
        reason = job.controller.accept(planned)
        if not reason:
            self._seen = job.controller, job.controller.epoch
        return reason

    def _check(self, job: _Job[F]) -> None:
        """TrajectoryError when the job is void."""
        if not job.wanted():
            raise TrajectoryError("it is not wanted any more")
        if self._loop.controller is not job.controller or not self._loop.active:
            raise TrajectoryError("the controller that it was sent to is not active any more")
        if job.generation != self._look():
            raise TrajectoryError(VOID)

    def _look(self) -> int:
        """The generation of what is planned: another one after everything that voids it, but not after a plan
        that was accepted from here."""
        controller = self._loop.controller
        now = (controller, controller.epoch) if controller is not None else None
        if now != self._seen:
            self._generation += 1
            self._seen = now
        return self._generation
