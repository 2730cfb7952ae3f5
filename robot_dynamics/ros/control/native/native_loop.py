"""The control loop in a thread of its own: each joint state is answered there, whatever Python is doing."""

from __future__ import annotations

import contextlib
import os
import select
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import StateError
from robot_dynamics.ros.control.cycle import CycleMonitor
from robot_dynamics.ros.control.events import LoopEvents
from robot_dynamics.ros.control.loop import StateClock
from robot_dynamics.ros.control.native.cycles import CALM, Cycles
from robot_dynamics.ros.control.native.library import load_node
from robot_dynamics.ros.control.native.parameters import SchedulingParameters
from robot_dynamics.ros.control.native.private_group import PrivateGroup
from robot_dynamics.ros.control.native.record_reader import RecordReader
from robot_dynamics.ros.control.native.session import Session
from robot_dynamics.ros.control.native.thread import ACTIVATE, HALT, HOLD, LoopThread
from robot_dynamics.ros.control.outlet import CommandTopics
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.faults import hand_over
from robot_dynamics.ros.support.hot_loop import run_ready, take_all
from robot_dynamics.ros.support.scheduling import arrange_threads
from robot_dynamics.ros.support.spin import StopEvent

LOOP_NAME = "control_loop"
"""Of the thread, as the system shows it."""
REST = 0.01
"""Steady seconds between two looks at timers, services and subscriptions, however many messages come."""


