"""For how long processes have waited for a processor, by the kernel: what a silence owes to the machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PERIOD = 0.05
"""Between two looks [s]."""

Look = tuple[float, dict[int, dict[int, int]]]
"""Steady time; waited so far by each thread of each process [ns]."""


class Waits:
    """Looks at processes while it lives, in a thread; a context manager.

    Linux tells of each thread for how long it could have run and did not (``/proc/PID/task/TID/schedstat``).
    A process has waited as long as that of its threads which waited longest. Where the system does not tell,
    nobody waits.

    Args:
        processes: their ids at this moment.
    """

    def __init__(self, processes: Callable[[], Sequence[int]]) -> None:
        self._processes = processes
        self._looks: list[Look] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Waits:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def between(self, begin: float, end: float) -> float:
        """For how long the processes have waited between two steady times, one after the other [s]."""
        looks = list(self._looks)
        _, first = next((look for look in reversed(looks) if look[0] <= begin), looks[0])
        _, last = next((look for look in looks if look[0] >= end), looks[-1])
        total = 0
        for process, threads in last.items():
            before = first.get(process, {})
            total += max((wait - before.get(thread, 0) for thread, wait in threads.items()), default=0)
        return 1e-9 * total

    def _run(self) -> None:
        while not self._end.wait(PERIOD):
            self._look()

    def _look(self) -> None:
        found = {process: _of_threads(process) for process in self._processes()}
        self._looks.append((time.monotonic(), found))


def _of_threads(process: int) -> dict[int, int]:
    waits = {}
    for file in Path(f"/proc/{process}/task").glob("*/schedstat"):
        try:
            waits[int(file.parent.name)] = int(file.read_text(encoding="ascii").split()[1])
        except (OSError, IndexError):
            continue  # the thread has ended, or the kernel does not count
    return waits
