"""How six legs share a wrench, with few operations, written once for any scalar; see ``exact_model``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.spatial import cross_entries
from robot_dynamics.stewart.regrouping import Parameters
from robot_dynamics.stewart.scalar_algebra import Scalar, Vector, add, dot, subtract, transpose


def leg_shares(
    parameters: Parameters, vectors: Sequence[Vector], point: Vector, force: Vector, moment: Vector
) -> list[Scalar]:
    """The multiples of the leg vectors that balance a wrench.

    Args:
        parameters: of the machine; the triangle and the base points are used.
        vectors: the six leg vectors S.
        point: where ``moment`` is counted from.
        force: that the platform exerts on the legs.
        moment: the same about ``point``.
    """
    a, b, c = parameters.triangle
    others = [leg for leg in range(len(vectors)) if leg not in parameters.triangle]
    origin = parameters.legs[a].base_point
    base = [leg.base_point - origin for leg in parameters.legs]
    area = np.cross(base[b], base[c])
    size = float(np.linalg.norm(area))
    normal = area / size
    # The edge opposite a, b and c: its direction, and one of its points.
    edges = [((base[c] - base[b]) / size, base[b]), (-base[c] / size, base[a]), (base[b] / size, base[a])]
    moment = add(moment, cross_entries(subtract(point, origin), force))
    # X = (normal·S)·share of a, b, c by the moment about the opposite edge.
    # The three edges close: what holds about the first follows from the others and from the forces along the
    # normal, which is cheaper where the normal has more zeros than the lever.
    about_b, about_c = (dot(direction, moment) for direction, _ in edges[1:])
    known = [dot(normal, force) - about_b - about_c, about_b, about_c]
    linked = []
    for j in others:
        levers = [np.cross(direction, base[j] - start) for direction, start in edges]
        rest_b, rest_c = dot(levers[1], vectors[j]), dot(levers[2], vectors[j])
        direct = np.count_nonzero(levers[0]) <= np.count_nonzero(normal)
        rest_a = dot(levers[0], vectors[j]) if direct else dot(normal, vectors[j]) - rest_b - rest_c
        linked.append([rest_a, rest_b, rest_c])
    linked = transpose(linked)
    per_height = [1.0 / dot(normal, vectors[leg]) for leg in (a, b, c)]
    # The axis nearest to the normal, and the two forces across it.
    z = int(np.argmax(np.abs(normal)))
    x, y = (z + 1) % 3, (z + 2) % 3

    def column(leg: int, f_x: Scalar, f_y: Scalar) -> list[Scalar]:
        return [f_x, f_y, base[leg][x] * f_y - base[leg][y] * f_x]

    unit = [
        column(leg, vectors[leg][x] * per, vectors[leg][y] * per)
        for leg, per in zip((a, b, c), per_height, strict=True)
    ]
    columns = [column(j, vectors[j][x], vectors[j][y]) for j in others]
    right = [force[x], force[y], moment[z]]
    for u, value, row in zip(unit, known, linked, strict=True):
        columns = [
            [entry - coefficient * u_i for entry, u_i in zip(col, u, strict=True)]
            for col, coefficient in zip(columns, row, strict=True)
        ]
        right = [entry - value * u_i for entry, u_i in zip(right, u, strict=True)]
    solved = _solve3(columns, right)
    shares: list[Scalar] = [None] * len(vectors)
    for j, share in zip(others, solved, strict=True):
        shares[j] = share
    for leg, value, row, per in zip((a, b, c), known, linked, per_height, strict=True):
        shares[leg] = (value - dot(row, solved)) * per
    return shares


def _solve3(columns: Sequence[Vector], right: Vector) -> list[Scalar]:
    """Three unknowns by minors of the first two rows: nothing but the determinant is divided by."""
    u, v, w = columns

    def minor(p: Vector, q: Vector) -> Scalar:
        return p[0] * q[1] - p[1] * q[0]

    uv, uw, vw = minor(u, v), minor(u, w), minor(v, w)
    ur, vr, wr = minor(u, right), minor(v, right), minor(w, right)
    per_determinant = 1.0 / (u[2] * vw - v[2] * uw + w[2] * uv)
    return [
        (right[2] * vw + v[2] * wr - w[2] * vr) * per_determinant,
        (w[2] * ur - u[2] * wr - right[2] * uw) * per_determinant,
        (right[2] * uv + u[2] * vr - v[2] * ur) * per_determinant,
    ]
