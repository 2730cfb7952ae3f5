"""Accelerations from torques: mass matrix, bias and a straight-line factorisation M = L D L^T."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.errors import ModelError


def inverse_symmetric(matrix: Sequence[Sequence[Expression]]) -> list[list[Expression]]:
    """Inverse of a symmetric positive definite matrix, exactly symmetric.

    Raises:
        ModelError: a joint moves no inertia.
    """
    factors, n = Factors(matrix), len(matrix)
    graph = matrix[0][0].graph
    columns = []
    for k in range(n):
        unit = [graph.expression(float(i == k)) for i in range(n)]
        columns.append(factors.solved(unit))
    # Of a column the entries down to the diagonal are the cheap ones: elimination starts at the end.
    return [[columns[max(i, k)][min(i, k)] for k in range(n)] for i in range(n)]


class Factors:
    """A symmetric positive definite matrix as L^T D L.

    Elimination starts at the last unknown: the entries of a mass matrix that are constant or zero belong to
    the last joints. Each pivot is inverted once.
    """

    def __init__(self, matrix: Sequence[Sequence[Expression]]) -> None:
        """Factorise.

        Raises:
            ModelError: a joint moves no inertia.
        """
        n = len(matrix)
        m = [list(row[: i + 1]) for i, row in enumerate(matrix)]
        self._inverse: list[Expression] = [m[0][0]] * n
        self._coupled: list[list[int]] = [[] for _ in range(n)]
        self._factors: list[list[Expression]] = [[] for _ in range(n)]
        for k in range(n - 1, -1, -1):
            if m[k][k].is_zero:
                raise ModelError(f"the joint of coordinate {k} moves no inertia; check the masses behind it")
            self._inverse[k] = 1.0 / m[k][k]
            self._factors[k] = [m[k][j] * self._inverse[k] for j in range(k)]
            # A tree's matrix has zeros across branches; with the leaves eliminated first they stay.
            coupled = self._coupled[k] = [i for i in range(k) if not m[k][i].is_zero]
            for i in coupled:
                for j in coupled:
                    if j <= i:
                        m[i][j] = m[i][j] - self._factors[k][i] * m[k][j]

    def solved(self, right: Sequence[Expression]) -> list[Expression]:
        """The solution for one right-hand side."""
        x, factors = list(right), self._factors
        for k in range(len(x) - 1, -1, -1):
            for i in self._coupled[k]:
                x[i] = x[i] - factors[k][i] * x[k]
        for k in range(len(x)):
            x[k] = x[k] * self._inverse[k]
            for j in self._coupled[k]:
                x[k] = x[k] - factors[k][j] * x[j]
        return x
