"""Printed counts beside measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from robot_dynamics.papers.counts.counting import Tally
from robot_dynamics.papers.counts.measure import (
    Formula,
    concurrent_formula,
    count_generated,
    count_robot,
    feedback_formula,
    general_formulas,
    task_tallies,
    total,
)
from robot_dynamics.papers.counts.polynomial import Polynomial
from robot_dynamics.papers.counts.published import POLYNOMIAL_TABLES, PublishedTable
from robot_dynamics.papers.counts.textbook import renaud_arm


@dataclass(frozen=True)
class Row:
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
class Comparison:
    """A published table, its rows run.

    Attributes:
        key, title: of the table.
        rows: its lines, and the printed total (compared with the sum of the measured lines).
        formulation: the formulation that was run.
        remarks: on the table as a whole.
    """

    key: str
    title: str
    rows: tuple[Row, ...]
    formulation: str
    remarks: tuple[str, ...]


_GENERATED = (
    "what robot_dynamics generate writes for this arm: base parameters, grouping searched for each link"
)


def comparisons(formulations: Sequence[str]) -> list[Comparison]:
    """Every published table that concerns one of ``formulations``."""
    tables = [_polynomial_table(table) for table in POLYNOMIAL_TABLES]
    tables.insert(4, _concurrent_table())
    tables.append(_renaud_table())
    return [
        table
        for table in tables
        if table.formulation in formulations
        or (table.key == "turney-1" and {"newton-euler", "modified-newton-euler"} & set(formulations))
    ]


def _polynomial_table(table: PublishedTable) -> Comparison:
    rows = []
    for line in table.lines:
        formulas = general_formulas(line.formulation or table.formulation)
        if line.steps:
            measured = total({step: _step(formulas, step) for step in line.steps})
        else:
            measured = total(formulas, without=table.outside)
        rows.append(Row(line.label, line.printed, measured, line.remark))
    remarks = list(table.remarks)
    if table.total is not None:
        rows.append(_total_row(rows, table.total))
        remarks.insert(0, _sum_remark(rows[:-1], table.total))
    return Comparison(table.key, table.title, tuple(rows), table.formulation, tuple(remarks))


def _step(formulas: dict[str, Formula], step: str) -> Formula:
    return feedback_formula() if step == "feedback" else formulas[step]


def _total_row(rows: Sequence[Row], printed: Formula) -> Row:
    measured = total({str(i): row.measured for i, row in enumerate(rows) if row.measured is not None})
    differing = sum(not row.reached for row in rows)
    remark = f"lines above that differ: {differing}" if differing else ""
    return Row("Total", printed, measured, remark)


def _sum_remark(rows: Sequence[Row], printed: Formula) -> str:
    lines = total({str(i): row.printed for i, row in enumerate(rows) if row.printed is not None})
    if lines == printed:
        return "the printed lines add up to the printed total"
    return (
        f"the printed lines add up to {lines.multiplications} and {lines.additions}, not to the printed total"
    )


def _constant(tally: Tally) -> Formula:
    return Formula(Polynomial.of(tally.multiplications), Polynomial.of(tally.additions))


def _per_link(tally: Tally) -> Formula:
    return Formula(Polynomial.of(tally.multiplications, 0), Polynomial.of(tally.additions, 0))


def _largest(tallies: Sequence[Tally]) -> Tally:
    return Tally(max(t.multiplications for t in tallies), max(t.additions for t in tallies))


_MOMENTS = ("Tr{A_i K_i sigma}", "m (r_i + rbar_i) x abar_i")


def _concurrent_table() -> Comparison:
    """Turney's table 5: a stage takes as long as its longest task."""
    name = "modified-newton-euler"
    tasks = task_tallies(name)
    forward = (
        "omega_i",
        "alpha_i",
        "A_i",
        "a_i",
        "m_i abar_i",
        "Tr{A_i K_i sigma}",
        "m (r_i + rbar_i) x abar_i",
    )
    backward = ("f_i", "r_i x R f_{i+1}", "R n_{i+1}", "add n")
    missing = "2 products of omega x z qd are missing, as in table 4"
    rows = [
        Row("omega_1", _printed(9, 7), _constant(tasks["omega_i"])),
        Row("alpha_1", _printed(9, 9), _constant(tasks["alpha_i"]), missing),
        Row("A_1", _printed(6, 9), _constant(tasks["A_i"])),
        Row("omega_2", _printed(9, 7), _constant(tasks["omega_i"])),
        Row("alpha_2", _printed(9, 9), _constant(tasks["alpha_i"]), missing),
        Row(
            "omega_{i+2}, alpha_{i+2}, A_{i+1}, a_i, m_i abar_i, Tr{...}, m_{i-1} ... abar_{i-1}",
            Formula(Polynomial.of(18, 0), Polynomial.of(15, 0)),
            _per_link(_largest([tasks[step] for step in forward])),
            "the longest task is a_i; m_i abar_i needs its R a_{i-1}, so in this stage it computes it anew,"
            " or comes one stage later",
        ),
        Row(
            "f_i, n_i, r_i x R f_{i+1}, R n_{i+1}",
            Formula(Polynomial.of(9, 0), Polynomial.of(12, 0)),
            _per_link(_largest([tasks[step] for step in backward])),
            "the 12 are the four vector sums of five terms of table 3; the modified n_i has four terms, 9"
            " additions. n_i waits for R n_{i+1}, so the two share a stage only when the stage is pipelined",
        ),
    ]
    rows.append(_total_row(rows, Formula(Polynomial.of(27, 42), Polynomial.of(27, 41))))
    rows.append(
        Row(
            "longest chain of tasks that wait for one another",
            None,
            concurrent_formula(name),
            "no stages: every task starts when what it needs is there. Here R n_{i+1} (6) and its sum (9)"
            " follow each other: 15 additions a link on the way back, which the table's 12 cannot hold",
        )
    )
    remarks = (_sum_remark(rows[:-2], Formula(Polynomial.of(27, 42), Polynomial.of(27, 41))),)
    title = "Turney, Mudge, Lee 1980, table 5: steps of table 4 with one processor for each task"
    return Comparison("turney-5", title, tuple(rows), name, remarks)


