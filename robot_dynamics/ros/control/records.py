"""The cycles that a loop has recorded, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.control.core.snapshot import PHASES
from robot_dynamics.control.protocol import Command
from robot_dynamics.ros.control.native.library import row_type
from robot_dynamics.spatial import Array

ARRAYS = ("position", "velocity", "goal", "rate", "acceleration", "unlimited", "effort")
"""Arrays of n values behind the head of a record: state, reference, efforts before and after the limits."""
Rows = NDArray[np.void]
WATCHED, CALM = 0.01, 0.25
"""Steady seconds between two looks at the record, while somebody waits for what it reports and otherwise."""


class Cycle(NamedTuple):
    """One joint state and the command that answers it.

    Attributes:
        nanoseconds: stamp of the state, which the command carries too.
        position: (n,) measured, in the controller's order [rad or m].
        velocity: (n,) measured, or estimated where the state has none [rad/s or m/s].
        command: the answer.
    """

    nanoseconds: int
    position: Array
    velocity: Array
    command: Command


@lru_cache
def record_type(joints: int, reported: int = 0) -> np.dtype[np.void]:
    """A record of this many joints, as the loop lays it out, with so many values that a robot reports."""
    arrays: dict[str, tuple[int, ...]] = dict.fromkeys(ARRAYS, (joints,))
    return row_type("rd_record", arrays | ({"telemetry": (reported,)} if reported else {}))


def cycle_of(row: Any, reference_of: Callable[[Array, Array, Array], Any] = Reference) -> Cycle:
    """The cycle of one record.

    Args:
        row: the record.
        reference_of: makes a reference of its coordinates and their derivatives; an arm's when left out.
    """
    reference = reference_of(row["goal"], row["rate"], row["acceleration"])
    head = row["head"]
    command = Command(row["effort"], row["unlimited"], reference, PHASES[head["phase"]])
    return Cycle(int(head["stamp"]), row["position"], row["velocity"], command)


class Cycles(Sequence[Cycle]):
    """Answered joint states, oldest first; those who need them all at once take the arrays.

    Attributes:
        rows: the records.

    Args:
        rows: records of answers.
        cycle: makes a cycle of one of them.
    """

    def __init__(self, rows: Rows, cycle: Callable[[Any], Cycle] = cycle_of) -> None:
        self.rows = rows
        self._cycle = cycle

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Cycle: ...
    @overload
    def __getitem__(self, place: slice) -> Cycles: ...
    def __getitem__(self, place: int | slice) -> Cycle | Cycles:
        if isinstance(place, slice):
            return Cycles(self.rows[place], self._cycle)
        return self._cycle(self.rows[place])

    def __iter__(self) -> Iterator[Cycle]:
        return map(self._cycle, self.rows)

    @property
    def nanoseconds(self) -> NDArray[np.int64]:
        """(k,) stamps of the states."""
        return np.asarray(self.rows["head"]["stamp"])

    def array(self, name: str) -> Array:
        """(k, n) one of ``ARRAYS``."""
        return np.asarray(self.rows[name])
