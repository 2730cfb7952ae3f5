"""The derivatives' way back to the base with the joints beyond in the lanes of a vector.

At a link all joints beyond it do the same: they turn with it, move to the origin of the link before and meet
its joint. So a single state computes in scalars what they meet, and what each begins with, and carries them
in lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from robot_dynamics.codegen.columns import LEAST, MOST, ColumnGraph, Triangles
from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.sensitivity import Carried, Entries, Passage, WayBack


@dataclass(frozen=True)
class ColumnSensitivity:
    """The matrices of :class:`.Sensitivity` in vectors."""

    mass: Triangles
    velocities: Triangles
    positions: Triangles


def fit_columns(links: Sequence[GeneratorLink]) -> bool:
    """True where every link has a coordinate of its own, in their order, and they fit a vector."""
    simple = all(link.coordinate == i and link.parent == i - 1 for i, link in enumerate(links))
    return simple and LEAST <= len(links) <= MOST


def column_sensitivity(columns: ColumnGraph, way: WayBack, slopes: Sequence[Expression]) -> ColumnSensitivity:
    """The matrices at the state of ``way``, for links that :func:`fit_columns`.

    Args:
        columns: where to trace, beside the graph of ``way``.
        way: the way back.
        slopes: what to add to the diagonal of the derivatives by the velocities.
    """
    zero = columns.graph.expression(0.0)
    begun = way.begun()
    carried = Carried.of([zero] * len(begun[0].scalars))
    found: list[Entries] = []
    for lane in range(len(begun) - 1, -1, -1):
        multiplier = way.links[lane].multiplier
        fresh = [columns.entering(multiplier * scalar, lane) for scalar in begun[lane].scalars]
        carried = Carried.of([x + y for x, y in zip(carried.scalars, fresh, strict=True)])
        passage = _shared(columns, way.passages[lane])
        entries = passage.entries(carried)
        diagonal = columns.entering(slopes[lane], lane)
        found.append(
            Entries(
                multiplier * entries.mass,
                (2.0 * multiplier) * entries.coriolis + diagonal,
                multiplier * entries.position,
                (2.0 * multiplier) * entries.coriolis_back,
                multiplier * entries.position_back,
            )
        )
        carried = passage.back(carried)
    found.reverse()
    mass = [entries.mass for entries in found]
    return ColumnSensitivity(
        Triangles(mass, mass),
        Triangles([e.coriolis for e in found], [e.coriolis_back for e in found]),
        Triangles([e.position for e in found], [e.position_back for e in found]),
    )


def _shared(columns: ColumnGraph, passage: Passage) -> Passage:
    """A passage as all lanes see it."""

    def shared(scalars: Sequence[Expression]) -> list[Expression]:
        return [columns.shared(scalar) for scalar in scalars]

    cosine, sine = shared(passage.turn)
    return replace(
        passage,
        turn=(cosine, sine),
        arm=shared(passage.arm),
        arm_rate=shared(passage.arm_rate),
        axis_rate=shared(passage.axis_rate),
        second=shared(passage.second),
        origin=shared(passage.origin),
    )
