"""Work that takes long is shown on a terminal, and there alone."""

import io
import os
import pty
import sys
import threading

import pytest

from robot_dynamics.native.waiting import waiting_line


@pytest.fixture
def ends():
    """A terminal, and the end of it that a person reads."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream, os.fdopen(ours, "rb", buffering=0) as end:
        yield stream, end


def test_a_terminal_shows_the_work_and_is_left_empty(ends, monkeypatch):
    stream, terminal = ends
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting_line("compiling", after=0.0):
        seen = b""
        while b"compiling: 0 s" not in seen:
            seen += terminal.read(1)
    while not seen.endswith(b"s\r\x1b[K"):
        seen += terminal.read(1)


def test_short_work_and_other_threads_show_nothing(ends, monkeypatch):
    stream, terminal = ends
    monkeypatch.setattr(sys, "stderr", stream)

    def work():
        with waiting_line("elsewhere", after=0.0):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with waiting_line("short", after=1e6):
        pass
    stream.write("end")
    stream.flush()
    assert terminal.read(100) == b"end"


def test_a_file_gets_nothing(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting_line("compiling", after=0.0):
        pass
    assert stream.getvalue() == ""
