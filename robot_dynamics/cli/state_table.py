"""States of an arm in a CSV file.

The first row names the columns. For a joint ``shoulder``: ``shoulder`` or ``shoulder.position`` [rad or m],
``shoulder.velocity`` [rad/s or m/s], ``shoulder.acceleration`` [rad/s² or m/s²]. ``time`` [s] is carried
along. ``tip.force.x``, ``.y``, ``.z`` [N] and ``tip.torque.x`` ... [N·m] are what the arm exerts on its
environment, in the tip frame.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from robot_dynamics.errors import StateError, quoted
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.files import decoded
from robot_dynamics.spatial import Array

MAX_BYTES = 2**30
"""Size of the largest table [bytes]."""
MAX_LINE = 100 * 1024
"""Length of the longest line [bytes]."""
MOST_NOTES = 10
"""As many columns that are no joint's are named."""
POSITION, VELOCITY, ACCELERATION, EFFORT = "position", "velocity", "acceleration", "effort"
TIME = "time"
WRENCH = tuple(f"tip.{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz")


@dataclass(frozen=True)
class StateTable:
    """States read from a file.

    Attributes:
        time: (N,) [s], None without a time column.
        q, qd, qdd: (N, n).
        wrench: (N, 6), None without any of its columns.
        notes: what was assumed or left aside.
    """

    time: Array | None
    q: Array
    qd: Array
    qdd: Array
    wrench: Array | None
    notes: tuple[str, ...]


def read_states(lines: Iterable[str], joint_names: Sequence[str], source: str) -> StateTable:
    """Read the states of the joints ``joint_names`` from CSV text.

    Args:
        lines: the text.
        joint_names: the independent joints, in the order of the result's columns.
        source: name of the text in messages.

    Raises:
        StateError: a missing joint, a repeated column, a short or long row, or an entry that is not a finite
            number; the message names the line and the column.
    """
    reader = _rows(lines, source)
    _, first = next(reader, (1, []))
    header = [name.strip() for name in first]
    _check_header(header, source)
    columns, ignored = _assign(header, joint_names)
    missing = [name for name in joint_names if (name, POSITION) not in columns]
    if missing:
        raise StateError(
            f"{source}: no position column for {', '.join(missing)}; name it like the joint, or with"
            f" .position"
            f" appended (columns found: {', '.join(header)})"
        )
    numbers = array("d")
    for row in _numbers(reader, header, set(columns.values()), source):
        numbers.extend(row)
    if not numbers:
        raise StateError(f"{source}: no states below the column names")
    values = np.frombuffer(numbers).reshape(-1, len(header))

    notes = [f"column {quoted(name)} is not a joint's and is left aside" for name in ignored[:MOST_NOTES]]
    if len(ignored) > MOST_NOTES:
        notes.append(f"{len(ignored) - MOST_NOTES} further columns are no joint's and are left aside")
    states = []
    for quantity in (POSITION, VELOCITY, ACCELERATION):
        absent = [name for name in joint_names if (name, quantity) not in columns]
        if absent:
            whose = "every joint" if len(absent) == len(joint_names) else ", ".join(absent)
            notes.append(f"no {quantity} column for {whose}: taken as zero")
        states.append(_gather(values, [columns.get((name, quantity)) for name in joint_names]))
    load = [columns.get((name, "")) for name in WRENCH]
    if any(column is not None for column in load) and None in load:
        absent = [name for name, column in zip(WRENCH, load, strict=True) if column is None]
        notes.append(f"no column {', '.join(absent)}: taken as zero")
    time = columns.get((TIME, ""))
    return StateTable(
        time=None if time is None else values[:, time],
        q=states[0],
        qd=states[1],
        qdd=states[2],
        wrench=None if all(column is None for column in load) else _gather(values, load),
        notes=tuple(notes),
    )


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


def _check_header(header: Sequence[str], source: str) -> None:
    if not any(header):
        raise StateError(f"{source}: the first row must name the columns, such as shoulder,elbow")
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        raise StateError(f"{source}: columns must be separated by commas")
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if repeated:
        raise StateError(f"{source}: column {', '.join(map(repr, repeated))} occurs more than once")


def _assign(
    header: Sequence[str], joint_names: Sequence[str]
) -> tuple[dict[tuple[str, str], int], list[str]]:
    """Column of every (joint, quantity), (time, "") and (wrench entry, ""); and the columns that are"
    " neither."""
    names: dict[str, tuple[str, str]] = {TIME: (TIME, ""), **{name: (name, "") for name in WRENCH}}
    for joint in joint_names:
        for quantity in (POSITION, VELOCITY, ACCELERATION):
            names.setdefault(f"{joint}.{quantity}", (joint, quantity))
    names.update({joint: (joint, POSITION) for joint in joint_names})
    columns: dict[tuple[str, str], int] = {}
    ignored = []
    for index, name in enumerate(header):
        meaning = names.get(name)
        if meaning is None:
            ignored.append(name)
        elif meaning in columns:
            both = f"{header[columns[meaning]]!r} and {name!r}"
            raise StateError(f"columns {both} both give the position of {meaning[0]}; keep one of them")
        else:
            columns[meaning] = index
    return columns, ignored


def _rows(lines: Iterable[str], source: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV text and the number of the line that each ends in."""
    reader = csv.reader(lines, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise StateError(f"{source}, line {reader.line_num}: {error}") from None


def _numbers(
    rows: Iterable[tuple[int, list[str]]], header: Sequence[str], used: set[int], source: str
) -> Iterator[list[float]]:
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


def _gather(values: Array, columns: Sequence[int | None]) -> Array:
    gathered = np.zeros((len(values), len(columns)))
    for target, column in enumerate(columns):
        if column is not None:
            gathered[:, target] = values[:, column]
    return gathered
