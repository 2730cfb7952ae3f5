"""The host in a real-time thread on rcl: each joint state is answered there, whatever Python is doing."""

from __future__ import annotations

import contextlib
import os
import select
import time
import weakref
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import BackendError
from robot_dynamics.ros.control.command_publisher import CommandTopics
from robot_dynamics.ros.control.events import LoopEvents
from robot_dynamics.ros.control.host import C, Host
from robot_dynamics.ros.control.native.library import ffi, load_node
from robot_dynamics.ros.control.native.listener import Listener
from robot_dynamics.ros.control.records import Cycles
from robot_dynamics.ros.control.scheduling import SchedulingParameters
from robot_dynamics.ros.control.session import Session
from robot_dynamics.ros.control.watchdog import Loan, Watchdog
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.faults import hand_over
from robot_dynamics.ros.support.hot_loop import run_ready, take_all
from robot_dynamics.ros.support.scheduling import arrange_threads
from robot_dynamics.ros.support.spin import StopEvent

LOOP_NAME = "control_loop"
"""Name of the thread, as the system shows it."""
REST = 0.01
"""Steady seconds between two looks at timers, services and subscriptions, however many messages come."""
REQUEST_PATIENCE = 1.0
"""Longest wait for the thread to meet a request, which takes a millisecond unless it is starved [s]."""
_REASON_BYTES = 1000


