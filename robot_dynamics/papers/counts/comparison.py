"""Printed counts beside measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.papers.counts.measure import (
    Formula,
    feedback_formula,
    general_formulas,
    total,
)
from robot_dynamics.papers.counts.published import PublishedTable


@dataclass(frozen=True)
class CountRow:
    """One line of a comparison; ``printed`` is None for what the paper does not list."""

    label: str
    printed: Formula | None
    measured: Formula | None
    remark: str = ""

    @property
    def reached(self) -> bool:
        """True when the run gives exactly what is printed."""
        return self.printed is not None and self.printed == self.measured


@dataclass(frozen=True)
class CountComparison:
    """A published table, its rows run.

    Attributes:
        key, title: of the table.
        rows: its lines, and the printed total (compared with the sum of the measured lines).
        formulation: the formulation that was run.
        remarks: on the table as a whole.
    """

    key: str
    title: str
    rows: tuple[CountRow, ...]
    formulation: str
    remarks: tuple[str, ...]


def compare(table: PublishedTable) -> CountComparison:
    """The lines of ``table`` beside those of the formulation that it counts."""
    rows = []
    for line in table.lines:
        formulas = general_formulas(line.formulation or table.formulation)
        if line.steps:
            measured = total({step: _step(formulas, step) for step in line.steps})
        else:
            measured = total(formulas, without=table.outside)
        rows.append(CountRow(line.label, line.printed, measured, line.remark))
    remarks = list(table.remarks)
    if table.total is not None:
        rows.append(total_row(rows, table.total))
        remarks.insert(0, sum_remark(rows[:-1], table.total))
    return CountComparison(table.key, table.title, tuple(rows), table.formulation, tuple(remarks))


def _step(formulas: dict[str, Formula], step: str) -> Formula:
    return feedback_formula() if step == "feedback" else formulas[step]


def total_row(rows: Sequence[CountRow], printed: Formula) -> CountRow:
    """The printed total beside the sum of the measured lines."""
    measured = total({str(i): row.measured for i, row in enumerate(rows) if row.measured is not None})
    differing = sum(not row.reached for row in rows)
    remark = f"lines above that differ: {differing}" if differing else ""
    return CountRow("Total", printed, measured, remark)


def sum_remark(rows: Sequence[CountRow], printed: Formula) -> str:
    """Remark on the sum of the printed lines and the printed total."""
    lines = total({str(i): row.printed for i, row in enumerate(rows) if row.printed is not None})
    if lines == printed:
        return "the printed lines add up to the printed total"
    return (
        f"the printed lines add up to {lines.multiplications} and {lines.additions}, not to the printed total"
    )
