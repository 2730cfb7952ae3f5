"""States of an arm in a CSV file.

The first row names the columns. For a joint ``shoulder``: ``shoulder`` or ``shoulder.position`` [rad or m],
``shoulder.velocity`` [rad/s or m/s], ``shoulder.acceleration`` [rad/s² or m/s²]. ``time`` [s] is carried
along. ``tip.force.x``, ``.y``, ``.z`` [N] and ``tip.torque.x`` ... [N·m] are what the arm exerts on its
environment, in the tip frame.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import StateError, quoted, shown
from robot_dynamics.inputs.tables import check_header, numbers, rows
from robot_dynamics.spatial import Array

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


@dataclass(frozen=True)
class StateColumns:
    """CSV text whose first row has been read.

    Attributes:
        header: names of the columns.
        places: columns of every (joint, quantity), (time, "") and (wrench entry, "").
        ignored: names of the columns that are neither.
        source: name of the text in messages.
    """

    header: list[str]
    places: dict[tuple[str, str], int]
    ignored: list[str]
    source: str
    _rows: Iterator[tuple[int, list[str]]]

    @classmethod
    def of(cls, lines: Iterable[str], joint_names: Sequence[str], source: str) -> StateColumns:
        """Read the first row.

        Raises:
            StateError: it names no columns, or one twice.
        """
        reader = rows(lines, source)
        _, first = next(reader, (1, []))
        header = [name.strip() for name in first]
        check_header(header, source)
        return cls(header, *_assigned(header, joint_names), source, reader)

    def values(self) -> Array:
        """(N, columns) the numbers below the first row; those of ignored columns are zero.

        Raises:
            StateError: a row of another length, or an entry that is not a finite number.
        """
        entries = array("d")
        for row in numbers(self._rows, self.header, set(self.places.values()), self.source):
            entries.extend(row)
        return np.frombuffer(entries).reshape(-1, len(self.header))


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
    table = StateColumns.of(lines, joint_names, source)
    columns = table.places
    missing = [name for name in joint_names if (name, POSITION) not in columns]
    if missing:
        raise StateError(
            f"{source}: no position column for {', '.join(missing)}; name it like the joint, or with"
            f" .position"
            f" appended (columns found: {shown(*table.header)})"
        )
    values = table.values()
    if not len(values):
        raise StateError(f"{source}: no states below the column names")

    ignored = table.ignored
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


def _assigned(
    header: Sequence[str], joint_names: Sequence[str]
) -> tuple[dict[tuple[str, str], int], list[str]]:
    """Places and names of the ignored columns, as :class:`StateColumns` has them."""
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


def _gather(values: Array, columns: Sequence[int | None]) -> Array:
    gathered = np.zeros((len(values), len(columns)))
    for target, column in enumerate(columns):
        if column is not None:
            gathered[:, target] = values[:, column]
    return gathered
