"""Start and stop of a node's process."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from robot_dynamics.errors import ModelWarning, ParameterError
from robot_dynamics.inputs.files import read_bytes
from robot_dynamics.native.build_process import BUILDS, Interrupted
from robot_dynamics.ros.support.faults import explain, hand_over
from robot_dynamics.ros.support.isolation import use_sockets
from robot_dynamics.ros.support.undeclared import refuse_undeclared, unmatched_files

N = TypeVar("N", bound=Node)

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
SWITCH_INTERVAL = 1e-4
"""Seconds that a thread of Python may run while another wants to."""
LOOK = 0.05
"""Seconds between two looks at whether a node that ends has seen through what it waits for."""
ONE_STROKE = 1.0
"""Signals that come within so many seconds are one: a launch and the terminal both pass on a Ctrl-C."""


def run(
    build: Callable[[], N],
    args: Sequence[str] | None = None,
    loop: Callable[[N, StopEvent], None] | None = None,
) -> int:
    """Run one node until SIGINT or SIGTERM, and return the exit code of the process, which is to end then.

    The ROS context stays alive until the node has stopped, so a node can still send its safe output: a method
    ``on_stop()`` of the node is called for that. A SIGINT that comes a second or more later ends the process
    at once, after its last word. A SIGTERM does not: ``ros2 launch`` sends one to who takes long to stop.

    Args:
        build: makes the node. A RobotDynamicsError or a bad parameter ends the process with one line of log
            and exit code 1, as does any other error that the node does not deal with itself.
        args: command-line arguments without the program's name; those of the process when None.
        loop: runs the node instead of :func:`spin`, until the event is set.
    """
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", getattr(build, "__name__", "node")).lower()
    given = [_quoted(argument) for argument in (sys.argv[1:] if args is None else args)]
    # A thread that builds a model gives way to the control loop after so long, not after 5 ms.
    sys.setswitchinterval(SWITCH_INTERVAL)
    # Nodes log what is odd about a description; Python's own print of it would come twice.
    warnings.filterwarnings("ignore", category=ModelWarning)
    try:
        check_parameter_files(given)
        unknown = remove_ros_args(given)
        use_sockets()
        # rclpy's own handlers invalidate the context at the signal; nothing could be published any more.
        rclpy.init(args=given, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:
        print(f"{name}: bad ROS arguments: {error}", file=sys.stderr)
        return 2
    if unknown:
        rclpy.try_shutdown()
        print(
            f"{name}: unknown arguments {' '.join(unknown)}; ROS arguments follow --ros-args", file=sys.stderr
        )
        return 2
    with _stop_event() as stop:
        return _live(name, build, loop or spin, stop, _parameter_files(given))


def _live(
    name: str,
    build: Callable[[], N],
    loop: Callable[[N, StopEvent], None],
    stop: StopEvent,
    files: Sequence[str],
) -> int:
    """The node's life; returns the exit code."""
    node: N | None = None
    forward = _RosLog(name)
    logging.getLogger("robot_dynamics").addHandler(forward)
    try:
        node = build()
        refuse_undeclared(node)
        for reason in unmatched_files(node.get_fully_qualified_name(), files):
            node.get_logger().warning(reason)
        loop(node, stop)
        if hasattr(node, "on_stop"):
            node.on_stop()
    except ExternalShutdownException:
        pass
    except Interrupted:
        # The signal came while the node, or a callback of it, waited for a model.
        if node is not None and hasattr(node, "on_stop"):
            node.on_stop()
    except Exception as error:
        logger = node.get_logger() if node is not None else rclpy.logging.get_logger(name)
        logger.fatal(str(error) if isinstance(error, ParameterException) else explain(error))
        _stop_after(error, node)
        return 1
    finally:
        logging.getLogger("robot_dynamics").removeHandler(forward)
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


def check_parameter_files(arguments: Sequence[str]) -> None:
    """Refuse parameter files that ROS would wait for, or read without end.

    Raises:
        ParameterError: a file is missing, no regular one, or too large.
    """
    for path in _parameter_files(arguments):
        read_bytes(path, "parameter file", ParameterError)


