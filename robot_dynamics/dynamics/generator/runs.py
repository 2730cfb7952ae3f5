"""Positions in the runs of parallel axes, for the quantities that depend on q alone.

See :mod:`.recursion` for the entry frame E of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.angles import Angle, Trigonometry
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.links import Link
from robot_dynamics.dynamics.generator.vectors import Vector, from_turned


@dataclass(frozen=True)
class Place:
    """A link within its run.

    Attributes:
        link: the joint and its link.
        angle: by which the link has turned from E.
        cosine, sine: of that angle.
        arm: position of the link's origin from that of the link before, in the axes of E, in units of length.
    """

    link: Link
    angle: Angle
    cosine: Expression
    sine: Expression
    arm: Vector


def runs_of(links: Sequence[Link], choices: Choices) -> list[list[int]]:
    """The links' indices in runs of parallel axes, as far as ``choices`` joins them."""
    runs: list[list[int]] = []
    for index, link in enumerate(links):
        if link.parallel and choices.links[index].joined and runs and runs[-1][-1] == link.parent:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def joint_variable(link: Link, values: Sequence[Expression]) -> Expression:
    """The joint's share of a coordinate's value, velocity or acceleration."""
    return link.multiplier * values[link.coordinate]


def places(
    graph: ExpressionGraph,
    links: Sequence[Link],
    choices: Choices,
    q: Sequence[Expression],
    trigonometry: Trigonometry,
    unit: float,
) -> list[list[Place]]:
    """Every link's place in its run; lengths in ``unit`` [m]."""
    zero = graph.expression(0.0)
    result = []
    for run in runs_of(links, choices):
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
            members.append(Place(link, angle, cosine, sine, arm))
        result.append(members)
    return result
