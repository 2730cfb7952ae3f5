"""Nodes of this package as processes of their own, for machines without ``ros2 launch``."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import yaml

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.support.isolation import this_host_only
from robot_dynamics.ros.support.scheduling import run_first

LAST_DOMAIN = 101
OWN_DOMAIN = "ROBOT_DYNAMICS_OWN_DOMAIN"
"""Variable that is 1 where no other run's nodes can be in the ROS domain: nodes need not listen first."""

_held: list[IO[str]] = []


def claim(what: str) -> bool:
    """Keep something for this process while it lives; False where another run of this user has it."""
    try:
        file = Path(tempfile.gettempdir()) / f"robot_dynamics_{what}.{os.getuid()}.lock"
        handle = file.open("a")
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        return False
    _held.append(handle)
    return True


@functools.cache
def claim_domain() -> int:
    """A ROS domain (1 to 101) that no other run on this machine uses while this process lives.

    Raises:
        RobotDynamicsError: all of them are in use.
    """
    for attempt in range(LAST_DOMAIN):
        domain = 1 + (os.getpid() + attempt) % LAST_DOMAIN
        if str(domain) == os.environ.get("ROS_DOMAIN_ID", "").strip():
            continue  # the user's own graph, where a real robot may listen
        if claim(f"domain_{domain}"):
            return domain
    raise RobotDynamicsError(f"every ROS domain from 1 to {LAST_DOMAIN} is in use by another run")


def node_environment(domain: int) -> dict[str, str]:
    """The environment of a node process: its own domain, this host only, unbuffered output."""
    return {
        **this_host_only(os.environ),
        "ROS_DOMAIN_ID": str(domain),
        OWN_DOMAIN: "1",
        "PYTHONUNBUFFERED": "1",
        "RCUTILS_LOGGING_BUFFERED_STREAM": "0",
    }


@functools.cache
def _ends_with_parent() -> tuple[str, ...]:
    """Words before a command so that it gets SIGINT when this process dies, however it dies."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "INT") if setpriv else ()


AFTER_KILL = 30.0
"""A killed process ends by itself, on a busy computer late [s]."""


class NodeProcess:
    """A node in its own process; a context manager that stops it by SIGINT, as does the end of its starter.

    Args:
        module: module to run with ``python -m``.
        domain: ROS domain.
        parameters: ROS parameters, handed over in a file because a robot description is long.
        arguments: further ROS arguments, e.g. remappings.
        environment: variables beside those of this process.
        priority: real-time priority of all its threads; 0: none.

    Attributes:
        refused_priority: why it has no such priority; empty where it has, or is to have none.
        killed: whether it did not end when it was asked to.
    """

    STOP_TIMEOUT = 10.0
    """After this time without an end a node is killed [s]."""

    def __init__(
        self,
        module: str,
        domain: int,
        parameters: Mapping[str, Any] | None = None,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        priority: int = 0,
    ) -> None:
        self.name = module.rpartition(".")[2]
        self.killed = False
        self._lines: list[str] = []
        words = ["--ros-args", *arguments]
        self._folder = tempfile.TemporaryDirectory(prefix="robot_dynamics_")
        if parameters:
            file = Path(self._folder.name) / "parameters.yaml"
            file.write_text(yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}), encoding="utf-8")
            words += ["--params-file", str(file)]
        # What a run is to remember ends with it, and nothing of the user's counts in it.
        variables = node_environment(domain) | {"XDG_STATE_HOME": self._folder.name} | dict(environment or {})
        self._process = self._start(module, words, variables)
        # Before it has any thread: they all inherit it.
        self.refused_priority = run_first([self._process.pid], priority) if priority else ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _start(self, module: str, words: list[str], variables: dict[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*_ends_with_parent(), sys.executable, "-m", module, *words],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    def _read(self) -> None:
        stream = self._process.stdout
        if stream is not None:
            for line in stream:
                self._lines.append(line)

    def __enter__(self) -> NodeProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all its threads so far; RobotDynamicsError when it has ended."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError as error:
            raise RobotDynamicsError(f"{self.name} has ended; its output:\n{self.output}") from error
        user, system = fields[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    @property
    def running(self) -> bool:
        """Return whether the process lives."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """None while the process lives."""
        return self._process.poll()

    @property
    def output(self) -> str:
        """Everything that the node has printed so far."""
        return "".join(self._lines)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, if the process still lives."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def wait(self, timeout: float) -> int:
        """Wait for the end and return the exit code; subprocess.TimeoutExpired when it does not come."""
        code = self._process.wait(timeout)
        self._reader.join(timeout)
        return code

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """End the node: by signal, or by force when it does not answer; returns the exit code."""
        self.send_signal(number)
        try:
            return self.wait(self.STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.killed = True
            self._process.kill()
            return self.wait(max(self.STOP_TIMEOUT, AFTER_KILL))
        finally:
            self._folder.cleanup()
