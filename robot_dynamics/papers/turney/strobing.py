"""Section 6 of Turney, Mudge and Lee: M and C column by column, and the cost of that (strobing).

M: one run for each joint j with a unit acceleration there, nothing else moving, no gravity; by symmetry only
the torques i >= j are needed, so only links j ... n take part. C: one run for each pair j <= k with unit
velocities there. The rotations R_i are made once for all runs and not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics.formulations import modified_newton_euler
from robot_dynamics.dynamics.scalar import Vector
from robot_dynamics.dynamics.strobing import strobed_mass_matrix
from robot_dynamics.papers.counts.general_arm import general_arm
from robot_dynamics.papers.counts.measure import Formula
from robot_dynamics.papers.counts.polynomial import Polynomial
from robot_dynamics.papers.counts.scalars import OperationCounter, Tally
from robot_dynamics.papers.evidence.finding import LINKS, PaperFinding, relative_error, within
from robot_dynamics.papers.evidence.kinematics import energies, random_arm, random_state

_KINEMATIC = ("omega_i", "alpha_i", "A_i", "a_i")
_ONCE = ("R_i", "joint variable")
# Numbers of links that determine the polynomials and confirm them.
_SIZES = range(2, 9)


@dataclass(frozen=True)
class StrobingCost:
    """Operations of all runs for one matrix.

    Attributes:
        kinematic, dynamic: as formulas in the number of links.
        per_link: kinematic and dynamic operations of a link that is neither the first to move nor the last.
    """

    kinematic: Formula
    dynamic: Formula
    per_link: tuple[Tally, Tally]


class _BaseAtRest(OperationCounter):
    """Counts for an arm whose base neither moves nor feels gravity, as strobing asks for."""

    def as_variables(self, values: Vector) -> Vector:
        return np.zeros(np.shape(values))


def mass_matrix_cost() -> StrobingCost:
    """k_1 and d_1: unit accelerations."""
    return _cost(lambda n: ((j, None) for j in range(n)))


def coriolis_cost() -> StrobingCost:
    """k_2 and d_2: unit velocities at one or two joints."""
    return _cost(lambda n: ((j, k) for j in range(n) for k in range(j, n)))


Runs = Callable[[int], Iterator[tuple[int, int | None]]]


def _cost(runs: Runs) -> StrobingCost:
    parts: dict[bool, dict[int, Tally]] = {True: {}, False: {}}
    for n in _SIZES:
        for kinematic in parts:
            parts[kinematic][n] = sum(
                (_tally(n, first, second, kinematic, range(first + 1, n + 1)) for first, second in runs(n)),
                Tally(),
            )
    size = max(_SIZES)
    first, second = next(iter(runs(size)))
    inner = tuple(
        _tally(size, first, second, kinematic, range(size - 1, size)) for kinematic in (True, False)
    )
    return StrobingCost(_formula(parts[True]), _formula(parts[False]), (inner[0], inner[1]))


def _tally(n: int, first: int, second: int | None, kinematic: bool, links: range) -> Tally:
    counts = Tally()
    for (step, link), tally in _run(n, first, second).items():
        if step not in _ONCE and (step in _KINEMATIC) is kinematic and link in links:
            counts = counts + tally
    return counts


@cache
def _run(n: int, first: int, second: int | None) -> dict[tuple[str, int], Tally]:
    counter = _BaseAtRest(general=True)
    rates, accelerations = [0.0] * n, [0.0] * n
    if second is None:
        accelerations[first] = 1.0
    else:
        rates[first] = rates[second] = 1.0
    modified_newton_euler(general_arm(n), counter.variables(n), rates, accelerations, None, counter)
    return dict(counter.tasks)


def _formula(tallies: dict[int, Tally]) -> Formula:
    return Formula(
        Polynomial.through({n: tally.multiplications for n, tally in tallies.items()}),
        Polynomial.through({n: tally.additions for n, tally in tallies.items()}),
    )


def strobing(folder: Path) -> Iterator[PaperFinding]:
    """The technique and its costs k_1, d_1, k_2, d_2."""
    model = random_arm(4)
    q, qd, _ = random_state(model)
    matrix = strobed_mass_matrix(model, q)
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
    yield PaperFinding(
        "cost of M, k_1 n(n+1)/2 + d_1 n(n+1)/2",
        "of this form; k_1 and d_1 are not given",
        f"{_per_link('1', first)}; in all {_sum(first)}",
        _degrees(first.kinematic) == _degrees(first.dynamic) == (2, 2),
        "another power of n",
    )
    yield PaperFinding(
        "cost of C, kinematic part k_2 n(n+1)(2n+1)/6",
        "of this form; k_2 is not given",
        f"{_per_link('2', second)}; in all {_text(second.kinematic)}",
        _degrees(second.kinematic) == (3, 3),
        "another power of n",
    )
    yield PaperFinding(
        "cost of C, dynamic part d_2 n(n+1)/2",
        "grows with n²",
        f"{_text(second.dynamic)}",
        _degrees(second.dynamic) == (2, 2),
        "there are n(n+1)/2 runs, and each takes the dynamics of every link that moves; the part grows with"
        " n³",
    )


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
