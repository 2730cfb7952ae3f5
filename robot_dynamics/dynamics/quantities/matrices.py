"""Common parts of the quantities that are matrices over the joints."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.inputs import Request, Sizes
from robot_dynamics.dynamics.generator.recursion import RecursionState
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.generator.sensitivity import Matrix, Sensitivity, WayBack


def square(sizes: Sizes) -> tuple[int, int]:
    """The shape of a matrix over the joints."""
    return sizes.joints, sizes.joints


def flat(matrix: Matrix) -> list[Expression]:
    """The entries row by row."""
    return [entry for row in matrix for entry in row]


def product(left: Matrix, right: Matrix) -> Matrix:
    """The product of two matrices."""
    columns = list(zip(*right, strict=True))
    return [
        [
            sum((x * y for x, y in zip(row[1:], column[1:], strict=True)), row[0] * column[0])
            for column in columns
        ]
        for row in left
    ]


def composed_angles(request: Request) -> bool:
    """True where sines and cosines of sums of joint angles may be had from those of the angles."""
    return request.objective is not Objective.OPERATIONS


def way_back(request: Request, state: RecursionState) -> WayBack:
    """Way back to the base, from which the derivatives at ``state`` follow."""
    return WayBack(request.links, state, composed=composed_angles(request))


def velocities(found: Sensitivity, slopes: Sequence[Expression]) -> Matrix:
    """The derivatives by the velocities, with the ``slopes`` of friction."""
    matrix = found.velocities
    for i, slope in enumerate(slopes):
        matrix[i][i] = matrix[i][i] + slope
    return matrix
