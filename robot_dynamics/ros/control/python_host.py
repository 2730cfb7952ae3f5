"""The host in the node's own thread: for lockstep, and where rcl's headers are missing."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import BackendError
from robot_dynamics.ros.control.command_publisher import CommandTopics
from robot_dynamics.ros.control.events import LoopEvents
from robot_dynamics.ros.control.host import C, Host
from robot_dynamics.ros.control.native.library import ffi, load_hosts, load_node
from robot_dynamics.ros.control.native.listener import Listener
from robot_dynamics.ros.control.records import Cycles
from robot_dynamics.ros.control.watchdog import Loan, Watchdog
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.hot_loop import AT_REST, HOUSEKEEPING, spin_on, take_all, take_one
from robot_dynamics.ros.support.spin import StopEvent

MOST_TAKEN = 64
"""Messages of a burst between two looks at everything else."""
DRAINING = 0.001
"""Steady seconds between two looks at the joint states while the process ends."""
SAFE_PERIOD = 0.01
"""Steady seconds between two commands of the fail-safe output, and two looks at the age of the states."""


class PythonHost(Host[C]):
    """Runs each cycle when its joint state comes to the node's thread; see :class:`Host`.

    Raises:
        BackendError: there is no compiler.
    """

    name = "python"
    runs_python = True

    def __init__(
        self,
        node: Node,
        topics: CommandTopics,
        lockstep: bool,
        events: LoopEvents,
        on_cycles: Callable[[Cycles, Any], float],
    ) -> None:
        try:
            self.library, unwatched = load_node(), ""
        except BackendError as error:
            self.library, unwatched = load_hosts(), str(error)
        super().__init__(node, topics, lockstep, events, on_cycles)
        library = self.library
        self._host = ffi().gc(library.rd_host_new(lockstep, self._simulated), library.rd_host_free)
        self.loop = library.rd_host_loop(self._host)
        self._outbox = library.rd_host_outbox(self._host)
        self._sent = 0
        self._unwatch: Callable[[], object] = lambda: None
        state_qos = qos.LOCKSTEP if lockstep else qos.STATE_SUBSCRIPTION
        self._states = qos.subscription(node, JointState, "joint_states", self._on_state, state_qos, raw=True)
        if not unwatched:
            self._guard(lockstep)
        elif not lockstep:
            node.get_logger().warning(
                "no watchdog guards the control loop, and commands of other nodes are not noticed:"
                f" {unwatched}"
            )
        node.create_timer(SAFE_PERIOD, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _guard(self, lockstep: bool) -> None:
        """Hear others, and guard the loop by a thread that sends what Python cannot while it hangs."""
        self._listener = listener = Listener(self.library, self._node, self._topics)
        watchdog, loan = None, None
        if not lockstep:
            stamped, command = self._topics.publishers
            loan = Loan({"stamped": stamped, "command": command})
            watchdog = Watchdog(self.library, self._host, loan, 0)
        # They end before what they use does, however this process ends.
        self._unwatch = weakref.finalize(self, _end, watchdog, loan, listener)

    def look(self) -> Any:
        """``rd_host_status *`` of now."""
        self.library.rd_host_status_of(self._host, self._status)
        return self._status

    def drain(self) -> None:
        """The process ends: halt, and return when the last effort has faded and arrived."""
        if (self.controller is not None and self.controller.phase is not Phase.WAITING) or self.halting:
            self.halt()
        self._active = False
        while self.halting:
            self._on_state(take_one(self._states))
            self._tick()
            time.sleep(DRAINING)
        self._topics.flush()
        self._unwatch()

    def spin(self, stop: StopEvent) -> None:
        """Run the node until the event."""
        stop.last_word = self.engage_at_once
        spin_on(self._node, stop, self._states, AT_REST if self._lockstep else HOUSEKEEPING)

    # The cycle

    def _on_state(self, data: bytes | None) -> None:
        """Answer a state; by the wall clock the newest that has arrived."""
        newest: Any = None
        for _ in range(MOST_TAKEN):
            if data is None:
                break
            newest = self._read(data, newest)
            data = None if self._lockstep else take_one(self._states)
        session = self._in_force
        if newest is None or session is None:
            return
        state = newest[0]
        self._look_at_clock()
        self._look_at_others()
        if self._active:
            for subscription in self.ahead:
                take_all(subscription)
            if stamp := state.stamp or self._node.get_clock().now().nanoseconds:
                session.controller.before_state(session.clock.seconds(stamp))
        self.library.rd_host_answer(self._host, state)
        answered = time.monotonic()
        self._publish()
        self._monitor.sending = time.monotonic() - answered
        session.controller.after_state()
        self._read_records()
        self._look_around()

    def _read(self, data: bytes, before: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        """``rd_given_state *`` of a message and what it points to, in place of the state before it.

        A message without the controller's joints displaces none.
        """
        session = self._in_force
        if session is None:
            return None
        state = self.library.rd_host_read(self._host, data, len(data))
        if state:
            return (state,) if state.session else before
        sample = self._decode(data)
        return None if sample is None else self._given(session, sample)

    def _tick(self) -> None:
        """Everything that is not a state: requests, the age of the states, the fail-safe output."""
        self._look_at_clock()
        self._look_at_others()
        self.library.rd_host_tick(self._host)
        self._publish()
        self._read_records()
        self._look_around()

    _until_met = _tick

    def _look_at_clock(self) -> None:
        if not self._simulated:
            return
        if now := self._node.get_clock().now().nanoseconds:
            self.library.rd_host_clock(self._host, now)
        controller, last = self.controller, self.look().last_state
        overdue = controller is not None and time.monotonic_ns() - last >= round(
            1e9 * controller.parameters.state_timeout
        )
        alone = overdue and not self._node.count_publishers(self._states.topic_name)
        self.library.rd_host_alone(self._host, alone)

    def _look_at_others(self) -> None:
        """Hear what others send before anything is answered."""
        if self._listener is not None and self._listener.handle:
            self.library.rd_listener_look(self._listener.handle, self._host)

    def _publish(self) -> None:
        """Send the command to the brakes, and what the last call has left in the outbox."""
        if self._topics.brake is not None:
            command = self.library.rd_host_brake_command(self._host, time.monotonic_ns())
            if command >= 0:
                self._topics.brake.publish(Bool(data=bool(command)))
        outbox = self._outbox
        if outbox.count != self._sent:
            self._sent = outbox.count
            if not self.library.rd_host_may_send(self._host):
                return  # this thread hung: the watchdog has sent the fail-safe output since
            self._topics.publish(
                bytes(ffi().buffer(outbox.stamped, outbox.stamped_size)),
                bytes(ffi().buffer(outbox.command, outbox.command_size)),
            )


def _end(watchdog: Watchdog | None, loan: Loan | None, listener: Listener) -> None:
    if watchdog is not None:
        watchdog.stop()
    if loan is not None:
        loan.end()
    listener.end()
