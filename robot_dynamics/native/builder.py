"""Program of :mod:`robot_dynamics.native.build_process`: a task in, None or an error out."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import threading
from types import FrameType

from robot_dynamics.errors import BackendError, RobotDynamicsError
from robot_dynamics.native import cache
from robot_dynamics.native.build_process import LENGTH

NICENESS = 10
"""Niceness of builds: the control loops of this computer come first."""


def main() -> int:
    """Run the task on standard input; the process ends when that stream ends."""
    signal.signal(signal.SIGTERM, _leave)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints must not print into the answer
    os.nice(NICENESS)
    logging.disable()  # what matters is logged by the process that uses the result
    tasks = sys.stdin.buffer
    size = int.from_bytes(tasks.read(LENGTH), "little")
    task = tasks.read(size)
    if not task or len(task) < size:
        return 0  # who started this has ended
    folder, build = pickle.loads(task)
    threading.Thread(target=_end_with, args=(tasks.fileno(),), daemon=True).start()
    cache.use(folder)
    error: Exception | None = None
    try:
        build()
    except RobotDynamicsError as refused:
        error = refused
    except Exception as failed:
        error = BackendError(f"the model cannot be built: {type(failed).__name__}: {failed}")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nothing is left to clean up
    answers.write(pickle.dumps(error))
    answers.close()
    return 0


def _leave(number: int, _: FrameType | None) -> None:
    """End the process with every clean-up."""
    sys.exit(128 + number)


def _end_with(descriptor: int) -> None:
    """End this process and its compiler when the other end of the pipe is closed."""
    while os.read(descriptor, 1):
        pass
    os.killpg(os.getpgrp(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
