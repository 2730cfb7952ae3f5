"""Face of a controller for those who use it: phases, commands, trajectories and plans."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.control.parameters import LoopParameters
from robot_dynamics.errors import StoppingError, TrajectoryError, short
from robot_dynamics.inputs.arrays import real_number
from robot_dynamics.spatial import Array

VOID = "a hold, a jump, a loss of states or another trajectory came first"
"""Reason for which a plan is discarded whose epoch is over."""
LATCHED = "a protective stop is in force: remove its cause, then call ~/reset_fault"
"""Reason for which a plan is refused during a protective stop."""

MOVES = "the robot still moves: call ~/reset_fault when it is at rest"
"""Reason for which a protective stop is not reset."""

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Phase(enum.Enum):
    """Phases of a controller, in the words of the core's header."""

    WAITING, HOLDING, TRACKING, STALE, FAULT, PROTECTIVE_STOP, STOPPING, GUIDED = enumerators(
        "rd_phase"
    ).values()

    @property
    def controls(self) -> bool:
        """True if feedback is in force."""
        return self not in (Phase.WAITING, Phase.STALE, Phase.FAULT)


@dataclass(frozen=True, init=False)
class Command:
    """Output of a controller in one cycle.

    Attributes:
        effort: (n,) within the limits, in the order of the controller's joints [N·m or N].
        unlimited: (n,) what the law, with its filters, asked for before the limits.
        reference: where the machine shall be now; its type is the controller's.
        phase: of the controller in this cycle.
    """

    effort: Array
    unlimited: Array
    reference: Any
    phase: Phase

    def __init__(self, effort: Array, unlimited: Array, reference: Any, phase: Phase) -> None:
        own = self.__dict__  # a frozen dataclass's own takes twice as long, and a cycle makes one
        own["effort"], own["unlimited"], own["reference"], own["phase"] = effort, unlimited, reference, phase

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """(n,) joints whose effort was cut."""
        return np.asarray(self.effort != self.unlimited)


class FollowedTrajectory(Protocol[R_co]):
    """References over a span of time, at rest after its end."""

    @property
    def start(self) -> float:
        """[s], on the controller's clock."""

    @property
    def end(self) -> float:
        """[s], on the controller's clock."""

    def sample(self, time: float) -> R_co:
        """The reference at ``time`` [s]."""


@dataclass(frozen=True)
class PlanStart(Generic[R]):
    """Place and time at which a plan may begin: all that planning needs to know of a controller.

    Attributes:
        start: when time 0 of the waypoints is, on the controller's clock [s].
        now: the earliest moment at which the plan may begin [s].
        origin: the reference at the later of both.
        epoch: of the controller when this was asked; see :meth:`Controller.accept`.
        queue: trajectories that are followed or wait, the last one first.
    """

    start: float
    now: float
    origin: R
    epoch: int
    queue: tuple[Any, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Planned(Generic[R]):
    """A finished plan, ready to be handed over.

    Attributes:
        trajectory: what is to be followed.
        epoch: of the plan start for which it was planned.
    """

    trajectory: FollowedTrajectory[R]
    epoch: int


class Plannable(Protocol[R_co]):
    """State of a controller that planning needs."""

    @property
    def phase(self) -> Phase:
        """Activity of the controller."""

    @property
    def time(self) -> float:
        """Of the last joint state [s]."""

    @property
    def epoch(self) -> int:
        """Counts what makes an unfinished plan void: holds, discontinuities, losses and newer plans."""

    def reference(self, time: float) -> R_co:
        """The reference at ``time`` [s]."""


class Controller(Plannable[R], Protocol[R]):
    """The state machine of any machine, as a node or a loop of one's own drives it."""

    @property
    def discontinuity(self) -> str:
        """Reason that the last state cannot follow the one before, which ended the motion; else empty."""

    @property
    def parameters(self) -> LoopParameters:
        """Those in force."""

    @property
    def effort_limits(self) -> Array:
        """(n,) [N·m or N], infinite where there is none."""

    def update(self, time: float, position: Array, velocity: Array) -> Command:
        """One control cycle: the answer to a joint state."""

    def observe(self, position: Array) -> None:
        """Keep the last known position (n,) fresh while the controller does not control."""

    def lost_states(self, age: float = 0.0) -> None:
        """Joint states have stopped, the last is ``age`` old [s]: now :meth:`safe_command` goes out."""

    def safe_command(self, since: float) -> Command:
        """The declared safe output, ``since`` seconds after the fault began."""

    def hold(self) -> None:
        """Stop following and hold where the machine is."""

    def follows(self, trajectory: FollowedTrajectory[R]) -> bool:
        """True if ``trajectory`` is being followed, or will be from its start on."""

    def plan_start(self, start: float | None, allowance: float = 0.0) -> PlanStart[R]:
        """Start of a plan; asked before planning, outside the cycle.

        Args:
            start: when time 0 of the waypoints is [s]; as soon as possible when None.
            allowance: how long planning may take [s].

        Raises:
            StoppingError: the robot slows down to a stop; a moment later a plan may begin.
            TrajectoryError: the controller does not control.
        """

    def accept(self, planned: Planned[R]) -> str:
        """Follow a finished plan, or tell why it is discarded; takes as long for a short one."""


def plan_start_of(controller: Plannable[R], start: float | None, allowance: float) -> PlanStart[R]:
    """See :meth:`Controller.plan_start`, which this is for every controller."""
    if controller.phase is Phase.PROTECTIVE_STOP:
        raise TrajectoryError(LATCHED)
    if not controller.phase.controls:
        raise TrajectoryError(f"the controller is not ready for a trajectory: {controller.phase.value}")
    if controller.phase is Phase.STOPPING:
        raise StoppingError
    epoch = controller.epoch
    now = controller.time + real_number("allowance", allowance, TrajectoryError)
    begin = now if start is None else real_number("start", start, TrajectoryError)
    # Where the reference will be at the plan start is where the new path begins, so nothing jumps.
    return PlanStart(begin, now, controller.reference(max(begin, now)), epoch)


def late(seconds: float) -> str:
    """Reason for which a plan is discarded that should have begun so long ago [s]."""
    return f"planning took {short(seconds)} s longer than it was allowed to"