class NativeLoop:
    """A :class:`~robot_dynamics.ros.control.loop.ControlLoop` in C, in a thread that never waits for Python.

    What it did is recorded; the node's own thread reads the record, publishes and logs. Messages that are not
    as usual (another encapsulation, unknown names, values that are not finite) are decoded by the node's
    thread and given to the loop as numbers.

    Args:
        node: gets the subscription and lends its handles to the thread.
        topics: where the efforts go.
        lockstep: receive joint states reliably and do not judge their age.
        events: told what happens.
        on_cycles: called for the answers since it was called last, in the node's thread; returns how long the
            next call may wait [s].
        scheduling: of the thread.

    Attributes:
        ahead: subscriptions whose messages are taken before what the controller follows is led on.
        refused_scheduling: what the system does not permit of it, for people.

    Raises:
        BackendError: there is no compiler, or rcl or its headers are missing.
    """

    def __init__(
        self,
        node: Node,
        topics: CommandTopics,
        lockstep: bool,
        events: LoopEvents,
        on_cycles: Callable[[Cycles, Any], float],
        scheduling: SchedulingParameters,
    ) -> None:
        load_node()  # before anything is made that would have to be taken back
        self._node = node
        self._topics = topics
        self._lockstep = lockstep
        self._events = events
        self._monitor = CycleMonitor()
        self._reader = RecordReader(events, self._monitor, on_cycles)
        self._sessions: list[Session] = []
        self._in_force: Session | None = None
        self._lost = 0
        self._active = False
        self._event = os.eventfd(0, os.EFD_NONBLOCK)
        state_qos = qos.LOCKSTEP if lockstep else qos.STATE_SUBSCRIPTION
        self._states = qos.subscription(
            node, JointState, "joint_states", lambda message: None, state_qos, callback_group=PrivateGroup()
        )
        entities = [self._states, *topics.publishers]
        self._simulated = bool(node.get_parameter("use_sim_time").value)
        clock = None
        if self._simulated:
            clock = node.create_subscription(
                Clock, "/clock", lambda message: None, qos.CLOCK_SUBSCRIPTION, callback_group=PrivateGroup()
            )
        self._called = node.create_guard_condition(lambda: None)
        self.ahead: Sequence[Subscription] = ()
        self._thread = LoopThread(node, entities, self._called, clock, self._event, lockstep, scheduling)
        # The thread ends before what it uses does, however this process ends.
        weakref.finalize(self, _end, self._thread, self._event)
        self.refused_scheduling = self._thread.refused_scheduling()
        arrange_threads(LOOP_NAME, scheduling.realtime_priority)

    # What is known

    @property
    def controller(self) -> CoreController[Any] | None:
        """In force; None while the node is not configured."""
        return None if self._in_force is None else self._in_force.controller

    @property
    def active(self) -> bool:
        """Whether joint states are answered."""
        return self._active

    @property
    def halting(self) -> bool:
        """Whether the safe output is being sent."""
        return bool(self._thread.look().halting)

    @property
    def clock(self) -> StateClock:
        """Of the controller in force."""
        return StateClock() if self._in_force is None else self._in_force.clock

    @property
    def joint_names(self) -> Sequence[str]:
        """Of the controller in force, in its order."""
        return () if self._in_force is None else self._in_force.order.joint_names

    @property
    def cycles(self) -> int:
        """Joint states since the node began."""
        return int(self._thread.look().states)

    def timing(self) -> Mapping[str, str]:
        """Rate, lateness and duration of the last cycles, for people."""
        unread = sum(session.lost for session in self._sessions)
        return {**self._monitor.values(self._thread.age), "loop": "native", "unread cycles": str(unread)}

    def late(self) -> list[str]:
        """What is wrong with the timing of the joint states, for people."""
        if self._lockstep or self._simulated or self.controller is None:
            return []
        return self._monitor.warnings(self.controller.parameters.state_timeout, self._thread.age)

    def senders(self) -> str:
        """Who else sends efforts, where somebody does; else empty."""
        return self._topics.others()

    # What the node asks for

    def use(self, controller: CoreController[Any], joint_names: Sequence[str]) -> None:
        """Use a controller from now on, and a new clock with it."""
        session, before = Session(self._thread.library, controller, joint_names), self._in_force
        if before is not None and self._active and before.order.joint_names == session.order.joint_names:
            controller.take_over_from(before.controller)  # before the first state comes to it
        controller.driven_by(self._perform)
        self._sessions.append(session)
        self._in_force = session
        self._thread.use(session.handle)
        self._free_sessions()
        self._events.unsafe = ""

    def forget(self) -> None:
        """Drop the controller; a safe output under way goes on."""
        self._in_force = None
        self._thread.use(None)

    def activate(self) -> None:
        """Answer joint states from now on."""
        self._active = True
        self._thread.request(ACTIVATE)

    def halt(self) -> None:
        """Answer no more: the safe output is sent until it has faded."""
        self._active = False
        self._thread.request(HALT)

    def drain(self) -> None:
        """The process ends: halt, and return when the last effort has faded and arrived."""
        waiting = self.controller is None or self.controller.phase is Phase.WAITING
        # A controller that waits may have come in the place of one whose safe output is under way.
        if not waiting or self.halting:
            self.halt()
        self._active = False
        while self._thread.busy:
            self._thread.seen()
            time.sleep(REST)
        self._topics.flush()
        self._thread.stop()

    def spin(self, stop: StopEvent) -> None:
        """Run the node until the event."""
        executor = SingleThreadedExecutor(context=self._node.context)
        executor.add_node(self._node)
        stop.on_set = self._wake
        try:
            while not stop.is_set():
                try:
                    patience = self._keep_house()
                    rested = time.monotonic() + min(REST, patience)
                    run_ready(executor, patience=patience)
                    self._thread.seen()
                    select.select([self._event], [], [], max(0.0, rested - time.monotonic()))
                except ExternalShutdownException:
                    raise
                except Exception as error:
                    hand_over(self._node, error)
        finally:
            stop.on_set = lambda: None
            executor.remove_node(self._node)
            executor.shutdown()

    # Requests

    def _perform(self, request: str) -> None:
        assert request == "hold"
        self._thread.request(HOLD)

    # Housekeeping

    def _wake(self) -> None:
        """Let the node look, whether it rests or waits."""
        os.eventfd_write(self._event, 1)
        self._called.trigger()

    def _keep_house(self) -> float:
        """Look after the thread; returns how long the next look may wait [s]."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._event)
        while data := self._thread.foreign():
            self._decode(data)
        patience = min([self._reader.read(session) for session in list(self._sessions)], default=CALM)
        for subscription in self.ahead:
            take_all(subscription)
        if self._in_force is not None:
            patience = min(patience, self._in_force.controller.conduct())
        status = self._thread.look()
        if status.foreign_lost > self._lost:
            missed, self._lost = status.foreign_lost - self._lost, status.foreign_lost
            self._events.refuse(f"{missed} joint states refused: too long, or more than can be decoded")
        if status.failed:
            raise RuntimeError("rcl cannot wait for joint states any more")
        return patience

    def _decode(self, data: bytes) -> None:
        """A message that the thread did not understand."""
        session = self._in_force
        if session is None:
            return
        try:
            message = deserialize_message(data, JointState)
        except Exception as error:  # whatever the decoder thinks of these bytes
            self._events.refuse(f"joint state refused: it cannot be decoded: {error}")
            return
        try:
            sample = session.order.read(message)
        except StateError as error:
            self._events.refuse(f"joint state refused: {error}")
            return
        if not session.full:
            session.know(message.name, session.order.places)
        stamp = sample.nanoseconds
        if not stamp and not self._simulated:
            stamp = self._node.get_clock().now().nanoseconds
        self._thread.give(session.handle, stamp, sample.position, sample.velocity)

    def _free_sessions(self) -> None:
        """Give back the sessions that the thread has left; their last records are read before."""
        status = self._thread.look()
        if status.done < status.asked:
            return
        used = {status.session, status.safe}
        for session in [s for s in self._sessions if s.handle not in used and s is not self._in_force]:
            self._reader.read(session)
            self._sessions.remove(session)
            session.controller.driven_by(None)
            session.free()


def _end(thread: LoopThread, event: int) -> None:
    """The thread no longer writes the event when it is closed."""
    thread.stop()
    os.close(event)
