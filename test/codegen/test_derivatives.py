"""Jacobians of expressions: every operation, signs and repeated use, against differences of complex steps."""

import cmath

import numpy as np
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
