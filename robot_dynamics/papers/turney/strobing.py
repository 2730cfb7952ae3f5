"""Section 6 of Turney, Mudge and Lee: M and C by strobing, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics.formulations import modified_newton_euler
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.papers.counts.measure import Formula
from robot_dynamics.papers.evidence.finding import LINKS, Finding, relative_error, within
from robot_dynamics.papers.evidence.kinematics import energies, random_arm, random_state
from robot_dynamics.papers.turney.strobing_cost import StrobingCost, coriolis_cost, mass_matrix_cost
from robot_dynamics.spatial import Array


def strobing(folder: Path) -> Iterator[Finding]:
    """The technique and its costs k_1, d_1, k_2, d_2."""
    model = random_arm(4)
    q, qd, _ = random_state(model)
    matrix = mass_matrix(model, q)
    yield within(
        "strobing M (end of section 3)",
        "a unit acceleration, all other inputs and gravity zero, gives a column of M",
        relative_error([qd @ matrix @ qd / 2.0], [energies(model, q, qd)[0]]),
        "qd' M qd / 2 against the kinetic energy of the links",
    )
    yield within(
        "M is symmetric (2.11)",
        "M_ij = M_ji",
        relative_error(matrix.T, matrix),
        "M against its transpose",
        1e-12,
    )
    first, second = mass_matrix_cost(), coriolis_cost()
    yield Finding(
        "cost of M, k_1 n(n+1)/2 + d_1 n(n+1)/2",
        "of this form; k_1 and d_1 are not given",
        f"{_per_link('1', first)}; in all {_sum(first)}",
        _degrees(first.kinematic) == _degrees(first.dynamic) == (2, 2),
        "another power of n",
    )
    yield Finding(
        "cost of C, kinematic part k_2 n(n+1)(2n+1)/6",
        "of this form; k_2 is not given",
        f"{_per_link('2', second)}; in all {_text(second.kinematic)}",
        _degrees(second.kinematic) == (3, 3),
        "another power of n",
    )
    yield Finding(
        "cost of C, dynamic part d_2 n(n+1)/2",
        "grows with n²",
        f"{_text(second.dynamic)}",
        _degrees(second.dynamic) == (2, 2),
        "there are n(n+1)/2 runs, and each takes the dynamics of every link that moves; the part grows with"
        " n³",
    )


def mass_matrix(model: SerialModel, q: Array) -> Array:
    """M (n, n) by strobing unit accelerations."""
    weightless, rest = replace(model, gravity=np.zeros(3)), np.zeros(model.dof)
    columns = [modified_newton_euler(weightless, q, rest, unit) for unit in np.eye(model.dof)]
    return np.column_stack(columns).astype(float)


def _per_link(index: str, cost: StrobingCost) -> str:
    kinematic, dynamic = cost.per_link
    return (
        f"k_{index} = {kinematic.multiplications} ×, {kinematic.additions} +; d_{index} ="
        f" {dynamic.multiplications} ×, {dynamic.additions} + for a link in the middle"
    )


def _sum(cost: StrobingCost) -> str:
    return _text(cost.kinematic + cost.dynamic)


def _text(formula: Formula) -> str:
    at = formula.at(LINKS)
    numbers = f"(n = {LINKS}: {at.multiplications} ×, {at.additions} +)"
    return f"{formula.multiplications} ×, {formula.additions} + {numbers}"


def _degrees(formula: Formula) -> tuple[int, int]:
    return len(formula.multiplications.coefficients) - 1, len(formula.additions.coefficients) - 1
