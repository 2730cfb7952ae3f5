"""Accelerations from torques: mass matrix, bias and a straight-line factorisation M = L D L^T."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.errors import ModelError


def solve_symmetric(matrix: Sequence[Sequence[Expression]], right: Sequence[Expression]) -> list[Expression]:
    """Solution of ``matrix`` x = ``right`` for a symmetric positive definite matrix.

    Elimination starts at the last unknown: the entries of a mass matrix that are constant or zero belong to
    the last joints. Each pivot is inverted once.

    Raises:
        ModelError: a joint moves no inertia.
    """
    n = len(right)
    m = [list(row[: i + 1]) for i, row in enumerate(matrix)]
    x = list(right)
    inverse: list[Expression] = [x[0]] * n
    factors: list[list[Expression]] = [[] for _ in range(n)]
    for k in range(n - 1, -1, -1):
        if m[k][k].is_zero:
            raise ModelError(f"the joint of coordinate {k} moves no inertia; check the masses behind it")
        inverse[k] = 1.0 / m[k][k]
        factors[k] = [m[k][j] * inverse[k] for j in range(k)]
        for i in range(k):
            x[i] = x[i] - factors[k][i] * x[k]
            for j in range(i + 1):
                m[i][j] = m[i][j] - factors[k][i] * m[k][j]
    for k in range(n):
        x[k] = x[k] * inverse[k]
        for j in range(k):
            x[k] = x[k] - factors[k][j] * x[j]
    return x
