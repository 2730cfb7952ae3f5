"""Results of ``robot_dynamics count`` beside the published tables, and their two machine-readable forms."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.codegen.program import CONVENTION
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import escaped
from robot_dynamics.papers.counts.comparison import CountComparison, compare
from robot_dynamics.papers.counts.measure import (
    Formula,
    RobotCount,
    concurrent_formula,
    count_generated,
    count_robot,
    general_formulas,
    longest_chain,
    total,
)
from robot_dynamics.papers.counts.polynomial import Polynomial
from robot_dynamics.papers.counts.published import PublishedTable
from robot_dynamics.papers.counts.scalars import Tally
from robot_dynamics.papers.lee.tables import LEE_1, LEE_2
from robot_dynamics.papers.renaud.step_table import step_table
from robot_dynamics.papers.turney.concurrent import concurrent_table
from robot_dynamics.papers.turney.tables import TURNEY_1, TURNEY_2, TURNEY_3, TURNEY_4

PAPERS_CONVENTION = (
    "products of 3x3 and 4x4 matrices count in full, whatever zeros this robot has; only the zeros of z and"
    " of"
    " Turney's Q are left out; the base moves like any other link; what depends on parameters alone is"
    " computed"
    " beforehand; sign changes, sines and cosines count 0; equal results are not shared unless the paper"
    " says so"
)
# Longer robots are not run through the O(n^4) formulation unless it is asked for by name.
_DIRECT_LIMIT = 9
_CSV_HEADER = (
    "table",
    "line",
    "printed_multiplications",
    "printed_additions",
    "measured_multiplications",
    "measured_additions",
    "reached",
    "remark",
)
# The published tables, in the order in which they are shown. Two are no formulas in n line by line; their
# modules compare them.
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


@dataclass(frozen=True)
class FormulationCount:
    """One formulation's counts.

    Attributes:
        name: in `FORMULATIONS`.
        steps: the general arm's formulas by step.
        concurrent: what remains with one processor for each step of each link; None where it is not computed.
        chain: what remains with as many processors as there are operations.
        robot: this robot's numbers, None without one.
    """

    name: str
    steps: dict[str, Formula]
    concurrent: Formula | None
    chain: Polynomial
    robot: RobotCount | None

    @property
    def total(self) -> Formula:
        """All steps together."""
        return total(self.steps)


@dataclass(frozen=True)
class CountReport:
    """Counts of several formulations and the published tables beside them.

    Attributes:
        links: number of links at which the formulas are evaluated.
        robot: name of the robot that was counted, empty for none.
        formulations: the counts.
        tables: the published tables.
        detailed: whether to list steps.
        prismatic: number of the robot's sliding joints.
        generated: operations of the robot's customised model, None without a robot.
    """

    links: int
    robot: str
    formulations: tuple[FormulationCount, ...]
    tables: tuple[CountComparison, ...]
    detailed: bool
    prismatic: int = 0
    generated: Tally | None = None

    def json(self) -> str:
        """For programs; formulas as text in n and as numbers at ``links``."""
        document = {
            "links": self.links,
            "robot": self.robot or None,
            "conventions": {"robot": CONVENTION, "general": PAPERS_CONVENTION},
            "formulations": [
                {
                    "name": count.name,
                    "general": self._values(count.total),
                    "concurrent": None if count.concurrent is None else self._values(count.concurrent),
                    "longest_chain": str(count.chain),
                    "steps": {step: self._values(formula) for step, formula in count.steps.items()},
                    "robot": None if count.robot is None else _robot_values(count.robot),
                }
                for count in self.formulations
            ],
            "customised": None if self.generated is None else _tally_values(self.generated),
            "tables": [
                {
                    "key": table.key,
                    "title": table.title,
                    "formulation": table.formulation,
                    "rows": [
                        {
                            "label": row.label,
                            "printed": None if row.printed is None else self._values(row.printed),
                            "measured": None if row.measured is None else self._values(row.measured),
                            "reached": None if row.printed is None else row.reached,
                            "remark": row.remark,
                        }
                        for row in table.rows
                    ],
                    "remarks": list(table.remarks),
                }
                for table in self.tables
            ],
        }
        return json.dumps(document, indent=2)

    def csv(self) -> str:
        """One row for each line of each table, and for each step of each formulation."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_CSV_HEADER)
        for count in self.formulations:
            for step, formula in (*count.steps.items(), ("Total", count.total)):
                writer.writerow([f"general arm: {count.name}", step, "", "", *formula_texts(formula), "", ""])
            if count.robot is not None:
                for label, tally in (("as run", count.robot.as_run), ("shared", count.robot.shared)):
                    numbers = [tally.multiplications, tally.additions]
                    writer.writerow([f"{self.robot}: {count.name}", label, "", "", *numbers, "", ""])
        if self.generated is not None:
            numbers = [self.generated.multiplications, self.generated.additions]
            writer.writerow([f"{self.robot}: customised model", "Total", "", "", *numbers, "", ""])
        for table in self.tables:
            for row in table.rows:
                reached = "" if row.printed is None else ("yes" if row.reached else "no")
                cells = [*formula_texts(row.printed), *formula_texts(row.measured)]
                writer.writerow([table.key, row.label, *cells, reached, row.remark])
        return escaped(stream.getvalue().rstrip("\n"))

    def _values(self, formula: Formula) -> dict[str, Any]:
        at = formula.at(self.links)
        return {
            "multiplications": str(formula.multiplications),
            "additions": str(formula.additions),
            "multiplications_at_links": at.multiplications,
            "additions_at_links": at.additions,
        }


