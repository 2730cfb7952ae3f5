"""Nodes that operations make: kinds, operands, signs outside of them, constants folded, by hand."""

import math
import re

import pytest
from picking import pick

from robot_dynamics.codegen.expression import ExpressionGraph, cos, sin, sqrt
from robot_dynamics.codegen.nodes import ADD, CONSTANT, COS, DIV, INPUT, MUL, PICK, SIN, SQRT, SUB
from robot_dynamics.codegen.program import Argument, OperationCount
from robot_dynamics.errors import BackendError

X, Y = 2, 3
"""Nodes of the inputs: those before are zero and one."""


@pytest.fixture
def graph():
    return ExpressionGraph()


@pytest.fixture
def pair(graph):
    return graph.input("x", 2, "lengths [m]")


def node(expression):
    """The node of an expression and its sign."""
    return expression.graph.nodes[expression.literal >> 1], expression.literal & 1


@pytest.mark.parametrize(
    ("build", "expected", "sign"),
    [
        (lambda x, y: x + y, (ADD, X, Y), 0),
        (lambda x, y: y + x, (ADD, X, Y), 0),
        (lambda x, y: -x - y, (ADD, X, Y), 1),
        (lambda x, y: -y - x, (ADD, X, Y), 1),
        (lambda x, y: x - y, (SUB, X, Y), 0),
        (lambda x, y: -y + x, (SUB, X, Y), 0),
        (lambda x, y: y - x, (SUB, X, Y), 1),
        (lambda x, y: -x + y, (SUB, X, Y), 1),
        (lambda x, y: x * y, (MUL, X, Y), 0),
        (lambda x, y: y * x, (MUL, X, Y), 0),
        (lambda x, y: -y * x, (MUL, X, Y), 1),
        (lambda x, y: y * -x, (MUL, X, Y), 1),
        (lambda x, y: -x * -y, (MUL, X, Y), 0),
        (lambda x, y: x * x, (MUL, X, X), 0),
        (lambda x, y: x * -x, (MUL, X, X), 1),
        (lambda x, y: x / y, (DIV, X, Y), 0),
        (lambda x, y: y / x, (DIV, Y, X), 0),
        (lambda x, y: -y / x, (DIV, Y, X), 1),
        (lambda x, y: y / -x, (DIV, Y, X), 1),
        (lambda x, y: -x / -y, (DIV, X, Y), 0),
        (lambda x, y: sin(y), (SIN, 2 * Y, 0), 0),
        (lambda x, y: sin(-y), (SIN, 2 * Y, 0), 1),
        (lambda x, y: -cos(y), (COS, 2 * Y, 0), 1),
        (lambda x, y: cos(-y), (COS, 2 * Y, 0), 0),
        (lambda x, y: sqrt(y), (SQRT, 2 * Y, 0), 0),
        (lambda x, y: sqrt(-y), (SQRT, 2 * Y + 1, 0), 0),
        (lambda x, y: pick(y, 5), (PICK, 2 * Y, 5), 0),
        (lambda x, y: pick(-y, 3), (PICK, 2 * Y, 3), 1),
        (lambda x, y: 3.0 * y, (MUL, 4, Y), 0),
        (lambda x, y: y * -3.0, (MUL, 4, Y), 1),
        (lambda x, y: -y * -3, (MUL, 4, Y), 0),
        (lambda x, y: y + 3.0, (ADD, Y, 4), 0),
        (lambda x, y: 3.0 - y, (SUB, Y, 4), 1),
        (lambda x, y: y - 3.0, (SUB, Y, 4), 0),
        (lambda x, y: -3.0 - y, (ADD, Y, 4), 1),
        (lambda x, y: 3.0 / y, (DIV, 4, Y), 0),
        (lambda x, y: -3.0 / y, (DIV, 4, Y), 1),
        (lambda x, y: x + x, (MUL, 4, X), 0),
        (lambda x, y: -y - y, (MUL, 4, Y), 1),
    ],
)
def test_an_operation_is_one_node_and_its_sign(graph, pair, build, expected, sign):
    before = len(graph.nodes)
    made = build(*pair)
    constants = sum(kind == CONSTANT for kind, *_ in graph.nodes)
    assert node(made) == (expected, sign)
    assert len(graph.nodes) == before + 1 + (constants - 2)
    again = build(*pair)
    assert again == made and len(graph.nodes) == before + 1 + (constants - 2)


def test_a_quotient_by_a_constant_is_a_product(graph, pair):
    x, _ = pair
    assert x / 4.0 == 0.25 * x and x / -8.0 == -(0.125 * x) and -x / -8.0 == 0.125 * x


