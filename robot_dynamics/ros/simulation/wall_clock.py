"""A simulator's loop by the wall clock, and what it notes about its own timing."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.diagnostics import MISSED
from robot_dynamics.ros.support.hot_loop import run_ready, take_all
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.ros.support.pacing import Lateness, Pacer
from robot_dynamics.ros.support.scheduling import sleep_exactly
from robot_dynamics.ros.support.spin import StopEvent

HOUSEKEEPING = 0.02
"""Steady seconds between two looks at services and timers."""
# Time that these need before the next deadline, and how long they wait for such a pause at most [ns].
SPARE = 500_000
PATIENCE = 200_000_000


class WallClock:
    """Keeps a simulator's pace.

    Attributes:
        pacer: of the loop.
        latency: from a state's stamp to its answer, where that is measured.

    Args:
        node: the simulator.
        period: between two states, of simulated time [ns].
        real_time_factor: how much faster than the clock on the wall simulated time goes.
        measure_latency: note when answers arrive, as DDS saw it.
    """

    def __init__(self, node: Node, period: int, real_time_factor: float, measure_latency: bool) -> None:
        self._node = node
        self._period = period
        self._wall_period = round(period / real_time_factor)
        self.pacer = Pacer(self._wall_period)
        self.latency = Lateness(period)
        self._answers: Subscription | None = None
        self._counts = False
        if measure_latency:
            # rclpy hands on the message's info to a callback that takes it; its types do not know that.
            on_answer: Any = self._on_answer
            self._answers = node.create_subscription(JointState, "joint_command", on_answer, qos.LOCKSTEP)

    def begin(self) -> None:
        """Begin to keep pace now."""
        self.pacer = Pacer(self._wall_period)
        # What exists now lives as long as the node: the garbage collector need not look at it again.
        gc.collect()
        gc.freeze()

    def count_from_now(self) -> None:
        """Count anew at the first command: the start of the node that commands is not the loop's doing."""
        if self._counts:
            return
        self._counts = True
        self.pacer.restart_statistics()
        self.latency = Lateness(self._period)

    def values(self) -> Mapping[str, object]:
        """For the diagnostics."""
        return {"rate [Hz]": f"{self.pacer.rate:.2f}", **self.pacer.lateness.summary()}

    def warnings(self) -> list[str]:
        """Fault of the loop's timing."""
        share = self.pacer.lateness.share
        return [f"{100.0 * share:.1f} % of the cycles late by more than a period"] if share > MISSED else []

    def summary(self) -> Mapping[str, object]:
        """Rate and lateness of the run."""
        return {"rate_hz": round(self.pacer.rate, 3), **self.pacer.lateness.summary()}

    def latency_summary(self) -> Mapping[str, object]:
        """Delay of the answers, where that was measured."""
        if not self.latency.cycles:
            return {}
        return {"answers": self.latency.cycles, **self.latency.percentiles("answer")}

    def run(self, stop: StopEvent, commands: Subscription, cycle: Callable[[], None]) -> None:
        """Call ``cycle`` at each deadline until the event.

        One thread does everything. A thread of its own for the callbacks would make the cycles wait for the
        interpreter's lock.

        Args:
            stop: ends the loop.
            commands: its messages are taken right before each cycle.
            cycle: one period.
        """
        sleep_exactly()
        executor = SingleThreadedExecutor()
        executor.add_node(self._node)
        rest = round(1e9 * HOUSEKEEPING)
        due = time.monotonic_ns()
        while not stop.is_set():
            overdue = time.monotonic_ns() - due
            if overdue > PATIENCE or (overdue > 0 and self.pacer.remaining() > SPARE):
                run_ready(executor, limit=3)
                due = time.monotonic_ns() + rest
            remaining = self.pacer.remaining()
            if remaining > 0:
                time.sleep(1e-9 * remaining)
            self.pacer.start_cycle()
            if not take_all(commands):
                run_ready(executor, limit=3)
            cycle()
            if self._answers is not None:
                take_all(self._answers)
        executor.remove_node(self._node)
        executor.shutdown()

    def _on_answer(self, message: JointState, info: dict[str, int]) -> None:
        """Note the time from a state's stamp to the arrival of its answer."""
        self.latency.add(info["received_timestamp"] - stamp_to_nanoseconds(message.header.stamp))
