"""Search over the choices of the generator, with the true number of operations as cost.

Coordinate descent: one choice after the other, from the last link to the first, is replaced by each of its
alternatives and the best kept, until a whole round brings nothing or the number of trials is used up. Nothing
is random and no clock is read, so the same robot always gives the same program.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import fields, replace

from robot_dynamics.codegen.program import OperationCount
from robot_dynamics.dynamics.generator.choices import (
    Choices,
    Frame,
    Isotropic,
    LinkChoice,
    PointMass,
    Turn,
)
from robot_dynamics.dynamics.generator.limbs import corresponding
from robot_dynamics.dynamics.generator.links import GeneratorLink, leaves, parallel_runs


class Objective(enum.Enum):
    """Cost that the search makes small."""

    OPERATIONS = "additions and multiplications; sines and cosines count nothing, as in the literature"
    JOINT_ANGLES = "additions and multiplications, with the joints' own sines and cosines alone"
    TIME = "an estimate of time, in which a sine or cosine costs as much as sixteen operations"

    @property
    def option(self) -> str:
        """Its name on a command line."""
        return self.name.lower().replace("_", "-")


# Trials of the search: a fixed number for short chains, so that the time stays bounded for long ones.
_TRIALS = {"none": 0, "normal": 600, "high": 6000}
EFFORTS = tuple(_TRIALS)
# With more different lengths than this, no unit of length makes much of a difference.
_MOST_LENGTHS = 7


def cost(count: OperationCount, objective: Objective) -> float:
    """Cost of a program."""
    if objective is Objective.TIME:
        return count.total + 16.0 * count.sines_and_cosines + 4.0 * (count.divisions + count.square_roots)
    return count.total + 1e-3 * count.sines_and_cosines


def best_choices(
    links: tuple[GeneratorLink, ...],
    start: Choices,
    operations: Callable[[Choices], OperationCount],
    objective: Objective,
    effort: str,
    relevant: frozenset[str],
) -> Choices:
    """The best choices found.

    Args:
        links: the robot.
        start: choices to start from.
        operations: count for given choices.
        objective: what is made small.
        effort: one of ``EFFORTS``.
        relevant: names of the fields of `LinkChoice` and `Choices` that matter for what is counted.
    """
    trials = _TRIALS[effort] // len(links)
    best = replace(start, composed_angles=objective is not Objective.OPERATIONS)
    lowest = cost(operations(best), objective) if trials else 0.0
    improved = True
    while improved and trials > 0:
        improved = False
        for alternatives in _coordinates(links, objective, relevant):
            for candidate in alternatives(best):
                if trials <= 0:
                    break
                trials -= 1
                value = cost(operations(candidate), objective)
                if value < lowest + 1e-9:
                    best, lowest, improved = candidate, min(value, lowest), improved or value < lowest - 1e-9
    return best


def lengths_of(links: tuple[GeneratorLink, ...]) -> list[float]:
    """One metre and the robot's different lengths [m]: what may serve as a unit.

    In the order of the links, so that a robot with other numbers takes the same way through the search.
    """
    return list(
        dict.fromkeys([1.0, *(abs(x) for link in links for x in (link.a, link.y_shift, link.r) if x)])
    )


def _coordinates(
    links: tuple[GeneratorLink, ...], objective: Objective, relevant: frozenset[str]
) -> Iterator[Callable[[Choices], list[Choices]]]:
    """For each coordinate of the search a function from choices to the alternatives in that coordinate."""
    if objective is not Objective.JOINT_ANGLES:
        yield lambda c: [replace(c, composed_angles=not c.composed_angles)]
    lengths = lengths_of(links)
    if len(lengths) <= _MOST_LENGTHS and "backward_length" in relevant:
        yield lambda c: [replace(c, forward_length=u, backward_length=u) for u in lengths]
        # The present choice comes last and wins a tie: one unit for both directions factors better.
        yield lambda c: [*(replace(c, backward_length=u) for u in lengths if u != c.backward_length), c]
    for alike in corresponding(links)[::-1]:
        for name, values in _options(links, alike[0]).items():
            if name in relevant:
                yield lambda c, i=alike, n=name, vs=values: [  # type: ignore[misc]
                    c.with_links(i, n, v) for v in vs if v != getattr(c.links[i[0]], n)
                ]


def _options(links: tuple[GeneratorLink, ...], index: int) -> dict[str, list[object]]:
    """The values of every field of a link's choice that can make a difference."""
    link, ends = links[index], leaves(links)
    runs = parallel_runs(links)
    first = {run[-1] for run in runs if links[run[0]].parent < 0}
    second = {i for run in runs if links[run[0]].parent in first for i in run}
    options: dict[str, list[object]] = {}
    if link.revolute:
        if link.quarter_turn:
            options["frame"] = list(Frame)
        if link.parent >= 0 and (link.a or link.y_shift or link.r):
            options["point_mass"] = list(PointMass)
        if index in second:
            options["isotropic"] = list(Isotropic)
        if index in ends:
            options["turn"] = list(Turn)
    options["square_x"] = [True, False]
    options["difference_of_squares"] = [True, False]
    if not link.quarter_turn:
        options["column"] = [True, False]
    if link.parent >= 0 and link.parallel:
        options["joined"] = [True, False]
    if index not in ends and not link.revolute:
        options.pop("difference_of_squares")
    assert set(options) <= {field.name for field in fields(LinkChoice)}
    return options
