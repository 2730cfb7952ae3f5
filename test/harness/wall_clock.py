"""The computer's clock as one process sees it: set ahead or back, or standing; others see the true one."""

from __future__ import annotations

import contextlib
import mmap
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from compilers import CC

SECOND = 1_000_000_000


class WallClock:
    """A clock that shows the time of the system until it is told otherwise.

    Args:
        folder: where its library and what it is told are kept.

    Attributes:
        environment: of the processes that see it.
    """

    def __init__(self, folder: Path) -> None:
        library, told = folder / "wall_clock.so", folder / "wall_clock"
        source = Path(__file__).with_suffix(".c")
        command = [*CC, "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl", "-lpthread"]
        subprocess.run(command, check=True)
        told.write_bytes(bytes(16))
        with told.open("r+b") as file:
            self._told = mmap.mmap(file.fileno(), 16)
        self.environment: Mapping[str, str] = {"LD_PRELOAD": str(library), "WALL_CLOCK": str(told)}

    @contextlib.contextmanager
    def ahead(self, seconds: int) -> Iterator[None]:
        """It is so much ahead meanwhile; behind where that is negative."""
        with self._tells(ahead=seconds * SECOND):
            yield

    @contextlib.contextmanager
    def standing(self) -> Iterator[None]:
        """It stands meanwhile."""
        with self._tells(stands_at=time.time_ns()):
            yield

    @contextlib.contextmanager
    def _tells(self, ahead: int = 0, stands_at: int = 0) -> Iterator[None]:
        self._told[:] = struct.pack("qq", ahead, stands_at)
        try:
            yield
        finally:
            self._told[:] = bytes(16)
