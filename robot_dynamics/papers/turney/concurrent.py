"""Table 5 of Turney, Mudge and Lee 1980: a stage takes as long as its longest task."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.papers.counts.comparison import CountComparison, CountRow, sum_remark, total_row
from robot_dynamics.papers.counts.measure import Formula, concurrent_formula, task_tallies
from robot_dynamics.papers.counts.published import constant, formula
from robot_dynamics.papers.counts.scalars import Tally


def concurrent_table() -> CountComparison:
    """The printed stages beside the longest task of each, as run."""
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
        CountRow("omega_1", constant(9, 7), _one(tasks["omega_i"])),
        CountRow("alpha_1", constant(9, 9), _one(tasks["alpha_i"]), missing),
        CountRow("A_1", constant(6, 9), _one(tasks["A_i"])),
        CountRow("omega_2", constant(9, 7), _one(tasks["omega_i"])),
        CountRow("alpha_2", constant(9, 9), _one(tasks["alpha_i"]), missing),
        CountRow(
            "omega_{i+2}, alpha_{i+2}, A_{i+1}, a_i, m_i abar_i, Tr{...}, m_{i-1} ... abar_{i-1}",
            formula((18, 0), (15, 0)),
            _per_link(_largest([tasks[step] for step in forward])),
            "the longest task is a_i; m_i abar_i needs its R a_{i-1}, so in this stage it computes it anew,"
            " or comes one stage later",
        ),
        CountRow(
            "f_i, n_i, r_i x R f_{i+1}, R n_{i+1}",
            formula((9, 0), (12, 0)),
            _per_link(_largest([tasks[step] for step in backward])),
            "the 12 are the four vector sums of five terms of table 3; the modified n_i has four terms, 9"
            " additions. n_i waits for R n_{i+1}, so the two share a stage only when the stage is pipelined",
        ),
    ]
    rows.append(total_row(rows, formula((27, 42), (27, 41))))
    rows.append(
        CountRow(
            "longest chain of tasks that wait for one another",
            None,
            concurrent_formula(name),
            "no stages: every task starts when what it needs is there. Here R n_{i+1} (6) and its sum (9)"
            " follow each other: 15 additions a link on the way back, which the table's 12 cannot hold",
        )
    )
    remarks = (sum_remark(rows[:-2], formula((27, 42), (27, 41))),)
    title = "Turney, Mudge, Lee 1980, table 5: steps of table 4 with one processor for each task"
    return CountComparison("turney-5", title, tuple(rows), name, remarks)


def _one(tally: Tally) -> Formula:
    return constant(tally.multiplications, tally.additions)


def _per_link(tally: Tally) -> Formula:
    return formula((tally.multiplications, 0), (tally.additions, 0))


def _largest(tallies: Sequence[Tally]) -> Tally:
    return Tally(max(t.multiplications for t in tallies), max(t.additions for t in tallies))
