"""Gravity's generalised forces: the first moment of everything beyond a joint, and the direction of gravity.

With s the first moment about joint i of links i to n and A the acceleration that replaces gravity, joint i
carries z . (s x A) if revolute and m A_z if prismatic. Moments are added up towards the base, gravity is
turned towards the tip; no force is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.angles import Trigonometry
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.regrouping import regrouped
from robot_dynamics.dynamics.generator.runs import places
from robot_dynamics.dynamics.generator.vectors import (
    Tensor,
    Vector,
    add,
    from_entry,
    from_turned,
    scaled,
    to_entry,
    to_turned,
)


def gravity_forces(
    graph: ExpressionGraph,
    links: tuple[GeneratorLink, ...],
    q: Sequence[Expression],
    gravity: Vector,
    choices: Choices,
    payloads: Mapping[int, Tensor] = MappingProxyType({}),
) -> list[Expression]:
    """Generalised forces that hold the arm against ``gravity``, free fall in frame 0 [N·m or N].

    ``payloads`` are (4, 4) pseudo-inertias of what links carry, by their indices.
    """
    choices = choices.as_given(payloads)
    links = regrouped(links, choices)
    trigonometry = Trigonometry(graph, choices.composed_angles)
    runs = places(graph, links, choices, q, trigonometry, 1.0, payloads)
    accelerations = {-1: scaled(-1.0, gravity)}
    at_entry = []
    for run in runs:
        at_entry.append(to_entry(run[0].link, accelerations[run[0].link.parent]))
        accelerations[run[-1].index] = to_turned(run[-1].cosine, run[-1].sine, at_entry[-1])
    zero = graph.expression(0.0)
    tau = [zero] * len(q)
    # First moment and mass of what links carry, by their indices.
    carried = {index: (payload[3][:3], payload[3][3]) for index, payload in payloads.items()}
    for run, a in zip(reversed(runs), reversed(at_entry), strict=True):
        moment, mass = carried.get(run[-1].index, ([zero] * 3, zero))
        # The last link's own moment turns together with all that it carries.
        moment = add(moment, [graph.expression(x) for x in run[-1].link.pseudo[:3, 3].tolist()])
        total = from_turned(run[-1].cosine, run[-1].sine, moment)
        for place in reversed(run):
            link = place.link
            mass = mass + float(link.pseudo[3, 3])
            if place is not run[-1]:
                sx, sy, sz = link.pseudo[:3, 3].tolist()
                x, y = trigonometry.turned(place.angle, sx, sy)
                total = [total[0] + x, total[1] + y, total[2] + sz]
            effort = total[0] * a[1] - total[1] * a[0] if link.revolute else mass * a[2]
            tau[link.coordinate] = tau[link.coordinate] + link.multiplier * effort
            total = add(total, scaled(mass, place.arm))
        moment, parent = from_entry(run[0].link, total), run[0].link.parent
        if parent in carried:
            moment, mass = add(carried[parent][0], moment), carried[parent][1] + mass
        carried[parent] = moment, mass
    return tau
