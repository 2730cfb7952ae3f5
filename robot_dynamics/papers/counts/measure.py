"""Counting a formulation by running it."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from robot_dynamics.codegen.expression import ExpressionGraph
from robot_dynamics.codegen.lowering import reachable
from robot_dynamics.codegen.nodes import ADD, COS, MUL, SIN, SUB
from robot_dynamics.codegen.program import count_operations
from robot_dynamics.dynamics.formulations import FORMULATIONS
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import generate
from robot_dynamics.dynamics.scalar import SymbolField, Vector
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.papers.counts.general_arm import general_arm
from robot_dynamics.papers.counts.polynomial import Polynomial
from robot_dynamics.papers.counts.scalars import OperationCounter, Tally, concurrent_steps

# A formulation, or its name.
Run = str | Callable[..., Vector]
# Numbers of links that determine the polynomials and confirm them.
_SIZES = range(1, 7)
_CHAIN_SIZES = range(3, 7)


@dataclass(frozen=True)
class Formula:
    """Multiplications and additions as polynomials in the number of links."""

    multiplications: Polynomial
    additions: Polynomial

    def __add__(self, other: Formula) -> Formula:
        return Formula(self.multiplications + other.multiplications, self.additions + other.additions)

    def at(self, n: int) -> Tally:
        """The numbers for ``n`` links."""
        return Tally(int(self.multiplications(n)), int(self.additions(n)))


@dataclass(frozen=True)
class RobotCount:
    """Operations of one formulation for one robot.

    Attributes:
        as_run: products with 0 and 1 and sums with 0 left out, else every operation that the code performs.
        shared: the same with equal subexpressions computed once and unused results dropped.
        shared_steps: ``shared`` by step.
        sines_and_cosines: number of sines and cosines, not counted as operations.
    """

    as_run: Tally
    shared: Tally
    shared_steps: Mapping[str, Tally]
    sines_and_cosines: int


def general_formulas(formulation: Run) -> dict[str, Formula]:
    """Operations of every step for a general arm of n revolute joints, as formulas in n."""
    return dict(_general_formulas(formulation))


def concurrent_formula(formulation: str) -> Formula:
    """Operations that remain one after the other when every step of every link has its own processor."""
    products, sums = {}, {}
    for n in _CHAIN_SIZES:
        counter, _ = _general_run(formulation, n)
        schedule = concurrent_steps(counter.tasks, counter.feeds)
        products[n], sums[n] = schedule.multiplications, schedule.additions
    return Formula(Polynomial.through(products), Polynomial.through(sums))


def longest_chain(formulation: str) -> Polynomial:
    """Operations one after the other when every operation starts as soon as its operands are there."""
    return Polynomial.through({n: _general_run(formulation, n)[1] for n in _CHAIN_SIZES})


def feedback_formula() -> Formula:
    """qdd_d + K_v (qd_d - qd) + K_p (q_d - q) with one gain a joint: the law that Lee's tables add."""
    products, sums = {}, {}
    for n in _SIZES:
        counter = OperationCounter(general=True)
        q, qd, q_d, qd_d, qdd_d = (counter.variables(n) for _ in range(5))
        kp, kv = counter.parameters([100.0] * n), counter.parameters([20.0] * n)
        _ = qdd_d + kv * (qd_d - qd) + kp * (q_d - q)
        products[n], sums[n] = counter.total().multiplications, counter.total().additions
    return Formula(Polynomial.through(products), Polynomial.through(sums))


def task_tallies(formulation: str) -> dict[str, Tally]:
    """Operations of every step for a link that is neither the first nor the last of a general arm."""
    counter, _ = _general_run(formulation, max(_SIZES))
    return {step: tally for (step, link), tally in counter.tasks.items() if link == 2}


def total(formulas: Mapping[str, Formula], *, without: Sequence[str] = ()) -> Formula:
    """Sum of the steps that are not in ``without``."""
    zero = Formula(Polynomial.of(), Polynomial.of())
    return sum((formula for step, formula in formulas.items() if step not in without), zero)


def count_robot(formulation: Run, model: SerialModel) -> RobotCount:
    """Operations of ``formulation`` for ``model``, without a tip wrench."""
    run, n = _run(formulation), model.dof
    counter = OperationCounter(general=False)
    run(model, counter.variables(n), counter.variables(n), counter.variables(n), None, counter)

    graph = ExpressionGraph()
    field = _SteppedSymbols(graph)
    tau = run(model, graph.input("q", n), graph.input("qd", n), graph.input("qdd", n), None, field)
    steps: dict[str, Tally] = {}
    functions = 0
    for number in reachable(graph.nodes, [graph.literal(force) for force in tau]):
        kind = graph.nodes[number][0]
        functions += kind in (SIN, COS)
        if kind in (ADD, SUB, MUL):
            tally = steps.setdefault(field.step_of(number), Tally())
            tally.multiplications += kind == MUL
            tally.additions += kind != MUL
    return RobotCount(counter.total(), sum(steps.values(), Tally()), steps, functions)


def count_generated(model: SerialModel) -> Tally:
    """Operations of the customised model that the generator makes for ``model``."""
    program = generate(model, objective=Objective.OPERATIONS)
    count = count_operations(program)
    return Tally(count.multiplications, count.additions)


def _run(formulation: Run) -> Callable[..., Vector]:
    return FORMULATIONS[formulation] if isinstance(formulation, str) else formulation


class _SteppedSymbols(SymbolField):
    """Symbols that remember in which step every node was made."""

    def __init__(self, graph: ExpressionGraph) -> None:
        self._graph = graph
        self._starts = [0]
        self._names = [""]

    def step(self, name: str, link: int) -> None:
        """Nodes made from now on belong to ``name``."""
        self._starts.append(len(self._graph.nodes))
        self._names.append(name)

    def step_of(self, number: int) -> str:
        """The step in which node ``number`` was made."""
        return self._names[bisect.bisect_right(self._starts, number) - 1]


@cache
def _general_run(formulation: Run, n: int) -> tuple[OperationCounter, int]:
    """The account of one call for a general arm, and the longest chain of operations in it."""
    counter = OperationCounter(general=True)
    run = _run(formulation)
    states = (counter.variables(n) for _ in range(3))
    tau = run(general_arm(n), next(states), next(states), next(states), None, counter)
    return counter, max(force.depth for force in tau)


@cache
def _general_formulas(formulation: Run) -> tuple[tuple[str, Formula], ...]:
    runs = {n: _general_run(formulation, n)[0].by_step() for n in _SIZES}
    formulas = []
    for step in runs[max(_SIZES)]:
        tallies = {n: run.get(step, Tally()) for n, run in runs.items()}
        formulas.append(
            (
                step,
                Formula(
                    Polynomial.through({n: tally.multiplications for n, tally in tallies.items()}),
                    Polynomial.through({n: tally.additions for n, tally in tallies.items()}),
                ),
            )
        )
    return tuple(formulas)