def _parameter_files(arguments: Sequence[str]) -> list[str]:
    """Paths of the parameter files among the arguments."""
    return [path for flag, path in itertools.pairwise(arguments) if flag == "--params-file"]


def _quoted(argument: str) -> str:
    """``robot_description:=<XML>`` as ROS takes it: values are YAML, which has no place for XML's colons."""
    name, given, value = argument.partition(":=")
    if given and name.endswith("robot_description") and value.lstrip().startswith("<"):
        return f"{name}:={json.dumps(value)}"
    return argument


def spin(node: Node, stop: StopEvent) -> None:
    """Run the node's callbacks in this thread until the event is set."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    # spin_once returns only when a callback has run: the signal triggers this one.
    wake = node.create_guard_condition(lambda: None)
    stop.on_set = wake.trigger
    try:
        while not stop.is_set():
            try:
                executor.spin_once()
            except ExternalShutdownException:
                raise
            except Exception as error:
                hand_over(node, error)
    finally:
        stop.on_set = lambda: None
        executor.remove_node(node)
        executor.shutdown()


def see_through(node: Node, done: Callable[[], bool], patience: float) -> None:
    """Run the callbacks of a node that ends until ``done()``, or for ``patience`` [s]."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    deadline = time.monotonic() + patience
    try:
        while not done() and time.monotonic() < deadline:
            try:
                executor.spin_once(timeout_sec=LOOK)
            except Interrupted:  # a callback that wanted a model gets none any more
                continue
            except Exception as error:
                hand_over(node, error)
    finally:
        executor.remove_node(node)
        executor.shutdown()


def _stop_after(error: Exception, node: Node | None) -> None:
    """Let a node that an error ends send its safe output all the same."""
    if node is None or not hasattr(node, "on_stop"):
        return
    try:
        node.on_stop()
    except Exception as another:
        node.get_logger().fatal(f"after {type(error).__name__}: {explain(another)}")


class _RosLog(logging.Handler):
    """Passes on what the library logs, which knows nothing of ROS."""

    def __init__(self, name: str) -> None:
        super().__init__(logging.WARNING)
        self._log = rclpy.logging.get_logger(name)

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record."""
        (self._log.error if record.levelno >= logging.ERROR else self._log.warning)(record.getMessage())


class StopEvent(threading.Event):
    """An event that also wakes whoever cannot wait for it.

    Attributes:
        on_set: called when it is set.
        last_word: called, in another thread, when the process is about to end at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on_set: Callable[[], None] = lambda: None
        self.last_word: Callable[[], None] = lambda: None

    def set(self) -> None:
        super().set()
        BUILDS.stop()
        self.on_set()


@contextlib.contextmanager
def _stop_event() -> Iterator[StopEvent]:
    """An event that SIGINT or SIGTERM sets; a SIGINT more than ONE_STROKE later kills the process.

    The interpreter runs Python handlers only when the main thread runs byte code, which it does not while it
    waits inside DDS. The wake-up descriptor is written by the C handler, in whatever thread the signal lands.
    """
    stop = StopEvent()
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def listen() -> None:
        first = 0.0
        while number := reader.recv(1):
            if number[0] not in _SIGNALS:
                continue
            if not stop.is_set():
                first = time.monotonic()
                stop.set()
            elif number[0] == signal.SIGINT and time.monotonic() - first > ONE_STROKE:
                with contextlib.suppress(Exception):
                    stop.last_word()
                os._exit(128 + number[0])

    # The descriptor first: what comes between the two would be lost with a handler that does nothing.
    descriptor = signal.set_wakeup_fd(writer.fileno())
    for number in _SIGNALS:
        signal.signal(number, lambda *_: None)
    thread = threading.Thread(target=listen, name="signals", daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        signal.set_wakeup_fd(descriptor)
        for number in _SIGNALS:
            # The process is at its end; another signal would only interrupt it on its way out.
            signal.signal(number, signal.SIG_IGN)
        writer.close()
        thread.join()
        reader.close()
