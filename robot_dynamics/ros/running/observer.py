"""The demonstration's own node: records what the others exchange, and changes their parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.isolation import stay_on_this_host
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.ros.support.processes import NodeProcess
from robot_dynamics.spatial import Array

SECOND = 1_000_000_000
PATIENCE = 300.0
"""Longest wait for anything; more than a machine needs that has twenty times too much to do [s]."""

CALLBACKS = 8
"""Callbacks after a pause: the newest two messages of three topics, and a little more."""
Record = dict[int, Array]


class Observer:
    """A ROS node with a context of its own, beside the node processes of one run.

    Args:
        domain: ROS domain of the run.
        processes: the run's node processes; when one ends, waiting ends with its output.
        pause: look at the topics only every so many seconds, and keep only what is newest then, so that the
            loop under observation has the processors for itself; 0 records everything.

    Attributes:
        latest: newest stamp that was recorded on any topic [ns].
    """

    def __init__(self, domain: int, processes: Sequence[NodeProcess], pause: float = 0.0) -> None:
        stay_on_this_host()
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain, args=[])
        self.node = rclpy.create_node("demo", context=self._context, use_global_arguments=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._processes = list(processes)
        self._pause = pause
        self._records = False
        self.latest = 0

    def record(self, kind: type, topic: str, extract: Callable[[Any], Any]) -> Record:
        """The growing record of a topic by stamp [ns]; ``extract`` takes what matters from a message."""
        kept: Record = {}
        self._records = True

        def keep(message: Any) -> None:
            stamp = stamp_to_nanoseconds(message.header.stamp)
            kept[stamp] = np.asarray(extract(message))
            self.latest = max(self.latest, stamp)

        self.node.create_subscription(kind, topic, keep, qos.NEWEST if self._pause else qos.RECORDING)
        return kept

    def close(self) -> None:
        """Leave the ROS graph."""
        self._executor.remove_node(self.node)
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_until(
        self, condition: Callable[[], bool], what: str, progress: Callable[[], None] = lambda: None
    ) -> None:
        """Run callbacks until ``condition()`` holds.

        Raises:
            RobotDynamicsError: a node has ended, or nothing happens; carries the nodes' output.
        """
        deadline = time.monotonic() + PATIENCE
        seen = self.latest
        while not condition():
            self._look()
            progress()
            if self.latest != seen:
                seen, deadline = self.latest, time.monotonic() + PATIENCE
            ended = [process for process in self._processes if not process.running]
            if ended or time.monotonic() > deadline:
                reason = f"{ended[0].name} has ended" if ended else f"nothing for {PATIENCE:g} s"
                logs = "\n".join(f"--- {p.name}:\n{p.output}" for p in self._processes)
                raise RobotDynamicsError(f"{what}: {reason}\n{logs}")

    def beyond(self, stamp: int) -> bool:
        """Return whether something later than ``stamp`` [ns] was recorded."""
        return self.latest > stamp

    def _look(self) -> None:
        """Run callbacks: as messages come, or those that are due after a pause."""
        if self._pause and not self._records:
            time.sleep(self._pause)
            return
        if not self._pause:
            self._executor.spin_once(timeout_sec=0.1)
            return
        time.sleep(self._pause)
        for _ in range(CALLBACKS):
            self._executor.spin_once(timeout_sec=0.0)

    def set_parameters(self, node: str, values: Mapping[str, Any]) -> None:
        """Change parameters of another node.

        Raises:
            RobotDynamicsError: the node refuses a value.
        """
        client = self.node.create_client(SetParameters, f"{node}/set_parameters")
        try:
            self.wait_until(client.service_is_ready, f"waiting for the parameters of {node}")
            wanted = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
            future = client.call_async(SetParameters.Request(parameters=wanted))
            self.wait_until(future.done, f"setting parameters of {node}")
            for result in future.result().results:
                if not result.successful:
                    raise RobotDynamicsError(f"{node} refuses {dict(values)}: {result.reason}")
        finally:
            self.node.destroy_client(client)


def newest(record: Record) -> int:
    """The newest stamp of a record [ns], 0 without any; each topic's stamps arrive in order."""
    return next(reversed(record), 0)


def wait_for_start(observer: Observer, references: Record, what: str) -> int:
    """Wait until the reference leaves where it holds; returns the last stamp at which it still does [ns].

    In lockstep simulated time runs as fast as the machine allows, so only the records tell when a move began.
    """
    first = newest(references)
    hold = references[first]

    def departed(stamp: int) -> bool:
        return bool(np.abs(references[stamp] - hold).max() > 1e-12)

    observer.wait_until(lambda: departed(newest(references)), what)
    moving = min(stamp for stamp in references if stamp > first and departed(stamp))
    return max(stamp for stamp in references if stamp < moving)


def complete_stamps(records: Sequence[Record], first: int, last: int) -> list[int]:
    """Stamps [ns] in the interval that are in every record."""
    common = set.intersection(*(set(record) for record in records))
    return sorted(stamp for stamp in common if first <= stamp <= last)


def duration_message(seconds: float) -> Duration:
    """A message of so many seconds."""
    nanoseconds = round(seconds * 1e9)
    return Duration(sec=nanoseconds // SECOND, nanosec=nanoseconds % SECOND)