def _printed(multiplications: int, additions: int) -> Formula:
    return _constant(Tally(multiplications, additions))


def _renaud_table() -> Comparison:
    """Renaud's step table for his 6R arm, and his count after grouping y^5 and z^6."""
    arm = renaud_arm()
    count = count_robot("augmented-body", arm)
    steps = {step: _constant(tally) for step, tally in count.shared_steps.items()}
    shared = (
        "the 25 are there; but omega_z = qd of link 2, so its delta_xz and delta_yz are the products"
        " qd omega_x and qd omega_y of step 3 and need not be made twice"
    )
    rows = [
        Row("1a, 1b: omega", _printed(18, 12), steps["1 (omega)"]),
        Row("2: delta", _printed(25, 0), steps["2 (delta)"], shared),
        Row("3a, 3b: a", _printed(28, 22), steps["3 (a)"]),
        Row("4: b", _printed(0, 15), steps["4 (b)"]),
        Row("6a, 6b, 6c: alpha", _printed(22, 12), steps["6 (alpha)"]),
        Row("7a, 7b: e", _printed(26, 16), steps["7 (e)"]),
        Row("9a, 9b: n", _printed(62, 50), steps["9 (n)"]),
    ]
    rows.append(_total_row(rows, _printed(181, 127)))
    last = arm.links[-1]
    grouped = replace(arm, links=(*arm.links[:-1], replace(last, first_moment=0.0 * last.first_moment)))
    rows.append(
        Row(
            "with y^5 - z^6 as one parameter",
            _printed(164, 115),
            _constant(count_robot("augmented-body", grouped).shared),
            "17 and 12 fewer than printed above: moving z^6 into y^5 saves 15 and 12, the two products"
            " shared by"
            " steps 2 and 3 the rest",
        )
    )
    rows.append(Row("customised model of this package", None, _constant(count_generated(arm)), _GENERATED))
    remarks = (
        _sum_remark(rows[:-3], _printed(181, 127)),
        "run on the plain recursion: this arm's zeros left out, equal products made once, unused ones"
        " dropped",
    )
    title = "Renaud 1987, step table of the 6R example"
    return Comparison("renaud", title, tuple(rows), "augmented-body", remarks)
