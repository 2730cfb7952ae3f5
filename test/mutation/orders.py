"""Orders for a process that judges faults, and the order of the tests that it runs."""

from __future__ import annotations

import bisect
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reach import Memory, Reached

LEADING = 8
"""Tests that noticed most faults of a source come first."""
SHORT = (0.05, 0.2, 0.5, 1.0)
"""Tests up to so many seconds come next, each file's together, which share its fixtures."""


@dataclass(frozen=True)
class Orders:
    """Orders for a process.

    Attributes:
        tests: files.
        drills: those of them that compile the sources of the core themselves: they concern every line of it.
        number, processes: which of the processes this is, and of how many.
        kept: folder of measurements.
        marks: of the tests, for pytest.
        longest: that a test may take [s].
    """

    tests: Sequence[str]
    drills: Sequence[str]
    number: int
    processes: int
    kept: str
    marks: str
    longest: float


def patience(usual: float) -> float:
    """Time [s] for tests that take ``usual`` [s] without a fault, before it is noticed by that."""
    return 60.0 + 6.0 * usual


def unmeasured(orders: Orders, memory: Memory) -> Iterator[str]:
    """Files of tests that this process has to measure.

    Raises:
        KeyboardInterrupt: the process that asked has ended.
    """
    missing = [test for test in orders.tests if memory.recall(test) is None]
    random.Random(1).shuffle(missing)
    parent = os.getppid()
    for test in missing[orders.number :: orders.processes]:
        if os.getppid() != parent:
            raise KeyboardInterrupt
        yield test


def in_order(found: Iterable[Reached], noticing: Counter[str]) -> list[str]:
    """Names of tests: those that notice much, then the short ones."""
    found = list(found)
    leading = sorted((one.name for one in found if noticing[one.name]), key=lambda name: -noticing[name])
    groups: dict[tuple[int, str], list[Reached]] = {}
    for one in found:
        kind = bisect.bisect_left(SHORT, one.seconds)
        groups.setdefault((kind, one.name.partition("::")[0]), []).append(one)
    rest = [one.name for place in sorted(groups) for one in groups[place]]
    return list(dict.fromkeys([*leading[:LEADING], *rest]))
