"""Tables of numbers in CSV text: bounded, and with errors that name the line and the column."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
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
_PLAIN = re.compile(r"[0-9eE+\-., ]*", re.ASCII)
"""Of these characters ``float`` takes nothing for a number that is none."""


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
        text = decoded(line, f"{source}, line {number},", StateError)
        if "\r" in text:
            yield from io.StringIO(text, newline=None)
        else:
            yield text


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
    lines = iter(lines)
    number = 0
    for line in lines:
        number += 1
        if '"' not in line:
            cells = line.rstrip("\n").split(",")
            yield number, [cell.lstrip(" ") for cell in cells] if " " in line else cells
            continue
        # A quoted cell may go on in the next line.
        reader = csv.reader(itertools.chain((line,), lines), skipinitialspace=True)
        try:
            row = next(reader)
        except csv.Error as error:
            raise StateError(f"{source}, line {number - 1 + reader.line_num}: {error}") from None
        number += reader.line_num - 1
        yield number, row


def numbers(
    rows: Iterable[tuple[int, list[str]]], header: Sequence[str], used: set[int], source: str
) -> Iterator[list[float]]:
    """The numbers of every row that is not blank; those of columns that are not in ``used`` are zero.

    Raises:
        StateError: a row of another length, or an entry of a used column that is not a finite number.
    """
    places = sorted(used)
    whole = len(places) == len(header)
    for line, row in rows:
        if whole and len(row) == len(header):
            found = _plain_numbers(row)
            if found:
                yield found
                continue
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise StateError(f"{source}, line {line}: {len(row)} entries for {len(header)} columns")
        values = [0.0] * len(header)
        found = _plain_numbers([row[place] for place in places])
        for place, value in zip(places, found, strict=False):
            values[place] = value
        for place in () if found else places:
            try:
                values[place] = decimal(row[place])
                if not math.isfinite(values[place]):
                    raise ValueError("not finite")
            except ValueError as reason:
                where = f"{source}, line {line}, column {quoted(header[place])}"
                raise StateError(f"{where}: {quoted(row[place])} is {reason}") from None
        yield values


def _plain_numbers(cells: list[str]) -> list[float]:
    """The numbers that all cells are, at once; none where one of them has to be looked at."""
    if not _PLAIN.fullmatch(",".join(cells)):
        return []
    try:
        found = list(map(float, cells))
    except ValueError:
        return []
    return found if math.isfinite(sum(found)) else []