def test_the_nodes_that_a_graph_begins_with(graph, pair):
    graph.input("z", 1)
    assert graph.nodes == [
        (CONSTANT, 0, 0),
        (CONSTANT, 1, 0),
        (INPUT, 0, 0),
        (INPUT, 1, 0),
        (INPUT, 2, 0),
    ]
    assert (graph.zero, graph.one) == (0, 2)
    assert graph.values == {0: 0.0, 1: 1.0}
    assert graph.inputs == [Argument("x", 2, "lengths [m]"), Argument("z", 1, "")]
    assert [scalar.literal for scalar in graph.input_scalars] == [4, 6, 8]
    assert graph.input_scalars[:2] == pair
    assert isinstance(graph.input_scalars, tuple) and isinstance(pair, tuple)


def test_constants_of_both_signs_are_one_node(graph):
    positive, negative = graph.constant(3.5), graph.constant(-3.5)
    assert (positive, negative) == (4, 5)
    assert graph.nodes[2] == (CONSTANT, 2, 0) and graph.values[2] == 3.5
    assert graph.constant(0.25) == 6 and graph.nodes[3] == (CONSTANT, 3, 0)
    assert graph.constant_value(positive) == 3.5 and graph.constant_value(negative) == -3.5
    assert graph.constant(0.0) == graph.constant(-0.0) == graph.zero
    assert graph.constant(-1.0) == 3
    assert graph.literal(3.5) == 4 and graph.literal(-1) == 3
    assert graph.expression(-3.5).literal == 5
    (x,) = graph.input("x", 1)
    assert graph.constant_value(x.literal) is None and graph.constant_value((-x).literal) is None
    assert graph.expression(-x).literal == (-x).literal


@pytest.mark.parametrize(
    ("build", "value"),
    [
        (lambda c: c(2.0) + c(5.0), 7.0),
        (lambda c: c(2.0) - c(5.0), -3.0),
        (lambda c: c(-2.0) + c(5.0), 3.0),
        (lambda c: c(-2.0) - c(5.0), -7.0),
        (lambda c: c(2.0) - c(2.0), 0.0),
        (lambda c: c(2.0) * c(5.0), 10.0),
        (lambda c: c(-2.0) * c(5.0), -10.0),
        (lambda c: c(-2.0) * c(-5.0), 10.0),
        (lambda c: c(-3.0) * c(3.0), -9.0),
        (lambda c: c(0.5) * c(0.5), 0.25),
        (lambda c: c(3.0) + c(3.0), 6.0),
        (lambda c: c(1e-200) * c(-1e-200), 0.0),
        (lambda c: c(3.0) / c(-4.0), -0.75),
        (lambda c: c(0.0) / c(-4.0), 0.0),
        (lambda c: 3.0 / c(8.0), 0.375),
        (lambda c: sin(c(-0.5)), math.sin(-0.5)),
        (lambda c: cos(c(-2.5)), math.cos(2.5)),
        (lambda c: sqrt(c(0.25)), 0.5),
        (lambda c: sqrt(c(6.25)), 2.5),
        (lambda c: sqrt(c(0.0)), 0.0),
        (lambda c: -c(3.0), -3.0),
        (lambda c: -c(0.0), 0.0),
    ],
)
def test_constants_are_folded(graph, build, value):
    made = build(graph.expression)
    assert made.constant == value and made == value and made.is_zero == (value == 0.0)
    assert math.copysign(1.0, made.constant) == math.copysign(1.0, value)
    assert {kind for kind, *_ in graph.nodes} == {CONSTANT}


def test_zeros_and_ones_disappear_with_their_signs(graph, pair):
    x, y = pair
    assert (0.0 / x).is_zero and (0.0 / -y).is_zero and (-x * 0.0).is_zero
    assert (-(0.0 * x)).is_zero and sin(x * 0.0).is_zero and cos(0.0 * x) == 1.0
    assert 0.0 - x == -x and x - 0.0 == x and x + 0.0 == x and 0.0 + -y == -y
    assert -1.0 * -x == x and x * -1 == -x and x / -1.0 == -x
    assert 1.0 * x == x and -1.0 * x == -x and x / 1.0 == x
    assert x / x == 1.0 and x / -x == -1.0 and -x / -x == 1.0 and -y / y == -1.0
    assert len(graph.nodes) == 4
    assert x + x == 2.0 * x and -y - y == -2.0 * y and y * y - -(y * y) == 2.0 * (y * y)
    assert (-x + x).is_zero and (y - y).literal == graph.zero