def make_report(
    formulations: Sequence[str], links: int | None = None, robot: str = "", model: SerialModel | None = None
) -> CountReport:
    """Count ``formulations`` for a general arm and, where given, for ``model``.

    Args:
        formulations: names in `FORMULATIONS`.
        links: where the formulas are evaluated; the model's number of joints, or 6, when None.
        robot: the model's name.
        model: a robot.
    """
    counts = []
    for name in formulations:
        concurrent = None if name.startswith("lagrange") else concurrent_formula(name)
        measured = None
        if model is not None and (
            name != "lagrange-direct" or len(model.links) <= _DIRECT_LIMIT or len(formulations) == 1
        ):
            measured = count_robot(name, model)
        chain = longest_chain(name)
        counts.append(FormulationCount(name, general_formulas(name), concurrent, chain, measured))
    default = 6 if model is None else len(model.links)
    return CountReport(
        links=default if links is None else links,
        robot="" if model is None else robot or "robot",
        formulations=tuple(counts),
        tables=tuple(comparisons(formulations)),
        detailed=len(formulations) < 3,
        generated=None if model is None else count_generated(model),
        prismatic=0 if model is None else sum(not link.revolute for link in model.links),
    )


def _robot_values(count: RobotCount) -> dict[str, Any]:
    return {
        "as_run": _tally_values(count.as_run),
        "shared": _tally_values(count.shared),
        "shared_steps": {step: _tally_values(tally) for step, tally in count.shared_steps.items()},
        "sines_and_cosines": count.sines_and_cosines,
    }


def _tally_values(tally: Tally) -> dict[str, int]:
    return {"multiplications": tally.multiplications, "additions": tally.additions}


def formula_texts(formula: Formula | None) -> tuple[str, str]:
    """Multiplications and additions as polynomials, empty for none."""
    return ("", "") if formula is None else (str(formula.multiplications), str(formula.additions))


def comparisons(formulations: Sequence[str]) -> list[CountComparison]:
    """Every published table that concerns one of ``formulations``, beside what it takes when it is run."""
    tables = [compare(table) if isinstance(table, PublishedTable) else table() for table in TABLES]
    return [
        table
        for table in tables
        if table.formulation in formulations
        or (table.key == "turney-1" and {"newton-euler", "modified-newton-euler"} & set(formulations))
    ]
