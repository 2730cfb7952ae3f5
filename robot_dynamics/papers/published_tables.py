"""Every published table of operation counts, beside what the formulations take when they are run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robot_dynamics.papers.counts.comparison import CountComparison, compare
from robot_dynamics.papers.counts.published import PublishedTable
from robot_dynamics.papers.lee.tables import LEE_1, LEE_2
from robot_dynamics.papers.renaud.step_table import step_table
from robot_dynamics.papers.turney.concurrent import concurrent_table
from robot_dynamics.papers.turney.tables import TURNEY_1, TURNEY_2, TURNEY_3, TURNEY_4

# In the order in which they are shown. Two are no formulas in n line by line; their modules compare them.
TABLES: tuple[PublishedTable | Callable[[], CountComparison], ...] = (
    TURNEY_1,
    TURNEY_2,
    TURNEY_3,
    TURNEY_4,
    concurrent_table,
    LEE_1,
    LEE_2,
    step_table,
)


def comparisons(formulations: Sequence[str]) -> list[CountComparison]:
    """Every published table that concerns one of ``formulations``."""
    tables = [compare(table) if isinstance(table, PublishedTable) else table() for table in TABLES]
    return [
        table
        for table in tables
        if table.formulation in formulations
        or (table.key == "turney-1" and {"newton-euler", "modified-newton-euler"} & set(formulations))
    ]
