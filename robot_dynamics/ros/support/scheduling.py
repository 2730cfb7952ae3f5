"""Services of the operating system for a process that must not be late."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

_MCL_CURRENT, _MCL_FUTURE = 1, 2
_PR_SET_TIMERSLACK = 29
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
SHORT_TURN = 100_000
"""Of a thread that wants to be asked early: the least that Linux grants [ns]."""
EVENT_THREADS = ("dds.ev",)
"""Prefixes of the names of those threads of DDS that only bring up the rear: heartbeats of Fast DDS."""


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


class SchedulingAttributes(ctypes.Structure):
    """``struct sched_attr`` of sched_setattr(2), in its first version."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def take_short_turns(threads: Sequence[int]) -> None:
    """Let threads of this process interrupt whoever has a longer turn, for a short one of their own.

    They get no more of the processor than before, only sooner. It takes no privilege; Linux heeds it since
    6.12. A thread that somebody has given a policy of its own keeps it.
    """
    call = _SCHED_SETATTR.get(os.uname().machine)
    if call is None:
        return
    system = ctypes.CDLL(None)
    for number in threads:
        with contextlib.suppress(OSError):  # it has ended since
            if os.sched_getscheduler(number) == os.SCHED_OTHER:
                wanted = SchedulingAttributes(size=ctypes.sizeof(SchedulingAttributes), runtime=SHORT_TURN)
                wanted.nice = os.getpriority(os.PRIO_PROCESS, number)
                system.syscall(ctypes.c_long(call), number, ctypes.byref(wanted), 0)


def stay_awake() -> str:
    """Let no processor of this machine sleep while this process lives; why that is not permitted, else empty.

    A processor that sleeps takes 10 µs to 200 µs to wake. The request holds for as long as the file is open.
    """
    try:
        file = os.open("/dev/cpu_dma_latency", os.O_WRONLY | os.O_CLOEXEC)
        os.write(file, (0).to_bytes(4, sys.byteorder))
    except OSError as error:
        return str(error.strerror)
    return ""


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


def arrange_threads(loop: str, priority: int) -> None:
    """On few processors, whatever a node does beside its loop comes between a state and its answer.

    The node's own thread and those of DDS that nobody waits for give way. The loop's and those that bring the
    states take their turns at once; the latter have the loop's ``priority``, where it has one.

    Args:
        loop: name of the loop's thread.
        priority: real-time priority of that thread; 0: none.
    """
    threads = middleware_threads()
    late = {number for number, name in threads.items() if name.startswith(EVENT_THREADS)}
    if priority:
        run_first([number for number, name in threads.items() if name != loop], priority)
    take_short_turns([number for number in threads if number not in late])
    give_way([threading.get_native_id(), *late])
