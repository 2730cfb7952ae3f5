"""Ctrl-C while a program of this package is still importing: it ends at once, and without a traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn


def end_quietly_at_sigint(program: str, code: int) -> None:
    """From now on SIGINT ends this process, where it runs the program and nothing waits to be ended properly.

    The program sets a handler of its own, or calls :func:`raise_at_sigint`, once it can do better. Nothing
    happens in a process that only uses the package.

    Args:
        program: beginning of the module's name for ``python -m``, such as ``robot_dynamics.ros``.
        code: exit code of the process.
    """

    if _runs(program):
        _end_with(code)


@contextlib.contextmanager
def ended_by_sigint() -> Iterator[None]:
    """Meanwhile SIGINT ends the process: compiled modules make an ImportError of a ``KeyboardInterrupt``."""
    _end_with(130)
    try:
        yield
    finally:
        raise_at_sigint()


def raise_at_sigint() -> None:
    """SIGINT is a ``KeyboardInterrupt`` again, where it ended the process."""
    handler = signal.getsignal(signal.SIGINT)
    if getattr(handler, "__module__", None) == __name__:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_with(code: int) -> None:
    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        os._exit(code)

    if _is_default() and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, end)


def _is_default() -> bool:
    handler: Callable[..., object] | int | None = signal.getsignal(signal.SIGINT)
    return handler is signal.default_int_handler


def _runs(program: str) -> bool:
    """Return whether ``python -m program...`` or one of the package's scripts started the process."""
    words = sys.orig_argv
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1].startswith(program)
    if not (sys.argv and sys.argv[0]):
        return False
    folder, _, script = sys.argv[0].rpartition("/")
    if script == "robot_dynamics":  # the command line, which itself ends what its subcommands start
        return program == "robot_dynamics.cli" or sys.argv[1:2] == ["run"]
    by_colcon = folder.endswith("lib/robot_dynamics")
    return by_colcon and program == "robot_dynamics.ros"
