"""A line on a terminal while something takes long."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

AFTER = 2.0
"""Shorter work shows nothing [s]."""
EVERY = 1.0
_ERASED = "\r\x1b[K"


@contextlib.contextmanager
def waiting_line(text: str, after: float = AFTER) -> Iterator[None]:
    """Context of work of the main thread; a terminal on standard error shows ``text`` and the time so far.

    Args:
        text: names the work.
        after: time from which on something is shown [s].
    """
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if not terminal or threading.current_thread() is not threading.main_thread():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(text, after, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(text: str, after: float, done: threading.Event) -> None:
    start = time.monotonic()
    if done.wait(after):
        return
    with contextlib.suppress(OSError, ValueError):
        while True:
            sys.stderr.write(f"{_ERASED}{text}: {time.monotonic() - start:.0f} s")
            sys.stderr.flush()
            if done.wait(EVERY):
                break
        sys.stderr.write(_ERASED)
        sys.stderr.flush()
