"""Matrices over the joints whose columns are computed side by side, one in each lane of a vector.

What is the same for every column is computed in scalars; what a column begins with enters its lane of a
vector where the column begins, and from there on one operation serves all columns. A lane in which nothing
has begun is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.factoring import factored_program
from robot_dynamics.codegen.program import Argument, Columns, PlacedRows

MOST = 8
"""Columns that fit a vector."""
LEAST = 4
"""Fewer leave most lanes empty."""

Vectors = Sequence[Expression]  # expressions of the lanes' graph


@dataclass(frozen=True)
class Triangles:
    """A square matrix in vectors.

    Attributes:
        lower: lane i of vector j is the entry (i, j), i >= j.
        upper: lane i of vector j is the entry (j, i), i > j.
    """

    lower: Vectors
    upper: Vectors

    @property
    def negated(self) -> Triangles:
        """The matrix with the other sign."""
        return Triangles([-vector for vector in self.lower], [-vector for vector in self.upper])


@dataclass(frozen=True)
class Rows:
    """An output: a matrix in vectors, or a matrix of scalars, or the product of both.

    Attributes:
        left: (n, n) scalars, row by row; None for a matrix in vectors as it is.
        right: the matrix in vectors; None for a matrix of scalars as it is.
    """

    left: Sequence[Expression] | None = None
    right: Triangles | None = None


class ColumnGraph:
    """Trace of a computation in vectors, beside the graph of the scalars that it needs.

    Attributes:
        graph: of the vectors.
    """

    def __init__(self, scalars: ExpressionGraph) -> None:
        """Start beside ``scalars``."""
        self.graph = ExpressionGraph()
        self._scalars = scalars
        self._needed: list[Expression] = []
        self._entered: list[int | None] = []
        self._shared: dict[int, Expression] = {}

    def shared(self, scalar: Expression) -> Expression:
        """A scalar that all lanes share."""
        value = self._scalars.constant_value(scalar.literal)
        if value is not None:
            return self.graph.expression(value)
        node = scalar.literal >> 1
        if node not in self._shared:
            self._shared[node] = self._input(Expression(self._scalars, 2 * node), None)
        return -self._shared[node] if scalar.literal & 1 else self._shared[node]

    def entering(self, scalar: Expression, lane: int) -> Expression:
        """The vector that is ``scalar`` in one lane and zero in the others."""
        if scalar.is_zero:
            return self.graph.expression(0.0)
        return self._input(scalar, lane)

    def columns(self, name: str, size: int, outputs: Sequence[Rows]) -> Columns:
        """The programs of (``size``, ``size``) matrices."""
        needed, results = list(self._needed), list[Expression]()
        placed = []
        for rows in outputs:
            left = range(len(needed), len(needed) + len(rows.left or ()))
            needed += rows.left or ()
            lower = range(len(results), len(results) + (len(rows.right.lower) if rows.right else 0))
            results += rows.right.lower if rows.right else ()
            upper = range(len(results), len(results) + (len(rows.right.upper) if rows.right else 0))
            results += rows.right.upper if rows.right else ()
            placed.append(PlacedRows(tuple(left), tuple(lower), tuple(upper)))
        return Columns(
            size,
            factored_program(self._scalars, name, [(Argument("needed", len(needed)), needed)]),
            self.graph.build_program(name, [(Argument("vectors", len(results)), results)]),
            tuple(self._entered),
            tuple(placed),
        )

    def _input(self, scalar: Expression, lane: int | None) -> Expression:
        self._needed.append(scalar)
        self._entered.append(lane)
        return self.graph.input(f"needed{len(self._needed) - 1}", 1)[0]
