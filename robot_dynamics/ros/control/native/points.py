"""The points of a trajectory's bytes as arrays, read in Python: slower than in C, but no objects are made.

A message with 10^5 points takes a second, in which other threads run; making objects of it takes as long, and
holds the interpreter throughout.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array

ENCAPSULATION = 4
_LENGTH = struct.Struct("<I")
_DURATION = struct.Struct("<iI")


def read_points(
    data: bytes, begin: int, points: int, widths: Sequence[int], wanted: Sequence[int]
) -> tuple[Array, NDArray[np.integer[Any]], list[Array]]:
    """The points of a plain little-endian CDR message, each some sequences and a duration.

    Args:
        data: of the message.
        begin: where they begin, right behind their number [bytes].
        points: their number, K.
        widths: doubles in an element of each of the sequences.
        wanted: elements that each of the sequences is to have.

    Returns:
        Times (K,) [s]; how many elements each sequence has (sequences, K); and of each sequence the values
        (K, wanted * width), NaN where it has not as many elements as wanted.

    Raises:
        TrajectoryError: the bytes do not hold so many points.
    """
    sizes = [width * count for width, count in zip(widths, wanted, strict=True)]
    if 8 * points * max(sizes) > 8 * len(data) or points * (4 * len(widths) + 8) > len(data):
        raise TrajectoryError(f"{points} points are more than {len(data)} bytes hold")
    times, counts = np.empty(points), np.zeros((len(widths), points), dtype=np.int64)
    rows = [np.full((points, size), np.nan) for size in sizes]
    view, place = memoryview(data)[ENCAPSULATION:], begin - ENCAPSULATION
    fields = list(zip(range(len(widths)), widths, wanted, rows, strict=True))
    try:
        for k in range(points):
            for field, width, count, row in fields:
                place += -place % 4
                (given,) = _LENGTH.unpack_from(view, place)
                counts[field, k] = given
                place += 4
                if given == 0:
                    continue
                place += -place % 8
                end = place + 8 * width * given
                if end > len(view):
                    raise TrajectoryError(f"its {len(data)} bytes end in waypoint {k}")
                if given == count:
                    row[k] = np.frombuffer(view[place:end], "<f8")
                place = end
            place += -place % 4
            seconds, nanoseconds = _DURATION.unpack_from(view, place)
            times[k] = seconds + 1e-9 * nanoseconds
            place += _DURATION.size
    except struct.error:
        raise TrajectoryError(f"its {len(data)} bytes do not hold the {points} points it speaks of") from None
    return times, counts, rows
