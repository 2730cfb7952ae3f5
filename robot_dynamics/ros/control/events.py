"""Events of a control loop: read from its record, logged, and kept for the diagnostics."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.core.snapshot import PHASES
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.control.protocol import Command, Phase
from robot_dynamics.control.supervision import TRIP_FIELDS, Trip
from robot_dynamics.errors import short
from robot_dynamics.ros.control.cycle_monitor import CycleMonitor
from robot_dynamics.ros.control.records import CALM, Cycles, Rows
from robot_dynamics.ros.control.session import Session
from robot_dynamics.ros.support.rate_limited_log import RateLimitedLog

THROTTLE = 2.0
"""Seconds between two log lines about the same recurring fault."""
CLOCKS_APART = 1.0
"""Difference between the clock of the states' stamps and the node's that is reported [s]."""
REASONS = 3
"""Refused messages of which each is logged at once, for their reasons may differ."""

_CONTROLS = np.array([phase.controls for phase in PHASES])
_KINDS = {name: number for number, name in enumerate(enumerators("rd_record_kind"))}
_ANSWERED, _OBSERVED, _NO_EFFORT = _KINDS["answered"], _KINDS["observed"], _KINDS["no_effort"]
_STATES_LOST = _KINDS["states_lost"]


class LoopEvents:
    """Takes note of what happens in a loop and logs it, throttled where it may recur in every cycle.

    Attributes:
        refused: messages that were not used.
        losses: how often joint states were lost.
        jumps: how often a state could not follow from the one before.
        unsafe: why the controller had no effort for the last state; empty when it had one.
        saturated: names of the joints whose efforts were cut in the last cycle.
        refused_requests: trajectories and goals that are not followed.
        last_refused: the last of them, with the reason; empty before the first.
        trips: how often a rule of supervision was broken.
        last_trip: the last of them in words; empty before the first.
        on_stop: called when a rule has begun a protective stop.
        dropped: tells what is dropped when the machine leaves what it follows, for the log.

    Args:
        node: whose log it is.
        changed: called when the diagnostics must not wait for their turn.
    """

    def __init__(self, node: Node, changed: Callable[[], None]) -> None:
        self.refused = self.losses = self.jumps = 0
        self.unsafe = ""
        self.saturated: Sequence[str] = ()
        self.refused_requests = 0
        self.last_refused = ""
        self.trips = 0
        self.last_trip = ""
        self.on_stop: Callable[[], None] = lambda: None
        self.dropped: Callable[[], str] = str
        self._log = node.get_logger()
        self._complain = RateLimitedLog(self._log)
        self._mention = RateLimitedLog(self._log, severe=False, burst=REASONS, period=THROTTLE)
        self._doubt = RateLimitedLog(self._log, severe=False)
        self._changed = changed
        # In simulated time, and in lockstep, states have a clock of their own.
        own = ("use_sim_time", "lockstep")
        self._judges_clocks = not any(node.has_parameter(n) and node.get_parameter(n).value for n in own)
        self._apart = 0.0

    def stamped(self, stamp: int, arrived: int) -> None:
        """The clock of a state, with a stamp and an arrival at a steady time [ns], beside the node's."""
        if not self._judges_clocks or not stamp:
            return
        behind = 1e-9 * (time.time_ns() - time.monotonic_ns() + arrived - stamp)
        if abs(behind - self._apart) < max(CLOCKS_APART, 0.1 * abs(self._apart)):
            return
        self._apart = behind
        if abs(behind) < CLOCKS_APART:
            self._log.info("the stamps of the joint states agree with this computer's clock again")
            return
        where = f"{short(abs(behind))} s {'behind' if behind > 0.0 else 'ahead of'} this computer's clock"
        self._log.warning(
            f"joint states are stamped {where}: synchronise the clocks, for the stamp of a trajectory"
            " counts on the states' clock; a simulator needs use_sim_time"
        )

    def refuse(self, reason: str) -> None:
        """A message is not used; this may recur."""
        self.refused += 1
        self._mention(reason)

    def refuse_request(self, reason: str) -> None:
        """Report that a request is refused."""
        self.refused += 1
        self.refused_requests += 1
        self.last_refused = reason
        self._complain(reason)

    def no_effort(self, reason: str) -> None:
        """The controller has no effort for a state."""
        self.unsafe = reason
        self._warn(f"safe output: {reason}")

    def answered(
        self, command: Command, joint_names: Sequence[str], discontinuity: str, safe_output: str, back: bool
    ) -> None:
        """The controller has answered a state.

        Args:
            command: that was sent.
            joint_names: of the controller.
            discontinuity: why the state cannot follow from the one before; empty when it can.
            safe_output: what the controller declares as such, for people.
            back: whether the safe output of the watchdog ended with this state.
        """
        cut = command.saturated
        self.saturated = (
            [name for name, one in zip(joint_names, cut, strict=True) if one] if cut.any() else ()
        )
        sent = "holding here" if command.phase.controls else f"safe output {safe_output}"
        if command.phase is Phase.STOPPING:
            sent = "stopping here"
        if discontinuity:
            self.jumps += 1
            dropped = self.dropped()
            # A jump may recur in every cycle, but what it drops is always logged.
            tell = self._log.warning if dropped else self._doubt
            tell(f"{discontinuity}: {sent}, nothing is followed any more{dropped}")
        elif command.phase is Phase.FAULT:
            self._warn(f"the model gave no usable effort: {sent}")
        if back:
            self._log.info(f"joint states are back: {sent.replace(' here', '')}")
            self._changed()
        self.unsafe = "" if command.phase.controls else discontinuity or "the model gave no usable effort"
        if self.saturated:
            self._warn(self.limited)

    @property
    def limited(self) -> str:
        """Names of the efforts that were cut, in words."""
        return f"effort limited at {', '.join(self.saturated)}"

    def tripped(self, line: str, stops: bool) -> None:
        """A rule of supervision was broken; it ``stops`` the robot, or is reported only."""
        self.trips += 1
        self.last_trip = line
        if stops:
            self.on_stop()
        if stops:
            self._log.error(f"protective stop: {line}{self.dropped()}")
        else:
            self._log.warning(line)
        self._changed()

    def states_lost(self, age: float, safe_output: str) -> None:
        """None came for ``age`` [s]; without a ``safe_output`` one has come before that began."""
        self._lose(f"no joint state for {short(age)} s", safe_output)

    def senders_gone(self, age: float, safe_output: str) -> None:
        """In simulated time: nobody publishes joint states any more, the last one is ``age`` [s] old."""
        reason = f"nobody publishes joint states any more, the last one is {short(age)} s old"
        self._lose(reason, safe_output)

    def clock_stands(self, stood: float, safe_output: str) -> None:
        """Joint states go on while the simulated clock has not moved for ``stood`` [s], or never did.

        Without a ``safe_output`` nothing has been controlled yet, and nothing is sent.
        """
        how = "there is no /clock" if math.isinf(stood) else f"/clock has stood still for {short(stood)} s"
        sent = f"safe output {safe_output}" if safe_output else "nothing is sent"
        self._log.error(f"joint states go on while {how}: {sent}; use_sim_time is for simulators")
        self._changed()

    def front_lost(self, silence: float, safe_output: str) -> None:
        """The node's thread had not looked after the loop for ``silence`` [s]; now it does again."""
        hung = f"the node's own thread hung for {short(silence)} s"
        self._log.error(f"{hung}: safe output {safe_output}{self.dropped()}")
        self._changed()

    def loop_hangs(self, safe_output: str) -> None:
        """The control loop gives no sign of life: its watchdog sends the fail-safe output."""
        self.unsafe = "the control loop hangs"
        self._log.error(
            f"the control loop hangs: safe output {safe_output}, from its watchdog{self.dropped()}"
        )
        self._changed()

    def loop_hung(self, duration: float, safe_output: str) -> None:
        """The control loop had hung for ``duration`` [s]; now it goes on."""
        hung = f"the control loop hung for {short(duration)} s"
        self._log.error(f"{hung}: safe output {safe_output}, from its watchdog{self.dropped()}")
        self._changed()

    def _lose(self, reason: str, safe_output: str) -> None:
        self.losses += 1
        sent = f"safe output {safe_output}" if safe_output else "holding"
        self._log.error(f"{reason}: {sent}{self.dropped()}")
        self._changed()

    def _warn(self, text: str) -> None:
        self._log.warning(text, throttle_duration_sec=THROTTLE)


