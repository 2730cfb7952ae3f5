"""A platform's motion in CSV text: poses over time.

The first row names the columns: ``time`` [s], ``x``, ``y``, ``z`` [m] of the platform's origin in the base
frame, and ``qx``, ``qy``, ``qz``, ``qw``, the unit quaternion of its orientation. Others are left aside.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import StateError, quoted
from robot_dynamics.inputs.files import open_regular
from robot_dynamics.inputs.tables import check_header, numbers, rows, text_lines
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.fields import LARGEST

COLUMNS = ("time", "x", "y", "z", "qx", "qy", "qz", "qw")
NORM_TOLERANCE = 1e-3


@dataclass(frozen=True)
class MotionTable:
    """Poses over time.

    Attributes:
        time: (N,) strictly increasing [s].
        position: (N, 3) of the platform's origin, base frame [m].
        orientation: (N, 4) unit quaternions x, y, z, w, each with the sign that is next to the one before.
        ignored: names of the columns that were left aside.
    """

    time: Array
    position: Array
    orientation: Array
    ignored: tuple[str, ...] = ()


def read_motion(path: str | os.PathLike[str]) -> MotionTable:
    """The motion in a CSV file; arguments and errors are those of :func:`parse_motion`."""
    with open_regular(
        path, "CSV file", lambda reason: StateError(f"cannot read the motion: {reason}")
    ) as file:
        return parse_motion(text_lines(file, os.fspath(path)), os.fspath(path))


def parse_motion(lines: Iterable[str], source: str) -> MotionTable:
    """The motion in CSV text.

    Args:
        lines: the text.
        source: its name in messages.

    Raises:
        StateError: a missing or repeated column, an entry that is not a finite number, times that do not
            increase, or an orientation that is no unit quaternion; the message names the line or the row.
    """
    reader = rows(lines, source)
    _, first = next(reader, (1, []))
    header = [name.strip() for name in first]
    check_header(header, source)
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise StateError(
            f"{source}: no column {', '.join(missing)}; a motion has the columns {', '.join(COLUMNS)}"
        )
    chosen = [header.index(name) for name in COLUMNS]
    entries = array("d")
    for row in numbers(reader, header, set(chosen), source):
        entries.extend(row)
    if not entries:
        raise StateError(f"{source}: no poses below the column names")
    values = np.frombuffer(entries).reshape(-1, len(header))[:, chosen]
    if np.abs(values).max() > LARGEST:
        raise StateError(f"{source}: no number may exceed {LARGEST:g} (SI units)")
    ignored = tuple(name for name in header if name not in COLUMNS)
    return MotionTable(
        _increasing(values[:, 0], source),
        values[:, 1:4],
        _continuous(values[:, 4:], source),
        ignored,
    )


def _increasing(times: Array, source: str) -> Array:
    steps = np.diff(times)
    if len(steps) and not steps.min() > 0.0:
        row = int(steps.argmin()) + 2
        raise StateError(
            f"{source}, row {row} of numbers: time {quoted(float(times[row - 1]))} does not come after"
            f" {quoted(float(times[row - 2]))}"
        )
    return times


def _continuous(quaternions: Array, source: str) -> Array:
    """Normalised, each with the sign that is next to the one before."""
    norms = np.linalg.norm(quaternions, axis=1)
    worst = int(np.abs(norms - 1.0).argmax())
    if abs(norms[worst] - 1.0) > NORM_TOLERANCE:
        raise StateError(
            f"{source}, row {worst + 1} of numbers: qx, qy, qz, qw have norm {norms[worst]:g}; a rotation's"
            " quaternion has norm 1"
        )
    unit = quaternions / norms[:, None]
    turned = np.sign((unit[1:] * unit[:-1]).sum(axis=1))
    signs = np.concatenate([[1.0], np.cumprod(np.where(turned < 0.0, -1.0, 1.0))])
    return np.asarray(unit * signs[:, None])
