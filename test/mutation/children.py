"""Work in processes that fork from this one and may crash or hang."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any, TextIO

CRASHED, LATE = "a crash", "its time"
"""Answers for a process that gives none."""


def in_child(run: Callable[[], Any], patience: float) -> Any:
    """Result of ``run`` in a process of its own, None or a string; CRASHED or LATE without a result.

    Args:
        run: the work.
        patience: for it [s].
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(reading)
        try:
            os.write(writing, json.dumps(run()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        return _answer_of(reading, time.monotonic() + patience)
    finally:
        os.close(reading)
        _end(child)


def _answer_of(reading: int, until: float) -> Any:
    text = b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return LATE
        more = os.read(reading, 1 << 16)
        if not more:
            return json.loads(text) if text else CRASHED
        text += more
        if text.endswith((b"null", b'"', b"]")):
            try:
                return json.loads(text)
            except ValueError:
                continue


def _end(child: int) -> None:
    """End a child and what it has started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def conversation() -> tuple[TextIO, Callable[[Any], None]]:
    """Lines of JSON that are asked on the standard input, and a function that answers on the output.

    All else that this process and its children print goes to ``judge.log``.
    """
    asked, out = os.fdopen(os.dup(0)), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    log = os.open("judge.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)

    def answer(message: Any) -> None:
        os.write(out, (json.dumps(message) + "\n").encode())

    return asked, answer
