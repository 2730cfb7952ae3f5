"""The table of faults: what is done to a machine at work, and which machines it is done to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scene import Scene
from scenes import COLUMNS


@dataclass(frozen=True)
class Fault:
    """One row of the table.

    Attributes:
        name: of the function, as it is printed.
        do: the fault, from its begin to its end; the machine is moving at its begin.
        columns: machines that it is done to.
        quick: those of them where it belongs to the fast tests.
        text: first line of the function's documentation.
    """

    name: str
    do: Callable[[Scene], None]
    columns: Sequence[str]
    quick: Sequence[str]
    text: str


FAULTS: list[Fault] = []


def fault(columns: Sequence[str], quick: Sequence[str] = ()) -> Callable[[Callable[[Scene], None]], None]:
    """Put a function into the table.

    Args:
        columns: machines that it is done to.
        quick: those of them where it belongs to the fast tests.
    """
    assert set(columns) <= COLUMNS.keys()
    assert set(quick) <= set(columns)

    def add(do: Callable[[Scene], None]) -> None:
        text = (do.__doc__ or "").splitlines()[0]
        FAULTS.append(Fault(do.__name__, do, tuple(columns), tuple(quick), text))

    return add
