"""Jacobians of expressions: every operation, signs and repeated use, against differences of complex steps."""

import cmath

import numpy as np
import pytest
from interpreter import evaluate

from robot_dynamics.codegen.derivatives import jacobian
from robot_dynamics.codegen.expression import ExpressionGraph, cos, sin, sqrt
from robot_dynamics.codegen.program import Argument


def values(x, y, sine=sin, cosine=cos, root=sqrt):
    product = x * y
    return [
        sine(-product) - cosine(x - y) / y,
        -(product * product) + root(2.0 + x * x) / (3.0 - y),
        cosine(-2.0 * x) + 4.0 - sine(y) * sine(y),
        -x,
        1.0 / x + 0.0 * y,
    ]


def test_every_operation():
    graph = ExpressionGraph()
    inputs = graph.input("x", 2)
    rows = jacobian([graph.expression(value) for value in values(*inputs)], inputs)
    flat = [entry for row in rows for entry in row]
    program = graph.build_program("slopes", [(Argument("slopes", len(flat)), flat)])
    point = np.array([0.7, -1.3])
    found = evaluate(program, {"x": point})["slopes"].reshape(-1, 2)
    for j in range(2):
        shifted = point + 1e-20j * np.eye(2)[j]
        slopes = [value.imag / 1e-20 for value in values(*shifted, cmath.sin, cmath.cos, cmath.sqrt)]
        np.testing.assert_allclose(found[:, j], slopes, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    ("build", "by_hand"),
    [
        (lambda x, y, z: x, lambda x, y, z: (1.0, 0.0)),
        (lambda x, y, z: -y, lambda x, y, z: (0.0, -1.0)),
        (lambda x, y, z: x + y, lambda x, y, z: (1.0, 1.0)),
        (lambda x, y, z: x - y, lambda x, y, z: (1.0, -1.0)),
        (lambda x, y, z: y - x, lambda x, y, z: (-1.0, 1.0)),
        (lambda x, y, z: z - y, lambda x, y, z: (0.0, -1.0)),
        (lambda x, y, z: x * y, lambda x, y, z: (y, x)),
        (lambda x, y, z: -x * z, lambda x, y, z: (-z, 0.0)),
        (lambda x, y, z: 3.0 * y - 2.0, lambda x, y, z: (0.0, 3.0)),
        (lambda x, y, z: x * x, lambda x, y, z: (x + x, 0.0)),
        (lambda x, y, z: x / y, lambda x, y, z: (1.0 / y, -((x / y) / y))),
        (lambda x, y, z: x / z, lambda x, y, z: (1.0 / z, 0.0)),
        (lambda x, y, z: z / y, lambda x, y, z: (0.0, -((z / y) / y))),
        (lambda x, y, z: 2.0 / y, lambda x, y, z: (0.0, -((2.0 / y) / y))),
        (lambda x, y, z: sin(x), lambda x, y, z: (cos(x), 0.0)),
        (lambda x, y, z: sin(z), lambda x, y, z: (0.0, 0.0)),
        (lambda x, y, z: cos(y), lambda x, y, z: (0.0, -sin(y))),
        (lambda x, y, z: cos(z) + cos(4.0 * y), lambda x, y, z: (0.0, -(4.0 * sin(4.0 * y)))),
        (lambda x, y, z: sin(x * z), lambda x, y, z: (cos(x * z) * z, 0.0)),
        (lambda x, y, z: sqrt(x), lambda x, y, z: (0.5 / sqrt(x), 0.0)),
        (lambda x, y, z: sqrt(-y), lambda x, y, z: (0.0, -(0.5 / sqrt(-y)))),
        (lambda x, y, z: sqrt(y - x), lambda x, y, z: (-(0.5 / sqrt(y - x)), 0.5 / sqrt(y - x))),
        (lambda x, y, z: sqrt(z), lambda x, y, z: (0.0, 0.0)),
        (lambda x, y, z: (x + z) - (x - z), lambda x, y, z: (0.0, 0.0)),
        (lambda x, y, z: z * z + 1.5, lambda x, y, z: (0.0, 0.0)),
        (lambda x, y, z: z * 0.0 - 1.5, lambda x, y, z: (0.0, 0.0)),
    ],
)
def test_derivatives_by_hand_are_the_same_expressions(build, by_hand):
    graph = ExpressionGraph()
    x, z, y = graph.input("x", 3)
    output = graph.expression(build(x, y, z))
    expected = [graph.expression(value) for value in by_hand(x, y, z)]
    assert jacobian([output], [x, y]) == [expected]
    assert jacobian([-output], [x, y]) == [[-value for value in expected]]
    assert jacobian([output, 2.0 * z, output], [y, x]) == [
        expected[::-1],
        [graph.expression(0.0)] * 2,
        expected[::-1],
    ]


def test_vanishing_derivatives_are_not_computed():
    """Terms that do not depend on an input add no operations."""
    graph = ExpressionGraph()
    x, z = graph.input("x", 2)
    ((slope,),) = jacobian([(x * sin(z) + z * z) / cos(z)], [x])
    assert slope == (1.0 / cos(z)) * sin(z)
    ((slope,),) = jacobian([(x + z) * (x - z) - x * x], [x])
    assert slope == ((x - z) + (x + z)) - (x + x)
    ((none,),) = jacobian([(x - x * z) - (x - x * z) * 1.0], [x])
    assert none.is_zero
