"""Real ROS 2 nodes in tests: each node under test is a process of its own, the test is a peer over DDS.

Nothing here waits for a fixed time: every wait is for a condition, and its limit only bounds a failure.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

PATIENCE = 30.0
"""Longest wait for anything [s]; generous, because machines are busy and a passing test never waits so long."""


class HarnessError(AssertionError):
    """A condition did not come true; carries the log of every node involved."""


@functools.cache
def claim_domain() -> int:
    """A ROS domain (1 to 101) that no other test process on this machine uses while this one lives."""
    first = os.getpid()
    for attempt in range(101):
        domain = 1 + (first + attempt) % 101
        handle = (Path(tempfile.gettempdir()) / f"robot_dynamics_test_domain_{domain}.lock").open("a")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            continue
        _held.append(handle)
        return domain
    raise HarnessError("every ROS domain from 1 to 101 is in use by another test run")


_held: list[Any] = []


def ros_environment() -> dict[str, str]:
    """The environment of a node under test: its own domain, this machine only."""
    environment = dict(os.environ)
    environment["ROS_DOMAIN_ID"] = str(claim_domain())
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    environment["PYTHONUNBUFFERED"] = "1"
    environment["RCUTILS_LOGGING_BUFFERED_STREAM"] = "0"
    return environment


def parameter_arguments(parameters: Mapping[str, Any]) -> list[str]:
    """``-p name:=value`` for every parameter, values written as YAML."""
    arguments = []
    for name, value in parameters.items():
        arguments += ["-p", f"{name}:={_yaml(value)}"]
    return arguments


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_yaml(element) for element in value) + "]"
    if isinstance(value, float) and value != value:
        return ".nan"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


class NodeProcess:
    """A node of this package in its own process; a context manager that stops it by SIGINT.

    Args:
        node: module under ``robot_dynamics.ros`` to run, e.g. ``"simulator"``; or a whole command as a list.
        parameters: ROS parameters.
        arguments: further ROS arguments, e.g. ``["-r", "__ns:=/left"]``.
    """

    def __init__(
        self,
        node: str | Sequence[str],
        parameters: Mapping[str, Any] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        if isinstance(node, str):
            command = [sys.executable, "-m", f"robot_dynamics.ros.{node}", "--ros-args"]
            command += parameter_arguments(parameters or {}) + list(arguments)
        else:
            command = list(node)
        self.name = node if isinstance(node, str) else " ".join(node)
        self._lines: list[str] = []
        self._process = subprocess.Popen(
            command,
            env=ros_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line)

    def __enter__(self) -> NodeProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self.running:
            self.stop()
        if error is not None and not isinstance(error, HarnessError):
            print(self.describe())

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def output(self) -> str:
        """Everything that the node has printed so far."""
        return "".join(self._lines)

    def describe(self) -> str:
        state = "is running" if self.running else f"ended with exit code {self._process.returncode}"
        return f"--- {self.name} {state}; its output:\n{self.output}---"

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal, wait for the end, and return the exit code."""
        if self.running:
            self._process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait until the node ends by itself, and return the exit code."""
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise HarnessError(f"{self.name} did not end\n{self.describe()}") from None
        self._reader.join()
        return self._process.returncode

    def wait_for_output(self, pattern: str) -> re.Match[str]:
        """Wait until the output contains a match of the regular expression."""
        deadline = time.monotonic() + PATIENCE
        while True:
            running = self.running
            match = re.search(pattern, self.output)
            if match:
                return match
            if not running or time.monotonic() > deadline:
                raise HarnessError(f"{self.name} never printed {pattern!r}\n{self.describe()}")
            time.sleep(0.01)


class Peer:
    """A ROS node inside the test process, with its own context and executor.

    ``processes`` are the node processes that the test talks to; their logs belong to a failure's message.
    """

    def __init__(self, name: str = "peer") -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        # rcl reads the discovery range from the environment when the context starts.
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=claim_domain(), args=[])
        self.node = rclpy.create_node(name, context=self.context, use_global_arguments=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.processes: list[NodeProcess] = []

    def close(self) -> None:
        self.executor.remove_node(self.node)
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def wait_until(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
        """Run callbacks until ``condition()`` is true, and return its value.

        Fails with the logs of all node processes when time is up or one of them has ended.
        """
        deadline = time.monotonic() + patience
        while True:
            value = condition()
            if value:
                return value
            dead = [process for process in self.processes if not process.running]
            if dead or time.monotonic() > deadline:
                logs = "\n".join(process.describe() for process in self.processes)
                reason = f"{dead[0].name} has ended" if dead else f"waited {patience:g} s"
                raise HarnessError(f"{what}: {reason}\n{logs}")
            self.executor.spin_once(timeout_sec=0.05)

    def publisher(self, message_type: type, topic: str, qos: Any) -> Any:
        """A publisher that has found its subscription."""
        publisher = self.node.create_publisher(message_type, topic, qos)
        self.wait_until(lambda: publisher.get_subscription_count() > 0, f"nobody subscribes to {topic}")
        return publisher

    def subscribe(self, message_type: type, topic: str, qos: Any, matched: bool = True) -> list[Any]:
        """The growing list of messages on a topic, once a publisher has been found."""
        received: list[Any] = []
        self.node.create_subscription(message_type, topic, received.append, qos)
        if matched:
            self.wait_until(lambda: self.node.count_publishers(topic) > 0, f"nobody publishes {topic}")
        return received

    def call(self, service_type: type, name: str, request: Any = None) -> Any:
        """Call a service and return its response."""
        client = self.node.create_client(service_type, name)
        try:
            self.wait_until(client.service_is_ready, f"no service {name}")
            future = client.call_async(service_type.Request() if request is None else request)
            self.wait_until(future.done, f"no answer from {name}")
            return future.result()
        finally:
            self.node.destroy_client(client)

    def set_parameter(self, node: str, name: str, value: Any) -> Any:
        """Set one parameter of another node; returns its SetParametersResult."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        return self.call(SetParameters, f"{node}/set_parameters", request).results[0]


@contextlib.contextmanager
def peer_with(*processes: NodeProcess) -> Iterator[Peer]:
    """A peer, and the node processes that it talks to, all stopped at the end."""
    peer = Peer()
    peer.processes.extend(processes)
    try:
        with contextlib.ExitStack() as stack:
            for process in processes:
                stack.enter_context(process)
            yield peer
    finally:
        peer.close()
