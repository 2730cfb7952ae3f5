"""Tables of numbers in CSV text: bounded, and with errors that name the line and the column."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from robot_dynamics.errors import StateError, quoted
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.files import decoded

MAX_BYTES = 2**30
"""Size of the largest table [bytes]."""
MAX_LINE = 100 * 1024
"""Length of the longest line [bytes]."""


def text_lines(stream: BinaryIO, source: str) -> Iterator[str]:
    """The lines of a stream in UTF-8, none of them longer, and all of them together, than a table may be.

    Args:
        stream: of bytes.
        source: its name in messages.

    Raises:
        StateError: it cannot be read, is not UTF-8, or too long.
    """
    remaining = MAX_BYTES
    for number in itertools.count(1):
        try:
            line = stream.readline(MAX_LINE + 1)
        except OSError as error:
            raise StateError(f"cannot read {source}: {error.strerror}") from error
        if not line:
            return
        remaining -= len(line)
        if len(line) > MAX_LINE or remaining < 0:
            limit = (
                f"{MAX_LINE // 1024} KiB in line {number}" if remaining >= 0 else f"{MAX_BYTES // 2**30} GiB"
            )
            raise StateError(f"{source}: more than {limit}; that is no table of states")
        # Some files end their lines in a carriage return alone.
        yield from io.StringIO(decoded(line, f"{source}, line {number},", StateError), newline=None)


def check_header(header: Sequence[str], source: str) -> None:
    """Refuse a first row that cannot name the columns of a table.

    Raises:
        StateError: no names, columns separated by something else than commas, or a name given twice.
    """
    if not any(header):
        raise StateError(f"{source}: the first row must name the columns, such as shoulder,elbow")
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        raise StateError(f"{source}: columns must be separated by commas")
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if repeated:
        raise StateError(f"{source}: column {', '.join(map(repr, repeated))} occurs more than once")


def rows(lines: Iterable[str], source: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV text and the number of the line that each ends in."""
    reader = csv.reader(lines, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise StateError(f"{source}, line {reader.line_num}: {error}") from None


def numbers(
    rows: Iterable[tuple[int, list[str]]], header: Sequence[str], used: set[int], source: str
) -> Iterator[list[float]]:
    """The numbers of every row that is not blank; those of columns that are not in ``used`` are zero.

    Raises:
        StateError: a row of another length, or an entry of a used column that is not a finite number.
    """
    for line, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise StateError(f"{source}, line {line}: {len(row)} entries for {len(header)} columns")
        numbers = []
        for index, (cell, name) in enumerate(zip(row, header, strict=True)):
            try:
                number = decimal(cell) if index in used else 0.0
                if not math.isfinite(number):
                    raise ValueError("not finite")
            except ValueError as reason:
                where = f"{source}, line {line}, column {quoted(name)}"
                raise StateError(f"{where}: {quoted(cell)} is {reason}") from None
            numbers.append(number)
        yield numbers
