"""The wire between a plant and its controller, which a drill can tamper with, or play the plant on itself."""

from __future__ import annotations

import contextlib
import copy
import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import rclpy
from patience import PATIENCE, POLL
from rclpy.clock import Clock as RosClock
from rclpy.clock import ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from ros_harness import HarnessError
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robot_dynamics.ros.support import processes, qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp

PLANT = "plant/joint_states"
PLANT_CLOCK = "plant/clock"
BEGIN = 1000.0
"""Of the simulated time that the wire plays [s]."""
Tamper = Callable[[Any], Iterable[tuple[float, Any]]]
"""From a message to what is sent in its place: delays [s] and messages."""


def untouched(message: Any) -> Iterable[tuple[float, Any]]:
    """The wire as it should be."""
    return ((0.0, message),)


class Wire:
    """Hands the plant's states and clock on; a node in a thread of its own.

    Attributes:
        passed: states that have come from the plant.
        last: the newest of them.
    """

    PERIOD = 0.01

    def __init__(self) -> None:
        self.passed = 0
        self.last: JointState | None = None
        self._playing: Any = None
        self._tamper: Tamper = untouched
        self._tamper_clock: Tamper = untouched
        self._due: list[tuple[float, int, Any, Any]] = []
        self._count = itertools.count()
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=processes.claim_domain(), args=[])
        self.node = rclpy.create_node("wire", context=self._context, use_global_arguments=False)
        self.states: Any = None
        self.plug()
        self.clock = self.node.create_publisher(Clock, "/clock", qos.CLOCK)
        self.node.create_subscription(JointState, PLANT, self._on_state, qos.STATE_PUBLISHER)
        self.node.create_subscription(Clock, PLANT_CLOCK, self._on_clock, qos.CLOCK)
        self._steady = RosClock(clock_type=ClockType.STEADY_TIME)
        self.node.create_timer(0.005, self._send_due, clock=self._steady)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and leave the graph, or the next wire would not be the only one."""
        self._executor.shutdown()
        self._thread.join(PATIENCE)
        self.node.destroy_node()
        self._context.try_shutdown()

    def plug(self) -> None:
        """Be known as one who publishes states."""
        self.states = self.node.create_publisher(JointState, "joint_states", qos.STATE_PUBLISHER)

    def unplug(self) -> None:
        """Publish states no more, as a plant that has gone."""
        gone = threading.Event()

        def go() -> None:
            # In the thread that publishes, or it might be in the middle of it.
            self.node.destroy_timer(timer)
            self.node.destroy_publisher(self.states)
            self.states = None
            gone.set()

        timer = self.node.create_timer(0.0, go, clock=self._steady)
        assert gone.wait(PATIENCE)

    def play(self, names: list[str], position: list[float], simulated: bool) -> None:
        """Be a plant that stands: states at 100 Hz with the time of the wall, or with their own."""
        ticks = itertools.count(round(BEGIN / self.PERIOD))

        def state() -> None:
            message = JointState(name=names, position=position, velocity=[0.0] * len(names))
            if simulated:
                message.header.stamp = nanoseconds_to_stamp(round(1e9 * self.PERIOD) * next(ticks))
                self._on_clock(Clock(clock=message.header.stamp))
            else:
                message.header.stamp = nanoseconds_to_stamp(time.time_ns())
            self._on_state(message)

        self._playing = self.node.create_timer(self.PERIOD, state, clock=self._steady)

    def stop(self) -> None:
        """Play no more: states and clock stand still."""
        if self._playing is not None:
            self._playing.cancel()

    def start(self) -> None:
        """Go on playing where it was stopped."""
        if self._playing is not None:
            self._playing.reset()

    def hand_on(self, kind: type, topic: str, to: str, profile: Any) -> None:
        """Send what comes on a topic on another as well."""
        publisher = self.node.create_publisher(kind, to, profile)
        self.node.create_subscription(kind, topic, publisher.publish, profile)

    @contextlib.contextmanager
    def tampered(self, states: Tamper = untouched, clock: Tamper = untouched) -> Iterator[None]:
        """Tamper with what is handed on meanwhile."""
        self._tamper, self._tamper_clock = states, clock
        try:
            yield
        finally:
            self._tamper = self._tamper_clock = untouched

    def wait_for_states(self, count: int) -> None:
        """Return when so many more states have come from the plant."""
        target, deadline = self.passed + count, time.monotonic() + PATIENCE
        while self.passed < target:
            if time.monotonic() > deadline:
                raise HarnessError("the plant is silent")
            time.sleep(POLL)

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    def _on_state(self, message: JointState) -> None:
        self.last = message
        if self.states is not None:
            self._send(self.states, self._tamper(copy.deepcopy(message)))
        self.passed += 1

    def _on_clock(self, message: Clock) -> None:
        self._send(self.clock, self._tamper_clock(message))

    def _send(self, publisher: Any, what: Iterable[tuple[float, Any]]) -> None:
        for delay, message in what:
            if delay > 0.0:
                heapq.heappush(self._due, (time.monotonic() + delay, next(self._count), publisher, message))
            else:
                publisher.publish(message)

    def _send_due(self) -> None:
        while self._due and self._due[0][0] <= time.monotonic():
            _, _, publisher, message = heapq.heappop(self._due)
            publisher.publish(message)
