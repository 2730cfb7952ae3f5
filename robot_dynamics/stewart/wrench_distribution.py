"""Distribution of a wrench to six legs with few operations, for any scalar; see ``exact_model``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.spatial import Array, cross_entries
from robot_dynamics.stewart.regrouping import Parameters
from robot_dynamics.stewart.scalar_algebra import Scalar, Vector, add, dot, subtract, transpose


@dataclass(frozen=True)
class _Triangle:
    """Base points a, b, c, and the six base points seen from a.

    Attributes:
        legs: a, b and c.
        base: (3,) of every leg.
        normal: unit vector.
        edges: opposite a, b and c: direction, per twice the area, and one of its points.
    """

    legs: tuple[int, int, int]
    base: list[Array]
    normal: Array
    edges: list[tuple[Array, Array]]

    @staticmethod
    def of(parameters: Parameters) -> _Triangle:
        a, b, c = parameters.triangle
        base = [leg.base_point - parameters.legs[a].base_point for leg in parameters.legs]
        area = np.cross(base[b], base[c])
        size = float(np.linalg.norm(area))
        edges = [
            ((base[c] - base[b]) / size, base[b]),
            (-base[c] / size, base[a]),
            (base[b] / size, base[a]),
        ]
        return _Triangle((a, b, c), base, area / size, edges)

    def moments_of(self, leg: int, vector: Vector) -> list[Scalar]:
        """Moments of a leg's force ``vector`` about the three edges.

        They close: what holds about the first follows from the others and from the force along the normal,
        which is cheaper where the normal has more zeros than the lever.
        """
        levers = [np.cross(direction, self.base[leg] - start) for direction, start in self.edges]
        about_b, about_c = dot(levers[1], vector), dot(levers[2], vector)
        direct = np.count_nonzero(levers[0]) <= np.count_nonzero(self.normal)
        about_a = dot(levers[0], vector) if direct else dot(self.normal, vector) - about_b - about_c
        return [about_a, about_b, about_c]


def wrench_distribution(
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
    triangle = _Triangle.of(parameters)
    origin = parameters.legs[triangle.legs[0]].base_point
    others = [leg for leg in range(len(vectors)) if leg not in triangle.legs]
    moment = add(moment, cross_entries(subtract(point, origin), force))
    # X = (normal·S)·share of a, b, c by the moment about the opposite edge.
    about_b, about_c = (dot(direction, moment) for direction, _ in triangle.edges[1:])
    known = [dot(triangle.normal, force) - about_b - about_c, about_b, about_c]
    linked = transpose([triangle.moments_of(leg, vectors[leg]) for leg in others])
    per_height = [1.0 / dot(triangle.normal, vectors[leg]) for leg in triangle.legs]
    solved = _solve3(*_remaining(triangle, vectors, per_height, known, linked, force, moment))
    shares: list[Scalar] = [None] * len(vectors)
    for j, share in zip(others, solved, strict=True):
        shares[j] = share
    for leg, value, row, per in zip(triangle.legs, known, linked, per_height, strict=True):
        shares[leg] = (value - dot(row, solved)) * per
    return shares


def _remaining(
    triangle: _Triangle,
    vectors: Sequence[Vector],
    per_height: Sequence[Scalar],
    known: Sequence[Scalar],
    linked: Sequence[Vector],
    force: Vector,
    moment: Vector,
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Columns and right side of the three equations that the moments about the edges leave.

    They are the forces across the axis nearest to the normal and the moment about it, from which the legs of
    the triangle have been eliminated.
    """
    z = int(np.argmax(np.abs(triangle.normal)))
    x, y = (z + 1) % 3, (z + 2) % 3

    def column(leg: int, f_x: Scalar, f_y: Scalar) -> list[Scalar]:
        return [f_x, f_y, triangle.base[leg][x] * f_y - triangle.base[leg][y] * f_x]

    unit = [
        column(leg, vectors[leg][x] * per, vectors[leg][y] * per)
        for leg, per in zip(triangle.legs, per_height, strict=True)
    ]
    others = [leg for leg in range(len(vectors)) if leg not in triangle.legs]
    columns = [column(j, vectors[j][x], vectors[j][y]) for j in others]
    right = [force[x], force[y], moment[z]]
    for u, value, row in zip(unit, known, linked, strict=True):
        columns = [
            [entry - coefficient * u_i for entry, u_i in zip(col, u, strict=True)]
            for col, coefficient in zip(columns, row, strict=True)
        ]
        right = [entry - value * u_i for entry, u_i in zip(right, u, strict=True)]
    return columns, right


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
