"""A host of the control loop: it brings the loop its joint states and sends its commands.

Cycle, watchdog, fail-safe output and record are the loop's (``control/core/loop.c``), whichever host runs it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.core.library import load_core
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.control.stream_clock import LeastDelay
from robot_dynamics.errors import StateError
from robot_dynamics.ros.control.command_publisher import CommandTopics
from robot_dynamics.ros.control.cycle_monitor import CycleMonitor
from robot_dynamics.ros.control.events import LoopEvents, RecordReader
from robot_dynamics.ros.control.native.library import ffi
from robot_dynamics.ros.control.native.listener import Listener
from robot_dynamics.ros.control.records import CALM, Cycles
from robot_dynamics.ros.control.session import Session, StateClock
from robot_dynamics.ros.support.messages import JointSample, motions
from robot_dynamics.ros.support.spin import StopEvent

C = TypeVar("C", bound=CoreController[Any])
_NOT_KNOWN = -(2**63)
_REQUESTS = {name: number for number, name in enumerate(enumerators("rd_request"))}


class Host(Generic[C]):
    """Common part of the thread and the Python host.

    Args:
        node: whose joint states are answered.
        topics: where the efforts go.
        lockstep: receive joint states reliably and do not judge their age.
        events: gets what happens.
        on_cycles: called for the answers since the last call, in the node's thread; returns how long the
            next call may wait [s].

    Attributes:
        ahead: subscriptions whose messages are taken before what the controller follows is led on.
        library: of the host.
        loop: ``rd_loop *``.
        runs_python: whether a law in Python can be called.
        looks: called after answers, and now and then without, in the node's thread; each returns how long
            the next look may wait [s].
    """

    name: str
    """Of the host, for the diagnostics."""
    library: Any
    loop: Any
    _host: Any
    runs_python: bool

    def __init__(
        self,
        node: Node,
        topics: CommandTopics,
        lockstep: bool,
        events: LoopEvents,
        on_cycles: Callable[[Cycles, Any], float],
    ) -> None:
        self.ahead: Sequence[Subscription] = ()
        self._ahead, self._system = LeastDelay(), LeastDelay()
        self._timed: C | None = None
        self.looks: list[Callable[[], float]] = []
        self._node = node
        self._topics = topics
        self._lockstep = lockstep
        self._simulated = bool(node.get_parameter("use_sim_time").value)
        self._events = events
        self._monitor = CycleMonitor()
        self._reader = RecordReader(events, self._monitor, on_cycles)
        self._sessions: list[Session] = []
        self._in_force: Session | None = None
        self._listener: Listener | None = None
        self._active = False
        self._status = ffi().new("rd_host_status *")
        self._others = ffi().new("rd_others *")

    # What is known

    @property
    def controller(self) -> C | None:
        """The controller in force; None while the node is not configured."""
        return None if self._in_force is None else self._in_force.controller  # type: ignore[return-value]

    @property
    def active(self) -> bool:
        """True while joint states are answered."""
        return self._active

    @property
    def halting(self) -> bool:
        """True while the fail-safe output is sent."""
        return bool(self.look().halting)

    @property
    def clock(self) -> StateClock:
        """The clock of the controller in force."""
        return StateClock() if self._in_force is None else self._in_force.clock

    def time_of_arrival(self, received: int) -> float | None:
        """Time of a message's arrival on the controller's clock [s]; None where that clock is no real time.

        Joint states come with delays of their own: the least of them counts.

        Args:
            received: time by the system's clock [ns]; 0: not known.
        """
        status = self.look()
        if (
            self._lockstep
            or self._simulated
            or not received
            or self.controller is None
            or status.ahead == _NOT_KNOWN
        ):
            return None
        if self.controller is not self._timed:
            self._timed = self.controller
            self._ahead = LeastDelay()
        now, system = time.monotonic_ns(), time.time_ns()
        ahead = self._ahead.note(1e-9 * status.ahead, 1e-9 * now)
        # This thread may be interrupted between the two clocks.
        steady = 1e-9 * received - self._system.note(1e-9 * (system - now), 1e-9 * now)
        most = float(self.controller.parameters.state_timeout)
        last = 1e-9 * float(status.last_state)
        return min(max(steady, last - most), last + most) - ahead

    @property
    def joint_names(self) -> Sequence[str]:
        """Joints of the controller in force, in its order."""
        return () if self._in_force is None else self._in_force.order.joint_names

    @property
    def cycles(self) -> int:
        """Number of joint states since the node began."""
        return int(self.look().states)

    def timing(self) -> Mapping[str, str]:
        """Rate, lateness and duration of the last cycles, for people."""
        unread = sum(session.lost for session in self._sessions)
        values = self._monitor.values(self.look().last_state)
        return {**values, "loop": self.name, "unread cycles": str(unread)}

    def late(self) -> list[str]:
        """Faults in the timing of the joint states, for people."""
        # In lockstep the simulator's clock stands still while it waits, however long that takes.
        if self._lockstep or self._simulated or self.controller is None:
            return []
        return self._monitor.warnings(self.controller.parameters.state_timeout, self.look().last_state)

    @property
    def hears(self) -> bool:
        """True where efforts and brake commands of others are noticed."""
        return self._listener is not None

    @property
    def identity(self) -> bytes:
        """Of the publisher of efforts, as DDS knows it; empty where others are not noticed."""
        return b"" if self._listener is None else self._listener.identity

    def others(self) -> Any:
        """``rd_others *``: efforts and brake commands of others until now."""
        self.library.rd_host_others(self._host, self._others)
        return self._others

    def listen(self) -> None:
        """Look now for what others have sent."""
        self._until_met()

    def look(self) -> Any:
        """``rd_host_status *`` of now."""
        raise NotImplementedError

    # Requests of the node

    def use(self, controller: C, joint_names: Sequence[str]) -> None:
        """Use a controller from now on, and a new clock with it."""
        session, before = Session(self.library, controller, joint_names), self._in_force
        if before is not None and self._active and before.order.joint_names == session.order.joint_names:
            controller.take_over_from(before.controller)  # before the first state comes to it
        self._sessions.append(session)
        self._in_force = session
        self._begin(session)
        load_core().rd_loop_offer(self.loop, session.handle)
        self._until_met()
        self._free_sessions()
        self._events.unsafe = ""

    def forget(self) -> None:
        """Drop the controller; a fail-safe output that is being sent goes on."""
        self._in_force = None
        load_core().rd_loop_offer(self.loop, ffi().NULL)
        self._until_met()

    def activate(self) -> None:
        """Answer joint states from now on."""
        self._active = True
        self.library.rd_host_claim(self._host, time.monotonic_ns())
        self._request("activate")

    def halt(self) -> None:
        """Answer no more: the fail-safe output is sent until it has faded."""
        self._active = False
        self._request("halt")

    def brake(self, engaged: bool) -> None:
        """Command the brakes; the loop repeats it while it is active, and engages them when it halts."""
        self.library.rd_host_brake(self._host, engaged)

    def drain(self) -> None:
        """The process ends: halt, and return when the last effort has faded and arrived."""
        raise NotImplementedError

    def engage_at_once(self) -> None:
        """The process is about to end, without a stop: engage the brakes, whatever moves."""
        if self._topics.brake is not None:
            self.library.rd_host_brake(self._host, 2)
            self._topics.engage()

    def spin(self, stop: StopEvent) -> None:
        """Run the node until the event."""
        raise NotImplementedError

    def _request(self, what: str) -> None:
        """Let the loop ``hold``, ``activate``, ``halt`` or ``take_plan``; returns when it has."""
        load_core().rd_loop_request(self.loop, _REQUESTS[what])
        self._until_met()

    def _until_met(self) -> None:
        """Return when the loop has met every request."""
        raise NotImplementedError

    # Sessions

    def _begin(self, session: Session) -> None:
        """The loop is about to use a session."""

    def _end(self, session: Session) -> None:
        """The loop has left a session."""

    def _free_sessions(self) -> None:
        """Give back the sessions that the loop has left; their last records are read before."""
        status = self.look()
        if status.done < status.asked:
            return
        used = (status.session, status.safe)
        for session in [s for s in self._sessions if s.handle not in used and s is not self._in_force]:
            self._reader.read(session)
            self._sessions.remove(session)
            self._end(session)
            self.library.rd_host_forget(self._host, session.messages)
            session.free()

    def _look_around(self) -> float:
        """Let everybody look who wants to; returns how long the next time may wait [s]."""
        return min([look() for look in self.looks], default=math.inf)

    def _read_records(self) -> float:
        """Report what the loop has done; returns how long the next look may wait [s]."""
        return min([self._reader.read(session) for session in list(self._sessions)], default=CALM)

    # Messages that the loop does not read by itself

    def _decode(self, data: bytes) -> JointSample | None:
        """The joint state of any form of message; None where it is refused, or has none of the joints."""
        session = self._in_force
        if session is None:
            return None
        try:
            message = deserialize_message(data, JointState)
        except Exception as error:  # whatever the decoder thinks of these bytes
            self._events.refuse(f"joint state refused: it cannot be decoded: {error}")
            return None
        if message.name and session.order.has_none(message.name):
            return None
        try:
            sample = session.order.read(message)
            others = session.measured_names
            return sample if not others else replace(sample, measured=motions(message, others).ravel())
        except StateError as error:
            self._events.refuse(f"joint state refused: {error}")
            return None

    def _given(self, session: Session, sample: JointSample) -> tuple[Any, ...]:
        """``rd_given_state *`` of a decoded state, and what it points to."""
        stamp = sample.nanoseconds
        if not stamp and not self._simulated:
            stamp = self._node.get_clock().now().nanoseconds
        values = [
            ffi().NULL if array is None else ffi().from_buffer("double[]", array)
            for array in (sample.position, sample.velocity, sample.effort, sample.measured)
        ]
        return ffi().new("rd_given_state *", [session.handle, stamp, *values]), values, sample
