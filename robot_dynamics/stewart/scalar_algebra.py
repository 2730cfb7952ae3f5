"""Vectors (3,) and matrices (3, 3) of any scalars: numbers, arrays of numbers, or expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from robot_dynamics.spatial import Array

Scalar: TypeAlias = Any
Vector: TypeAlias = Sequence[Any] | Array
Matrix: TypeAlias = Sequence[Sequence[Any]] | Array


def dot(a: Vector, b: Vector) -> Scalar:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def add(a: Vector, b: Vector) -> list[Scalar]:
    """Sum."""
    return [x + y for x, y in zip(a, b, strict=True)]


def subtract(a: Vector, b: Vector) -> list[Scalar]:
    """Difference a - b."""
    return [x - y for x, y in zip(a, b, strict=True)]


def times(matrix: Matrix, vector: Vector) -> list[Scalar]:
    """Matrix times vector."""
    return [dot(row, vector) for row in matrix]


def product(a: Matrix, b: Matrix) -> list[list[Scalar]]:
    """Matrix product."""
    columns = transpose(b)
    return [times(columns, row) for row in a]


def transpose(matrix: Matrix) -> list[list[Scalar]]:
    """Rows for columns."""
    return [list(row) for row in zip(*matrix, strict=True)]


def flat(matrix: Matrix) -> list[Scalar]:
    """The entries row by row."""
    return [x for row in matrix for x in row]
