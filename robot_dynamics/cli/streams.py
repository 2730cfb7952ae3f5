"""Standard streams that are always open and never cause a traceback."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from robot_dynamics.errors import ParameterError, readable

MAX_INPUT = 64 * 1024 * 1024
"""Most that is read from standard input at once [bytes]."""


def prepare() -> None:
    """Make the streams usable, whatever the shell has done to them.

    A closed stream gets the null device in a direction that it cannot be used in, so that its use fails as
    such; left closed, the next file that is opened would take its place, and get what was meant for it.
    Characters that a terminal does not know are written as escapes.
    """
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)
    # The interpreter has no object for a stream that was closed.
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def note(text: object) -> None:
    """Write a line to standard error; where that is impossible, the line is lost."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def opened_input() -> BinaryIO:
    """Standard input, of bytes.

    Raises:
        ParameterError: it is closed.
    """
    if sys.stdin is None:
        raise ParameterError("cannot read standard input: it is closed")
    return sys.stdin.buffer


def read_input(most: int = MAX_INPUT) -> bytes:
    """Everything on standard input.

    Raises:
        ParameterError: it is closed, cannot be read, or does not end in time.
    """
    stream = opened_input()
    try:
        data = stream.read(most + 1)
    except OSError as error:
        raise ParameterError(f"cannot read standard input: {error.strerror}") from error
    if len(data) > most:
        raise ParameterError(f"standard input: larger than the {most // 2**20} MiB that are read")
    return data


def counted(lines: Iterable[str], size: int | None = None) -> Iterator[str]:
    """The same lines; a terminal shows how far they have been read, where that takes more than a second.

    Args:
        lines: of text.
        size: of the whole, where it is known [bytes].
    """
    if not sys.stderr.isatty():
        yield from lines
        return
    from tqdm import tqdm  # which takes longer than many a command

    with tqdm(total=size, unit="B", unit_scale=True, delay=1.0, leave=False, ncols=80) as bar:
        for line in lines:
            bar.update(len(line))
            yield line


def finish(code: int) -> int:
    """Write out what is buffered; returns the exit code, which is 1 where the output was lost."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)  # the reader has seen enough
    except OSError as error:
        _discard(sys.stdout)
        if code == 0:
            note(f"robot_dynamics: cannot write standard output: {error.strerror}")
            code = 1
    try:
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)
    return code


def complain(error: Exception) -> None:
    """Print an error to standard error."""
    text = str(error)
    if isinstance(error, OSError):
        text = ": ".join(str(part) for part in (error.filename, error.strerror or text) if part is not None)
    note(f"robot_dynamics: {readable(text)}")


def _discard(stream: Any) -> None:
    """Let what is still buffered go nowhere: the interpreter would fail on it at the very end."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
