"""Interface of the numbers that a formulation computes with.

A formulation uses ``+``, ``-``, ``*`` and the sign on its scalars, in NumPy arrays (of dtype object where the
scalars are not floats), and leaves everything else to a `ScalarField`. With `FLOATS` it computes, with
`robot_dynamics.papers.counts.scalars.OperationCounter` it is counted, with `SYMBOLS` it writes a program.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.codegen import expression
from robot_dynamics.spatial import cross_entries

Scalar: TypeAlias = Any
Vector: TypeAlias = NDArray[Any]
Matrix: TypeAlias = NDArray[Any]


class ScalarField(Protocol):
    """The few things that differ between kinds of scalars.

    A plain Python number in a formula is *structure* (the zeros of a unit vector); what comes from the robot
    goes through `parameters`, so that a count for a general arm keeps the robot's accidental zeros.
    """

    def sin(self, angle: Scalar) -> Scalar:
        """Sine of an angle [rad]."""

    def cos(self, angle: Scalar) -> Scalar:
        """Cosine of an angle [rad]."""

    def parameters(self, values: ArrayLike, *, structural_zeros: bool = False) -> Vector:
        """Constants of the robot as an array of scalars.

        With ``structural_zeros``, zeros among them belong to the structure that a formulation relies on.
        """

    def as_variables(self, values: Vector) -> Vector:
        """``values``, to be counted as if each of them changed in every call."""

    def step(self, name: str, link: int) -> None:
        """Begin the step ``name`` of a published table, for link ``link`` (1..n)."""


class FloatField:
    """Plain floating-point numbers."""

    def sin(self, angle: Scalar) -> Scalar:
        """Sine of an angle [rad]."""
        return math.sin(angle)

    def cos(self, angle: Scalar) -> Scalar:
        """Cosine of an angle [rad]."""
        return math.cos(angle)

    def parameters(self, values: ArrayLike, *, structural_zeros: bool = False) -> Vector:
        """The values themselves."""
        return np.asarray(values, dtype=float)

    def as_variables(self, values: Vector) -> Vector:
        """The values themselves."""
        return values

    def step(self, name: str, link: int) -> None:
        """Nothing: floats keep no account."""


class SymbolField(FloatField):
    """Scalars of an expression graph; the robot's parameters are numbers and fold away."""

    def sin(self, angle: Scalar) -> Scalar:
        """Sine of an angle [rad]."""
        return expression.sin(angle)

    def cos(self, angle: Scalar) -> Scalar:
        """Cosine of an angle [rad]."""
        return expression.cos(angle)


FLOATS = FloatField()
SYMBOLS = SymbolField()


def cross(a: Vector, b: Vector) -> Vector:
    """Cross product of two 3-vectors."""
    return np.array(cross_entries(a, b))


def axial(m: Matrix) -> Vector:
    """(m_32 - m_23, m_13 - m_31, m_21 - m_12) of a 3x3 matrix."""
    return np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