class RecordReader:
    """Reads records by the block: every cycle of work in Python is taken from the loop's own processor.

    Args:
        events: gets what happens.
        monitor: of the cycles.
        on_cycles: called for the answers since the last call; returns how long the next call may wait [s].
    """

    def __init__(
        self,
        events: LoopEvents,
        monitor: CycleMonitor,
        on_cycles: Callable[[Cycles, Any], float],
    ) -> None:
        self._events = events
        self._monitor = monitor
        self._on_cycles = on_cycles

    def read(self, session: Session) -> float:
        """Take what the loop has recorded of a controller; returns how long the next look may wait [s]."""
        patience = CALM
        for rows in session.records():
            head = rows["head"]
            states = head[head["kind"] < _STATES_LOST]
            self._monitor.add(1e-9 * states["arrived"], 1e-9 * (states["left"] - states["arrived"]))
            if len(states):
                self._events.stamped(int(states["stamp"][-1]), int(states["arrived"][-1]))
            answered = head["kind"] == _ANSWERED
            if answered.any():
                patience = self._on_cycles(Cycles(rows[answered], session.cycle), session.controller)
            for place in np.flatnonzero(_notable(rows, answered)):
                self._report(session, rows[place])
        return patience

    def _report(self, session: Session, row: Any) -> None:
        """Report the event of one record."""
        head, controller = row["head"], session.controller
        if head["trip"]["rule"]:
            trip = Trip.of(SimpleNamespace(**{name: head["trip"][name].item() for name in TRIP_FIELDS}))
            self._events.tripped(controller.words_of_trip(trip), trip.stops)
        kind, age, back = int(head["kind"]), float(head["age"]), bool(head["back"])
        safe_output = controller.parameters.fail_safe
        if kind == _STATES_LOST:
            self._events.states_lost(age, "" if back else safe_output)
        elif kind == _KINDS["front_lost"]:
            self._events.front_lost(age, safe_output)
        elif kind == _KINDS["loop_hung"]:
            self._events.loop_hung(age, safe_output)
        elif kind == _KINDS["senders_gone"]:
            self._events.senders_gone(age, "" if back else safe_output)
        elif kind == _KINDS["clock_stands"]:
            begun = PHASES[head["phase"]] is not Phase.WAITING
            self._events.clock_stands(age if age >= 0.0 else math.inf, safe_output if begun else "")
        elif kind == _NO_EFFORT:
            words = _discontinuity(controller, head)
            given = f"the model has no finite effort for this state: {words}" if words else ""
            self._events.no_effort(given or str(controller.failure()))
        elif kind == _ANSWERED:
            command = session.cycle(row).command
            names = session.order.joint_names
            self._events.answered(command, names, _discontinuity(controller, head), safe_output, back)


def _discontinuity(controller: CoreController[Any], head: Any) -> str:
    """Reason why a recorded state cannot follow from the one before; empty when it can."""
    names = ("discontinuity", "discontinuity_size", "discontinuity_more")
    return controller.words_of(SimpleNamespace(**{name: head[name].item() for name in names}))


def _notable(rows: Rows, answered: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Records that tell more than the ones after them.

    Of answers as usual only the last says what holds now, and the last of those whose efforts were cut.
    """
    head = rows["head"]
    calm: NDArray[np.bool_] = answered & _CONTROLS[head["phase"]]
    calm &= (head["discontinuity"] == 0) & (head["back"] == 0) & (head["trip"]["rule"] == 0)
    notable: NDArray[np.bool_] = ~calm & ((head["kind"] != _OBSERVED) | (head["trip"]["rule"] != 0))
    for usual in (calm, calm & (rows["unlimited"] != rows["effort"]).any(axis=1)):
        notable[np.flatnonzero(usual)[-1:]] = True
    return notable