def test_constant_factors_are_collected_in_products_alone(graph):
    c = graph.expression(3.0)  # before the inputs, so that it is the first operand of sums too
    x, y = graph.input("x", 2)
    assert 2.0 * (3.0 * x) == 6.0 * x
    assert -2.0 * (3.0 * x) == -(6.0 * x) and 2.0 * (-3.0 * x) == -6.0 * x and -2.0 * (x * -3.0) == 6.0 * x
    assert (2.0 * x) / -4.0 == -0.5 * x
    assert 0.5 * (2.0 * -x) == -x
    assert 2.0 * (x * y * 3.0) == 6.0 * (x * y)
    for inner in (c / x, c + x, c - x, x * y, x / y, sin(x)):
        twice = 2.0 * inner
        kind, first, second = graph.nodes[twice.literal >> 1]
        assert (kind, graph.values[first], second) == (MUL, 2.0, inner.literal >> 1)
    assert (1e-200 * (1e-200 * x)).is_zero and (-1e-200 * (1e-200 * x)).is_zero


def test_lanes_of_constants_are_those_constants(graph, pair):
    assert graph.pick(graph.constant(-2.5), 3) == graph.constant(-2.5)
    assert graph.pick(graph.zero, 1) == graph.zero
    x, y = pair
    assert len({graph.pick(x.literal, 0), graph.pick(x.literal, 1), graph.pick(y.literal, 1)}) == 3


def test_operations_are_counted_without_those_that_are_not_needed(graph, pair):
    x, y = pair
    _ = x * y + 3.0
    a = sin(x + y) * cos(x - y) * sin(x)
    b = sqrt(x * x) / (x - y) + 1.0 / sqrt(y)
    assert graph.count([a]) == OperationCount(2, 2, 0, 0, 3)
    assert graph.count([b, b]) == OperationCount(1, 2, 2, 2, 0)
    both = graph.count([a, b])
    assert both == OperationCount(3, 3, 2, 2, 3) and both.total == 10
    assert graph.count([x, 2.0, -y]) == OperationCount(0, 0)


@pytest.mark.parametrize(
    ("misuse", "said"),
    [
        (lambda g, x: x / 0.0, "division by the constant zero"),
        (lambda g, x: 0.0 / g.expression(0.0), "division by the constant zero"),
        (lambda g, x: sqrt(g.expression(-0.25)), "square root of the negative constant -0.25"),
        (lambda g, x: x + math.inf, "the constant inf is not finite"),
        (lambda g, x: g.input("x", 3), "the input 'x' is declared twice; give each input its own name"),
        (
            lambda g, x: g.literal(ExpressionGraph().expression(1.0)),
            "an expression of another graph was used; build all from one graph",
        ),
        (
            lambda g, x: g.build_program("f", [(Argument("u", 1), [x]), (Argument("v", 3), [x, -x])]),
            "output 'v' has size 3, 2 given",
        ),
        (
            lambda g, x: g.build_program("f", [(Argument("u", 1), [x, x])]),
            "output 'u' has size 1, 2 given",
        ),
    ],
)
def test_misuse_names_what_is_wrong(graph, pair, misuse, said):
    with pytest.raises(BackendError, match=f"^{re.escape(said)}$"):
        misuse(graph, pair[0])


def test_expressions_as_values(graph, pair):
    x, y = pair
    assert repr(x) == "Expression(#2)" and repr(-y) == "Expression(-#3)"
    assert repr(graph.expression(-3.5)) == "-3.5"
    assert x.constant is None and not x.is_zero and not (-x).is_zero
    assert +x is x and -(-1.0 * x) == x
    assert x != -x and x != y and x != 2.0 and x != 2
    assert graph.expression(2.0) == 2 and graph.expression(-2.0) != 2 and graph.expression(2.0) == 2.0
    assert x.__eq__("x") is NotImplemented and x != "x"
    (other,) = ExpressionGraph().input("x", 1)
    assert other.literal == x.literal and other != x
    assert len({x, y, x + 0.0, -x, other}) == 4
    assert hash(x + y) == hash(y + x) and hash(x) != hash(y)


class Angle:
    """A scalar with functions of its own."""

    def sin(self):
        return "sine"

    def cos(self):
        return "cosine"

    def sqrt(self):
        return "root"


def test_functions_of_numbers_and_of_other_scalars():
    assert (sin(2), cos(2), sqrt(2)) == (math.sin(2), math.cos(2), math.sqrt(2))
    assert (sin(0.3), cos(0.3), sqrt(0.3)) == (math.sin(0.3), math.cos(0.3), math.sqrt(0.3))
    assert (sin(Angle()), cos(Angle()), sqrt(Angle())) == ("sine", "cosine", "root")
