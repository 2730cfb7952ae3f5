"""A body at the tip whose mass properties are inputs of the program.

Its ten parameters are those of a link in the regressor: mass m, first moment m c and inertia about the
origin, xx, xy, yy, xz, yz, zz, in the tip frame. What a recursion adds up towards the base begins with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.vectors import Tensor, add
from robot_dynamics.spatial import Array


def payload_pseudo(values: Sequence[Expression], tip: Array) -> Tensor:
    """(4, 4) pseudo-inertia about the last frame's origin, in its axes.

    Args:
        values: the ten parameters, in the tip frame.
        tip: (4, 4) pose of the tip frame in the last frame.
    """
    m, *first, xx, xy, yy, xz, yz, zz = values
    # J = tr(I)/2 1 - I with the inertia I.
    half = 0.5 * (xx + yy + zz)
    own = [[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]]
    rotation = [[0.0 if abs(x) < 1e-15 else x for x in row] for row in tip[:3, :3].tolist()]
    p = tip[:3, 3].tolist()
    s = [_dot(row, first) for row in rotation]
    far = add(s, [m * x for x in p])
    rows = [[_dot(row, [own[i][k] for i in range(3)]) for k in range(3)] for row in rotation]
    second = [[_dot(rotation[k], rows[i]) for k in range(3)] for i in range(3)]
    # Moved by p: J + s p^T + p (s + m p)^T, symmetric.
    for i in range(3):
        for k in range(i, 3):
            second[i][k] = second[k][i] = second[i][k] + s[i] * p[k] + p[i] * far[k]
    return [*([*second[i], far[i]] for i in range(3)), [*far, m]]


def inertia_of(pseudo: Tensor) -> Tensor:
    """tr(J) 1 - J of a pseudo-inertia: the inertia about the origin."""
    trace = pseudo[0][0] + pseudo[1][1] + pseudo[2][2]
    return [[trace - pseudo[i][k] if i == k else -pseudo[i][k] for k in range(3)] for i in range(3)]


def _dot(row: Sequence[float], v: Sequence[Expression]) -> Expression:
    return row[0] * v[0] + row[1] * v[1] + row[2] * v[2]
