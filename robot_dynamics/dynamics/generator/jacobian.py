"""The Jacobian of the tip, in the axes of the tip frame.

Going from the tip to the base with the pose (R, p) of the tip in the current frame, a joint about or along z
moves the tip by

    revolute:   v = R^T (z x p) = p_x row_y(R) - p_y row_x(R),  w = row_z(R)
    prismatic:  v = row_z(R),  w = 0
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.angles import Trigonometry
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.runs import places
from robot_dynamics.dynamics.generator.vectors import Vector, add, from_entry, from_turned, scaled
from robot_dynamics.spatial import Array


def tip_jacobian(
    graph: ExpressionGraph,
    links: tuple[GeneratorLink, ...],
    tip: Array,
    q: Sequence[Expression],
    choices: Choices,
) -> list[list[Expression]]:
    """Six rows (linear, then angular velocity of the tip frame's origin), one column per coordinate."""
    # ``links`` are a path: each carries the next.
    zero = graph.expression(0.0)
    runs = places(graph, links, choices, q, Trigonometry(graph, choices.composed_angles), 1.0)
    pose = [[graph.expression(x) for x in tip[:3, j].tolist()] for j in range(4)]
    rows = [[zero] * len(q) for _ in range(6)]
    for run in reversed(runs):
        pose = [from_turned(run[-1].cosine, run[-1].sine, column) for column in pose]
        for place in reversed(run):
            link = place.link
            axes, p = [[pose[j][i] for j in range(3)] for i in range(3)], pose[3]
            linear: Vector = axes[2]
            if link.revolute:
                linear = add(scaled(p[0], axes[1]), scaled(-p[1], axes[0]))
            for i in range(3):
                column = link.coordinate
                rows[i][column] = rows[i][column] + link.multiplier * linear[i]
                if link.revolute:
                    rows[3 + i][column] = rows[3 + i][column] + link.multiplier * axes[2][i]
            pose = [*pose[:3], add(p, place.arm)]
        pose = [from_entry(run[0].link, column) for column in pose]
    return rows
