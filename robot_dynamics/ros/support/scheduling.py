"""What the operating system does for a process that must not be late."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Sequence
from pathlib import Path

_MCL_CURRENT, _MCL_FUTURE = 1, 2
_PR_SET_TIMERSLACK = 29
EVENT_THREADS = ("dds.ev",)
"""How the names of those threads of DDS begin that only bring up the rear: heartbeats of Fast DDS."""


def lock_memory() -> str:
    """Keep all pages of this process in memory, from now on; why that is not permitted, else empty."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.mlockall(_MCL_CURRENT | _MCL_FUTURE) == 0:
        return ""
    return os.strerror(ctypes.get_errno())


def sleep_exactly() -> None:
    """Let sleeps of this thread end when they are due, not when the system wakes up anyway, 50 µs later."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)


def middleware_threads() -> dict[int, str]:
    """The threads of this process that DDS has made, by number, with their names.

    They are those with a name of their own: what Python and numpy start is called as the program is.
    """
    ours = {thread.native_id for thread in threading.enumerate()}
    names: dict[int, str] = {}
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended since
            names[int(task.name)] = (task / "comm").read_text(encoding="utf-8").strip()
    program = names.get(os.getpid())
    return {number: name for number, name in names.items() if number not in ours and name != program}


def give_way(threads: Sequence[int]) -> None:
    """Let threads of this process never interrupt another that runs; their share of the time stays.

    A thread that somebody has given a policy of its own keeps it.
    """
    for number in threads:
        with contextlib.suppress(OSError):
            if os.sched_getscheduler(number) == os.SCHED_OTHER:
                os.sched_setscheduler(number, os.SCHED_BATCH, os.sched_param(0))


def run_first(threads: Sequence[int], priority: int) -> str:
    """Give threads, or the first of a process that begins, a real-time priority; why not, else empty."""
    for number in threads:
        try:
            os.sched_setscheduler(number, os.SCHED_FIFO, os.sched_param(priority))
        except ProcessLookupError:
            continue
        except OSError as error:
            return str(error.strerror)
    return ""
