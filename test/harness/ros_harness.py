"""Real ROS 2 nodes in tests: each node under test is a process of its own, the test is a peer over DDS.

Nothing here waits for a fixed time: every wait is for a condition, and its limit only bounds a failure.
"""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from node_server import ForkedProcess, can_fork
from patience import PATIENCE, POLL, REPEAT, RESEND

from robot_dynamics.ros.support import processes
from robot_dynamics.ros.support.isolation import stay_on_this_host

UNSUPERVISED = {"supervision": "observe"}
"""For arms that move by the wall clock: on a loaded machine late states are enough for a protective stop."""


def free_port() -> int:
    """A TCP port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class HarnessError(AssertionError):
    """A condition did not come true; carries the log of every node involved."""


class NodeProcess(processes.NodeProcess):
    """A node of this package in its own process; a context manager that stops it by SIGINT, or fails.

    Args:
        node: module under ``robot_dynamics.ros`` to run, e.g. ``"simulator"``; a path runs that file.
        parameters: ROS parameters.
        arguments: further ROS arguments, e.g. ``["-r", "__ns:=/left"]``.
        environment: variables beside those of this process.
    """

    STOP_TIMEOUT = PATIENCE

    def __init__(
        self,
        node: str | Path,
        parameters: Mapping[str, Any] | None = None,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        module, variables = f"robot_dynamics.ros.{node}", dict(environment or {})
        if isinstance(node, Path):
            module, variables["PYTHONPATH"] = node.stem, str(node.parent)
        super().__init__(module, processes.claim_domain(), parameters, arguments, variables)

    def _start(self, module: str, words: list[str], variables: dict[str, str]) -> Any:
        return (ForkedProcess if can_fork(variables) else super()._start)(module, words, variables)

    def describe(self) -> str:
        """State and output, for the message of a failure."""
        state = "is running" if self.running else f"ended with exit code {self.exit_code}"
        return f"--- {self.name} {state}; its output:\n{self.output}---"

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """End the node by a signal, and return the exit code; HarnessError when it had to be killed."""
        code = super().stop(number)
        if self.killed:
            raise HarnessError(f"{self.name} did not end by {number.name} and was killed\n{self.describe()}")
        return code

    def wait_for_exit(self) -> int:
        """Wait until the node ends by itself, and return the exit code."""
        return self.wait(PATIENCE)

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
            time.sleep(POLL)


class Peer:
    """A ROS node inside the test process, with its own context and executor.

    ``processes`` are the node processes that the test talks to; their logs belong to a failure's message.
    Whether it reaches this host only must be the same for all of a process, for Fast DDS asks but once.
    """

    patience = PATIENCE

    def __init__(self, name: str = "peer", this_host_only: bool = True) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        if this_host_only:
            stay_on_this_host()
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=processes.claim_domain(), args=[])
        self.node = rclpy.create_node(name, context=self.context, use_global_arguments=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.processes: list[NodeProcess] = []

    def close(self) -> None:
        """Leave the ROS graph."""
        self.executor.remove_node(self.node)
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def wait_until(self, condition: Callable[[], Any], what: str, patience: float | None = None) -> Any:
        """Run callbacks until ``condition()`` is true, and return its value.

        Fails with the logs of all node processes when time is up or one of them has ended.
        """
        patience = self.patience if patience is None else patience
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

    def subscribe(self, message_type: type, topic: str, qos: Any) -> list[Any]:
        """The growing list of messages on a topic, once a publisher has been found."""
        received: list[Any] = []
        self.node.create_subscription(message_type, topic, received.append, qos)
        self.wait_until(lambda: self.node.count_publishers(topic) > 0, f"nobody publishes {topic}")
        return received

    def repeat_until(self, publish: Callable[[], Any], condition: Callable[[], Any], what: str) -> Any:
        """Send what may get lost, again and again, until ``condition()`` is true; returns its value."""
        due = 0.0

        def met() -> Any:
            nonlocal due
            if time.monotonic() > due:
                publish()
                due = time.monotonic() + REPEAT
            return condition()

        return self.wait_until(met, what)

    def call(
        self, service_type: type, name: str, request: Any = None, lost: Callable[[], bool] = lambda: True
    ) -> Any:
        """Call a service and return its response; a request without an answer is sent again.

        A client that has just been found by a service may miss the answer, whose way is not yet known.

        Args:
            service_type: of the service.
            name: of the service.
            request: an empty one when None.
            lost: asked before a request is sent again; false where its effect has come without an answer.

        Returns:
            The response; None where ``lost`` said so.
        """
        client = self.node.create_client(service_type, name)
        content = service_type.Request() if request is None else request
        try:
            self.wait_until(client.service_is_ready, f"no service {name}")
            futures = [client.call_async(content)]
            due = time.monotonic() + RESEND

            def answered() -> Any:
                nonlocal due
                done = [future for future in futures if future.done()]
                if not done and time.monotonic() > due:
                    if not lost():
                        return [None]
                    futures.append(client.call_async(content))
                    due = time.monotonic() + RESEND
                return [future.result() for future in done]

            return self.wait_until(answered, f"no answer from {name}")[0]
        finally:
            self.node.destroy_client(client)

    def set_parameter(self, node: str, name: str, value: Any) -> Any:
        """Set one parameter of another node; returns its SetParametersResult."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        return self.call(SetParameters, f"{node}/set_parameters", request).results[0]


class Lifecycle:
    """The lifecycle services of a node."""

    CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE, INACTIVE_SHUTDOWN, ACTIVE_SHUTDOWN = 1, 2, 3, 4, 6, 7

    def __init__(self, peer: Peer, node: str) -> None:
        self._peer, self._node = peer, node

    def change(self, transition: int) -> bool:
        """Ask for a transition; whether it succeeded.

        Twice the same transition is an error, so that the request is sent again only in the same state.
        """
        from lifecycle_msgs.srv import ChangeState

        request = ChangeState.Request()
        request.transition.id = transition
        before = self.state
        answer = self._peer.call(
            ChangeState, f"{self._node}/change_state", request, lost=lambda: self.state == before
        )
        return answer is None or bool(answer.success)

    @property
    def state(self) -> str:
        """Label of the present state."""
        from lifecycle_msgs.srv import GetState

        return str(self._peer.call(GetState, f"{self._node}/get_state").current_state.label)


def end_in_motion(process: NodeProcess, peer: Peer, node: str, end: str) -> None:
    """End what a node does, by ``"deactivate"`` or ``"SIGINT"``, and return when it has begun to."""
    if end == "SIGINT":
        peer.processes.clear()
        process.send_signal(signal.SIGINT)
        process.wait_for_output("summary: ")
    else:
        lifecycle = Lifecycle(peer, node)
        assert lifecycle.change(lifecycle.DEACTIVATE)


@contextlib.contextmanager
def peer_with(*nodes: NodeProcess) -> Iterator[Peer]:
    """A peer, and the node processes that it talks to, all stopped at the end."""
    with contextlib.ExitStack() as stack:
        for node in nodes:
            stack.enter_context(node)
        peer = Peer()
        stack.callback(peer.close)
        peer.processes.extend(nodes)
        yield peer
