"""Builds in separate processes: they block no other thread and can be ended at any time.

A build is a call that puts what it makes into the cache. Where all of it is there already, it is made in this
process at once; else another process makes it, and this one finds it in the cache.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from robot_dynamics.errors import BackendError
from robot_dynamics.native import cache
from robot_dynamics.resources import environment_of_programs

T = TypeVar("T")
GRACE = 0.5
"""Seconds that a build gets to clean up after itself before it is killed."""
LENGTH = 8
"""Bytes of the length that precedes the task on a builder's standard input."""


class Interrupted(BaseException):
    """The process is about to end and builds nothing any more; like KeyboardInterrupt, no error."""


class Builds:
    """The builds of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """True after :meth:`stop`."""
        return self._stopped

    def made(self, make: Callable[[], T], build: Callable[[], object]) -> T:
        """``make()``, after ``build()`` in another process if the cache lacks something of it.

        Args:
            make: called in this process; it must be possible to call it twice.
            build: puts into the cache what ``make`` needs; can be pickled.

        Raises:
            RobotDynamicsError: what either of them raises.
            Interrupted: :meth:`stop` was called.
        """
        if self._stopped:
            raise Interrupted
        try:
            with cache.finished_entries():
                return make()
        except cache.NotBuilt:
            self._run(build)
            return make()

    def stop(self) -> None:
        """End every build, and begin no other; returns at once."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _signal(process, signal.SIGTERM)

    def _run(self, build: Callable[[], object]) -> None:
        task = pickle.dumps((cache.folder(), build))
        with self._lock:
            if self._stopped:
                raise Interrupted
            process = _start()
            self._running.add(process)
        try:
            answer = _answer(process, task)
        finally:
            self._end(process)
        if self._stopped:
            raise Interrupted
        if not answer:
            raise BackendError(f"the process that builds the model has ended with {process.returncode}")
        error = pickle.loads(answer)
        if error is not None:
            raise error

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the end of a build that has answered or been asked to stop; leave nothing of it."""
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            process.wait()
            cache.sweep(cache.folder())
        with self._lock:
            self._running.discard(process)


BUILDS = Builds()
"""Builds of this process."""


def _start() -> subprocess.Popen[bytes]:
    # A session of its own: a Ctrl-C in the terminal is for this process, which then ends the builder and its
    # compiler together.
    return subprocess.Popen(
        [sys.executable, "-m", "robot_dynamics.native.builder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment_of_programs(),
        start_new_session=True,
    )


def _answer(process: subprocess.Popen[bytes], task: bytes) -> bytes:
    """Output of a builder for its task; empty when it was ended."""
    assert process.stdin is not None and process.stdout is not None
    try:
        # The pipe stays open: its end tells the builder that this process is no more.
        process.stdin.write(len(task).to_bytes(LENGTH, "little") + task)
        process.stdin.flush()
    except BrokenPipeError:
        return b""
    return process.stdout.read()


def _signal(process: subprocess.Popen[Any], number: signal.Signals) -> None:
    """Send a signal to a builder and to the compiler that it runs."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return
