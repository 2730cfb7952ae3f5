"""Cost of strobing (section 6): operations of all runs that give M and C, counted by running them.

M: one run for each joint j with a unit acceleration there, nothing else moving, no gravity; by symmetry only
the torques i >= j are needed, so only links j ... n take part. C: one run for each pair j <= k with unit
velocities there. The rotations R_i are made once for all runs and not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from robot_dynamics.dynamics.formulations import modified_newton_euler
from robot_dynamics.dynamics.scalar import Vector
from robot_dynamics.papers.counts.general_arm import general_arm
from robot_dynamics.papers.counts.measure import Formula
from robot_dynamics.papers.counts.polynomial import Polynomial
from robot_dynamics.papers.counts.scalars import OperationCounter, Tally

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
