"""Positions in the runs of parallel axes, for the quantities that depend on q alone.

See :mod:`.recursion` for the entry frame E of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.angles import Angle, Trigonometry
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.links import GeneratorLink, parallel_runs
from robot_dynamics.dynamics.generator.vectors import Vector, from_turned


@dataclass(frozen=True)
class Place:
    """A link within its run.

    Attributes:
        index: of the link.
        link: the joint and its link.
        angle: by which the link has turned from E.
        cosine, sine: of that angle.
        arm: position of the link's origin from that of the link before, in the axes of E, in units of length.
    """

    index: int
    link: GeneratorLink
    angle: Angle
    cosine: Expression
    sine: Expression
    arm: Vector


def runs_of(
    links: Sequence[GeneratorLink], choices: Choices, tied: Collection[int] = frozenset()
) -> list[list[int]]:
    """The links' indices in runs of parallel axes, as far as ``choices`` joins them.

    A run ends at a link in whose frame something is given, one of ``tied``.
    """
    joined = [
        choice.joined and link.parent not in tied for link, choice in zip(links, choices.links, strict=True)
    ]
    return parallel_runs(links, joined)


def joint_variable(link: GeneratorLink, values: Sequence[Expression]) -> Expression:
    """The joint's share of a coordinate's value, velocity or acceleration."""
    return link.multiplier * values[link.coordinate]


def places(
    graph: ExpressionGraph,
    links: Sequence[GeneratorLink],
    choices: Choices,
    q: Sequence[Expression],
    trigonometry: Trigonometry,
    unit: float,
    tied: Collection[int] = frozenset(),
) -> list[list[Place]]:
    """Every link's place in its run; lengths in ``unit`` [m], runs as :func:`runs_of` ends them."""
    zero = graph.expression(0.0)
    result = []
    for run in runs_of(links, choices, tied):
        angle, cosine, sine = Angle(), graph.expression(1.0), zero
        members = []
        for index in run:
            link = links[index]
            variable = joint_variable(link, q)
            arm = [graph.expression(link.a / unit), graph.expression(link.y_shift / unit), zero]
            arm = from_turned(cosine, sine, arm)
            if link.revolute:
                arm[2] = graph.expression(link.r / unit)
                angle = angle.plus(variable, link.offset)
            else:
                arm[2] = (1.0 / unit) * (variable + link.offset)
                angle = angle.plus(None, link.theta)
            cosine, sine = trigonometry.cos_sin(angle)
            members.append(Place(index, link, angle, cosine, sine, arm))
        result.append(members)
    return result