class PrivateGroup(CallbackGroup):
    """A group whose entities executors leave alone: somebody else waits for them."""

    def can_execute(self, entity: Any) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing has begun."""


class ThreadHost(Host[C]):
    """Runs the cycles in a thread that never waits for Python; see :class:`Host`.

    The node's own thread reads the record, publishes and logs. Messages that are not as usual (another
    encapsulation, missing joints, values that are not finite) it decodes and gives to the loop as numbers.

    Args:
        node: gets the subscription and lends its handles to the thread.
        topics: where the efforts go.
        lockstep: receive joint states reliably and do not judge their age.
        events: gets what happens.
        on_cycles: see :class:`Host`.
        scheduling: of the thread.

    Attributes:
        refused_scheduling: what the system does not permit of it, for people.

    Raises:
        BackendError: there is no compiler, or rcl or its headers are missing, or rcl refuses.
    """

    name = "native"
    runs_python = False

    def __init__(
        self,
        node: Node,
        topics: CommandTopics,
        lockstep: bool,
        events: LoopEvents,
        on_cycles: Callable[[Cycles, Any], float],
        scheduling: SchedulingParameters,
    ) -> None:
        self.library = load_node()  # before anything is made that would have to be taken back
        super().__init__(node, topics, lockstep, events, on_cycles)
        self._undecoded_lost = 0
        self._hangs = False
        self._given_state: tuple[Any, ...] = ()
        self._undecoded = ffi().new("uint8_t[]", self.library.RD_UNDECODED_BYTES)
        self._thread_status = ffi().new("rd_node_status *")
        self._event = os.eventfd(0, os.EFD_NONBLOCK)
        state_qos = qos.LOCKSTEP if lockstep else qos.STATE_SUBSCRIPTION
        states = qos.subscription(
            node, JointState, "joint_states", lambda message: None, state_qos, callback_group=PrivateGroup()
        )
        self._wake_thread = GuardCondition(None, None, node.context)
        self._called = node.create_guard_condition(lambda: None)
        entities: dict[str, Any] = {
            "context": node.context,
            "states": states,
            "stamped": topics.publishers[0],
            "command": topics.publishers[1],
            "wake": self._wake_thread,
            "front": self._called,
            **({"brake": topics.brake} if topics.brake else {}),
        }
        if self._simulated:
            entities["clock"] = node.create_subscription(
                Clock, "/clock", lambda message: None, qos.CLOCK_SUBSCRIPTION, callback_group=PrivateGroup()
            )
        self._loan = Loan(entities, self._event)
        self._listener = listener = Listener(self.library, node, topics)
        self._thread: Any = self._start(listener, lockstep, scheduling)
        self._host = self.library.rd_node_host(self._thread)
        watchdog = Watchdog(
            self.library,
            self._host,
            self._loan,
            min(99, scheduling.realtime_priority + 1) if scheduling.realtime_priority else 0,
        )
        self.loop = self.library.rd_host_loop(self._host)
        # The thread ends before what it uses does, however this process ends.
        self._stop = weakref.finalize(
            self,
            _end,
            self.library,
            self._thread,
            self._wake_thread,
            watchdog,
            listener,
            self._loan,
            self._event,
        )
        self.refused_scheduling = self._refused_scheduling()
        arrange_threads(LOOP_NAME, scheduling.realtime_priority)

    def _start(self, listener: Listener, lockstep: bool, scheduling: SchedulingParameters) -> Any:
        reason = ffi().new("char[]", _REASON_BYTES)
        thread = self.library.rd_node_start(
            self._loan.pointer,
            listener.handle,
            lockstep,
            scheduling.realtime_priority,
            scheduling.realtime_cpu,
            reason,
            _REASON_BYTES,
        )
        if not thread:
            listener.end()
            self._loan.end()
            os.close(self._event)
            raise BackendError(f"rcl: {ffi().string(reason).decode(errors='replace')}")
        return thread

    def look(self) -> Any:
        """``rd_host_status *`` of now; the last one when the thread has ended."""
        if self._stop.alive:
            self.library.rd_host_status_of(self._host, self._status)
        return self._status

    def _look_at_thread(self) -> Any:
        """``rd_node_status *`` of now; the last one when the thread has ended."""
        if self._stop.alive:
            self.library.rd_node_status_of(self._thread, self._thread_status)
        return self._thread_status

    def _refused_scheduling(self) -> list[str]:
        """Parts that the system does not permit of the scheduling that was asked for, for people."""
        status = self._look_at_thread()
        self._wait(lambda: -1 not in (self._look_at_thread().priority_error, status.cpu_error))
        errors = {"real-time priority": status.priority_error, "processor": status.cpu_error}
        return [
            f"the native loop does not get its {what}: {os.strerror(error)}"
            for what, error in errors.items()
            if error > 0
        ]

    def brake(self, engaged: bool) -> None:
        """See :class:`Host`."""
        super().brake(engaged)
        self._wake_thread.trigger()

    # Requests

    def _begin(self, session: Session) -> None:
        session.controller.driven_by(self._request)

    def _end(self, session: Session) -> None:
        session.controller.driven_by(None)

    def _until_met(self) -> None:
        """Wake the thread and wait until it has looked at every request, which is a sign of life as well."""
        self.library.rd_host_seen(self._host)
        self._wake_thread.trigger()
        self._wait(lambda: self.look().done >= self._status.asked)

    def _wait(self, condition: Callable[[], bool]) -> None:
        """Wait for the thread's event until a condition is met, at most for ``REQUEST_PATIENCE``."""
        deadline = time.monotonic() + REQUEST_PATIENCE
        while not condition() and (rest := deadline - time.monotonic()) > 0.0:
            select.select([self._event], [], [], rest)
            self._read_event()
        os.eventfd_write(self._event, 1)  # what else it stands for is still to be looked at

    def _read_event(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._event)

    def drain(self) -> None:
        """The process ends: halt, and return when the last effort has faded and arrived."""
        # A controller that waits may have come in the place of one whose fail-safe output is being sent.
        if (self.controller is not None and self.controller.phase is not Phase.WAITING) or self.halting:
            self.halt()
        self._active = False
        while self._busy:
            self.library.rd_host_seen(self._host)
            select.select([self._event], [], [], REST)
            self._read_event()
        self._topics.flush()
        self.look()
        self._stop()

    @property
    def _busy(self) -> bool:
        """True while a request is unmet or a fail-safe output is being sent; not after a failure."""
        status = self.look()
        if status.hung:
            return not status.faded
        return (status.done < status.asked or bool(status.halting)) and not self._look_at_thread().failed

    # The node's own thread

    def spin(self, stop: StopEvent) -> None:
        """Run the node until the event."""
        executor = SingleThreadedExecutor(context=self._node.context)
        executor.add_node(self._node)
        stop.on_set, stop.last_word = self._wake, self.engage_at_once
        try:
            while not stop.is_set():
                try:
                    patience = self._keep_house()
                    rested = time.monotonic() + min(REST, patience)
                    run_ready(executor, patience=patience)
                    self.library.rd_host_seen(self._host)
                    select.select([self._event], [], [], max(0.0, rested - time.monotonic()))
                except ExternalShutdownException:
                    raise
                except Exception as error:
                    hand_over(self._node, error)
        finally:
            stop.on_set = lambda: None
            executor.remove_node(self._node)
            executor.shutdown()

    def _wake(self) -> None:
        """Let the node look, whether it rests or waits."""
        os.eventfd_write(self._event, 1)
        self._called.trigger()

    def _keep_house(self) -> float:
        """Look after the thread; returns how long the next look may wait [s]."""
        self._read_event()
        while size := self.library.rd_node_undecoded(self._thread, self._undecoded):
            self._give(bytes(ffi().buffer(self._undecoded, size)))
        patience = self._read_records()
        for subscription in self.ahead:
            take_all(subscription)
        if self._in_force is not None:
            patience = min(patience, self._in_force.controller.conduct())
        patience = min(patience, self._look_around())
        status = self._look_at_thread()
        if status.undecoded_lost > self._undecoded_lost:
            missed = status.undecoded_lost - self._undecoded_lost
            self._undecoded_lost = status.undecoded_lost
            self._events.refuse(f"{missed} joint states refused: too long, or more than can be decoded")
        if (hung := bool(self.look().hung)) != self._hangs:
            self._hangs = hung
            if hung and self.controller is not None:
                self._events.loop_hangs(self.controller.parameters.fail_safe)
        if status.failed:
            raise RuntimeError("rcl cannot wait for joint states any more")
        return patience

    def _give(self, data: bytes) -> None:
        """Decode a message for the thread; left out while the one before has not been taken."""
        sample, session = self._decode(data), self._in_force
        if sample is None or session is None or self.library.rd_node_given_pending(self._thread):
            return
        self._given_state = self._given(session, sample)
        self.library.rd_node_give(self._thread, self._given_state[0])
        self._wake_thread.trigger()


def _end(
    library: Any, thread: Any, wake: Any, watchdog: Watchdog, listener: Listener, loan: Loan, event: int
) -> None:
    """The threads no longer use the loan and the event when these end; a thread that hangs keeps them."""
    library.rd_node_ask_to_stop(thread)
    wake.trigger()
    watchdog.stop()
    if library.rd_node_stop(thread):
        listener.end()
        loan.end()
        os.close(event)
