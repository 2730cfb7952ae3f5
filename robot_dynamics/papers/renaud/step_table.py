"""Renaud's step table for his 6R arm, and his count after grouping y^5 and z^6."""

from __future__ import annotations

from dataclasses import replace

from robot_dynamics.papers.counts.comparison import CountComparison, CountRow, sum_remark, total_row
from robot_dynamics.papers.counts.measure import Formula, count_generated, count_robot
from robot_dynamics.papers.counts.published import constant
from robot_dynamics.papers.counts.scalars import Tally
from robot_dynamics.papers.renaud.arm import renaud_arm

_GENERATED = (
    "what the generator writes for this arm with objective operations: base parameters, grouping searched for"
    " each link"
)


def step_table() -> CountComparison:
    """The printed rows beside the plain recursion, run step by step."""
    arm = renaud_arm()
    count = count_robot("augmented-body", arm)
    steps = {step: _one(tally) for step, tally in count.shared_steps.items()}
    shared = (
        "the 25 are there; but omega_z = qd of link 2, so its delta_xz and delta_yz are the products"
        " qd omega_x and qd omega_y of step 3 and need not be made twice"
    )
    rows = [
        CountRow("1a, 1b: omega", constant(18, 12), steps["1 (omega)"]),
        CountRow("2: delta", constant(25, 0), steps["2 (delta)"], shared),
        CountRow("3a, 3b: a", constant(28, 22), steps["3 (a)"]),
        CountRow("4: b", constant(0, 15), steps["4 (b)"]),
        CountRow("6a, 6b, 6c: alpha", constant(22, 12), steps["6 (alpha)"]),
        CountRow("7a, 7b: e", constant(26, 16), steps["7 (e)"]),
        CountRow("9a, 9b: n", constant(62, 50), steps["9 (n)"]),
    ]
    rows.append(total_row(rows, constant(181, 127)))
    last = arm.links[-1]
    grouped = replace(arm, links=(*arm.links[:-1], replace(last, first_moment=0.0 * last.first_moment)))
    rows.append(
        CountRow(
            "with y^5 - z^6 as one parameter",
            constant(164, 115),
            _one(count_robot("augmented-body", grouped).shared),
            "17 and 12 fewer than printed above: moving z^6 into y^5 saves 15 and 12, the two products"
            " shared by"
            " steps 2 and 3 the rest",
        )
    )
    rows.append(CountRow("customised model of this package", None, _one(count_generated(arm)), _GENERATED))
    remarks = (
        sum_remark(rows[:-3], constant(181, 127)),
        "run on the plain recursion: this arm's zeros left out, equal products made once, unused ones"
        " dropped",
    )
    title = "Renaud 1987, step table of the 6R example"
    return CountComparison("renaud", title, tuple(rows), "augmented-body", remarks)


def _one(tally: Tally) -> Formula:
    return constant(tally.multiplications, tally.additions)
