"""Fair timings on a machine that is never quite idle: contenders take turns, medians are compared."""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

SLICE = 0.004
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class TimedStatement:
    """Statement to be timed.

    Attributes:
        code: a Python statement.
        names: what it refers to.
        states: how many states one execution evaluates.
    """

    code: str
    names: Mapping[str, Any] = field(repr=False)
    states: int = 1


def median_times(
    statements: Mapping[Key, TimedStatement],
    rounds: int,
    timer: Callable[[], float] = time.thread_time,
) -> dict[Key, float]:
    """Median seconds of processor time per state of every statement.

    Every round times each of them once for about four milliseconds, so that what disturbs the machine
    disturbs all of them alike; while another process has the processor, nothing is counted.

    Args:
        statements: what is timed.
        rounds: how many.
        timer: the clock; by default that of the calling thread alone.
    """
    timers, repetitions = {}, {}
    for name, statement in statements.items():
        timers[name] = timeit.Timer(statement.code, timer=timer, globals=dict(statement.names))
        timers[name].timeit(1)
        count = 1
        # The least of three: an interruption here would make every round too short to be representative.
        while (elapsed := min(timers[name].repeat(3, count))) < SLICE / 4:
            count *= 2
        repetitions[name] = max(1, round(count * SLICE / elapsed))
    times: dict[Key, list[float]] = {name: [] for name in statements}
    for _ in range(rounds):
        for name, each in timers.items():
            executions = repetitions[name]
            times[name].append(each.timeit(executions) / executions / statements[name].states)
    return {name: statistics.median(values) for name, values in times.items()}
