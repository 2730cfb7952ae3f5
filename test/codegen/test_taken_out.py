"""Factors taken out, shared pairs: operations that remain are counted by hand, values are exact."""

import operator
from fractions import Fraction
from itertools import chain

import pytest
from interpreter import EXACT, results_of
from picking import pick

from robot_dynamics.codegen.expression import ExpressionGraph, cos, sin, sqrt
from robot_dynamics.codegen.factoring import factored, factored_program
from robot_dynamics.codegen.nodes import ADD, CONSTANT, COS, DIV, INPUT, MUL, PICK, SIN, SQRT, SUB
from robot_dynamics.codegen.program import Argument

SYMBOLS = {
    ADD: operator.add,
    SUB: operator.sub,
    MUL: operator.mul,
    DIV: operator.truediv,
    # Functions of exact numbers: any that differ for any two arguments will do.
    SIN: lambda x: x * x * x + 7 * x + 3,
    COS: lambda x: x * x * x - 5 * x + 11,
    SQRT: lambda x: 2 * x * x * x + 3 * x - 1,
}
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)


def exact(expressions):
    """Values of expressions of inputs that are different primes, as fractions."""
    graph = expressions[0].graph
    known = []
    for number, (kind, a, b) in enumerate(graph.nodes):
        if kind == INPUT:
            value = Fraction(PRIMES[a % 10] + 31 * (a // 10))
        elif kind == CONSTANT:
            value = Fraction(graph.values[number])
        elif kind in (SIN, COS, SQRT):
            value = SYMBOLS[kind](-known[a >> 1] if a & 1 else known[a >> 1])
        elif kind == PICK:
            value = (b + 2) * known[a >> 1]
        else:
            value = SYMBOLS[kind](known[a], known[b])
        known.append(value)
    return [-known[x.literal >> 1] if x.literal & 1 else known[x.literal >> 1] for x in expressions]


@pytest.mark.parametrize(
    ("build", "before", "after"),
    [
        # One factor, of two and three terms, with signs.
        (lambda a, b, c, d, e, f: [a * b + a * c], 3, 2),
        (lambda a, b, c, d, e, f: [a * b - c * a], 3, 2),
        (lambda a, b, c, d, e, f: [-a * b - c * a], 3, 2),
        (lambda a, b, c, d, e, f: [a * b - a * c - d * a], 5, 3),
        (lambda a, b, c, d, e, f: [d + a * b + a * c], 4, 3),
        (lambda a, b, c, d, e, f: [d - a * b - e + a * c], 5, 4),
        (lambda a, b, c, d, e, f: [a * b * c + a * d * e], 5, 4),
        (lambda a, b, c, d, e, f: [a * b * c + d * a], 4, 3),
        (lambda a, b, c, d, e, f: [a * c * b + a * d * b], 5, 3),
        (lambda a, b, c, d, e, f: [a * b + a * a], 3, 2),
        (lambda a, b, c, d, e, f: [(a * b) * a + (c * a) * a], 5, 3),
        (lambda a, b, c, d, e, f: [a * b + c * d], 3, 3),
        (lambda a, b, c, d, e, f: [a * b + a], 2, 2),
        (lambda a, b, c, d, e, f: [2.0 * a + 2.0 * b], 3, 2),
        # Two independent ones.
        (lambda a, b, c, d, e, f: [a * b + a * c + d * e + d * f], 7, 5),
        (lambda a, b, c, d, e, f: [a * b + a * c, d * e - d * f], 6, 4),
        # The factor that most terms share is taken out first, whatever its place among the inputs.
        (lambda a, b, c, d, e, f: [(a * c) * b + (a * d) * b + a * e], 7, 4),
        (lambda a, b, c, d, e, f: [(e * c) * b + (e * d) * b + e * a], 7, 4),
        (lambda a, b, c, d, e, f: [(f * c) * b + (f * d) * b + f * a + e], 8, 5),
        # A product that is needed elsewhere remains.
        (lambda a, b, c, d, e, f: [a * b + a * c, a * b], 3, 3),
        (lambda a, b, c, d, e, f: [a * b + a * c, -(a * b)], 3, 3),
        (lambda a, b, c, d, e, f: [a * b + a * c, sin(a * b)], 3, 3),
        (lambda a, b, c, d, e, f: [a * b + a * c, cos(-(a * c))], 3, 3),
        (lambda a, b, c, d, e, f: [a * b + a * c, sqrt(a * c)], 4, 4),
        (lambda a, b, c, d, e, f: [a * b + a * c, pick(a * c, 3)], 3, 3),
        (lambda a, b, c, d, e, f: [a * b + a * c, (a * b) / d], 4, 4),
        (lambda a, b, c, d, e, f: [a * b + a * c, d / (a * c)], 4, 4),
        (lambda a, b, c, d, e, f: [a * b + a * c, a * b + d], 4, 4),
        (lambda a, b, c, d, e, f: [a * b + a * c + a * d, a * b], 5, 4),
        # The sum goes on into other operations, which hold inner results that are used once.
        (lambda a, b, c, d, e, f: [sin(a * b + a * c), cos(d * e - d * f)], 6, 4),
        (lambda a, b, c, d, e, f: [sqrt(-(a * b) - a * c)], 4, 3),
        (lambda a, b, c, d, e, f: [pick(a * b + a * c, 2) * d], 4, 3),
        (lambda a, b, c, d, e, f: [d / (a * b + a * c)], 4, 3),
        (lambda a, b, c, d, e, f: [(a * b + a * c) / (d - e)], 5, 4),
        (lambda a, b, c, d, e, f: [(a * b + a * c) * d - e], 5, 4),
        (lambda a, b, c, d, e, f: [sin(a) * sin(b) + sin(a) * cos(b)], 3, 2),
        (lambda a, b, c, d, e, f: [(a / b) * c - (a / b) * d], 4, 3),
        # Inner sums that are used once are joined; those used twice, and results, remain.
        (lambda a, b, c, d, e, f: [(a * b + c) + (d + a * e)], 5, 4),
        (lambda a, b, c, d, e, f: [(a * b - c) - (d - a * e)], 5, 4),
        (lambda a, b, c, d, e, f: [-(a * b - c) - (d + a * e)], 5, 4),
        (lambda a, b, c, d, e, f: [a * b + c, (a * b + c) + a * d], 4, 4),
        (lambda a, b, c, d, e, f: [sin(a * b + c), (a * b + c) + a * d], 4, 4),
        (lambda a, b, c, d, e, f: [sin(a * b + c) + a * d + (a * b + c)], 5, 5),
        (lambda a, b, c, d, e, f: [(a * b + c) / d, (a * b + c) + a * e], 5, 5),
        (lambda a, b, c, d, e, f: [(a * b + c) * ((a * b + c) + a * d)], 5, 5),
        (lambda a, b, c, d, e, f: [e * (a * b + c) + e * d + a], 6, 5),
        # Pairs of terms, with a common sign.
        (lambda a, b, c, d, e, f: [(a + c) + b, (a + d) + b], 4, 3),
        (lambda a, b, c, d, e, f: [(a + c) - b, (b + d) - a], 4, 3),
        (lambda a, b, c, d, e, f: [(a + c) - b, (a + d) + b], 4, 4),
        (lambda a, b, c, d, e, f: [(-a + c) - b, (a + d) + b], 4, 3),
        (lambda a, b, c, d, e, f: [c - (d + e), (d + f) + e], 4, 3),
        (lambda a, b, c, d, e, f: [c - (d - e), (d + f) - e], 4, 3),
        (lambda a, b, c, d, e, f: [c - (d - e), (d + f) + e], 4, 4),
        (lambda a, b, c, d, e, f: [b + a, (a + d) + b], 3, 2),
        (lambda a, b, c, d, e, f: [(a + d) + b, b + a], 3, 2),
        (lambda a, b, c, d, e, f: [b - a, (a + d) - b], 3, 2),
        (lambda a, b, c, d, e, f: [(a + c) + b, (a + d) + b, (a + e) + b], 6, 4),
        (lambda a, b, c, d, e, f: [(a + c) + b, (d - a) - b, (a + e) + b], 6, 4),
        (lambda a, b, c, d, e, f: [(a + b) + c, ((c + d) + a) + b], 5, 3),
        (lambda a, b, c, d, e, f: [(a + b) + a, (a + c) + a], 4, 3),
        (lambda a, b, c, d, e, f: [(a + b) + a, (a + c) + d], 4, 4),
        (lambda a, b, c, d, e, f: [(a + b) - a, c + d], 3, 1),
        (lambda a, b, c, d, e, f: [sin((a + c) + b), cos((a + d) + b)], 4, 3),
        (lambda a, b, c, d, e, f: [(a * c + d) + b, (a * c + e) + b], 5, 4),
        # The pair of most sums first: then (b + c) is known, and a with it.
        (lambda a, b, c, d, e, f: [(a + b) + c, ((d + c) + a) + b, (e + b) + c], 7, 4),
        (lambda a, b, c, d, e, f: [(c + b) + a, ((d + a) + c) + b, (e + b) + a], 7, 4),
        # Pairs of factors.
        (lambda a, b, c, d, e, f: [(a * c) * b, (a * d) * b], 4, 3),
        (lambda a, b, c, d, e, f: [-(a * c) * b, (a * d) * b], 4, 3),
        (lambda a, b, c, d, e, f: [b * a, (a * d) * b], 3, 2),
        (lambda a, b, c, d, e, f: [(a * d) * b, b * a], 3, 2),
        (lambda a, b, c, d, e, f: [(a * c) * b, (a * d) * b, (a * e) * b], 6, 4),
        (lambda a, b, c, d, e, f: [(a * b) * c, ((c * d) * a) * b], 5, 3),
        (lambda a, b, c, d, e, f: [(a * b) * a, (a * c) * a], 4, 3),
        (lambda a, b, c, d, e, f: [(a * b) * a, (a * c) * d], 4, 4),
        (lambda a, b, c, d, e, f: [(a * b) * c, ((d * c) * a) * b, (e * b) * c], 7, 4),
        (lambda a, b, c, d, e, f: [(c * b) * a, ((d * a) * c) * b, (e * b) * a], 7, 4),
        (lambda a, b, c, d, e, f: [(a * c) * b + d, (a * e) * b - f], 6, 5),
        (lambda a, b, c, d, e, f: [sin((a * c) * b), 1.0 / ((a * d) * b)], 5, 4),
        (lambda a, b, c, d, e, f: [a * b, (a * b) * c, ((a * b) * c) * d], 3, 3),
        # First factors, then pairs among the brackets, then again.
        (lambda a, b, c, d, e, f: [a * b + a * c, d * b + d * c], 6, 3),
        (lambda a, b, c, d, e, f: [a * b + a * c + e, d * c + d * b - f], 8, 5),
        (lambda a, b, c, d, e, f: [a * b - a * c, d * c - d * b], 6, 3),
        (lambda a, b, c, d, e, f: [a * b + a * c + a * e, d * b + d * c - d * f], 10, 5),
        (lambda a, b, c, d, e, f: [((a * d) * b) * c + ((a * e) * b) * c], 7, 4),
        # Nothing but inputs and constants.
        (lambda a, b, c, d, e, f: [a, -b, a * 0.0, 2.0 + 0.0 * a, -3.5 - 0.0 * a], 0, 0),
        (lambda a, b, c, d, e, f: [a * b + c, a * b + c], 2, 2),
    ],
)  # fmt: skip
def test_operations_that_remain(build, before, after):
    graph = ExpressionGraph()
    graph.expression(-3.5)
    values = build(*graph.input("x", 4, "first"), *graph.input("y", 2, "second"))
    assert graph.count(values).total == before
    rebuilt, found = factored(graph, values)
    assert rebuilt is not graph and rebuilt.inputs == graph.inputs
    assert exact(found) == exact(values)
    assert rebuilt.count(found).total == after


@pytest.mark.parametrize(("terms", "saved"), [(59, 1), (60, 1), (61, 0), (62, 0)])
@pytest.mark.parametrize("join", [lambda x, y: x + y, lambda x, y: x * y])
def test_pairs_are_sought_in_chains_of_at_most_sixty(terms, saved, join):
    graph = ExpressionGraph()
    inputs = graph.input("x", 2 + 2 * (terms - 2))
    values = []
    for own in (inputs[2:terms], inputs[terms:]):
        total = inputs[0]
        for one in chain(own, inputs[1:2]):
            total = join(total, one)
        values.append(total)
    rebuilt, found = factored(graph, values)
    assert rebuilt.count(found).total == 2 * (terms - 1) - saved == graph.count(values).total - saved


def test_a_program_of_several_outputs_has_them_in_their_order():
    graph = ExpressionGraph()
    a, b, c, d = graph.input("x", 4)
    outputs = [
        (Argument("u", 2, "first"), [a * b + a * c, -d]),
        (Argument("none", 0), []),
        (Argument("v", 3, "second"), [c - d, c * d - d * b, 2.0 + 0.0 * a]),
    ]
    program = factored_program(graph, "f", outputs)
    expected = ExpressionGraph()
    a, b, c, d = expected.input("x", 4)
    by_hand = [a * (b + c), -d, c - d, d * (c - b), expected.expression(2.0)]
    assert program.name == "f" and program.inputs == (Argument("x", 4),)
    assert program.outputs == tuple(argument for argument, _ in outputs)
    plain = expected.build_program("f", [(Argument("all", 5), by_hand)])
    assert len(program.instructions) == len(plain.instructions) == 6
    values = [Fraction(p) for p in PRIMES[:4]]
    found, expected = (results_of(one, values, EXACT, Fraction) for one in (program, plain))
    assert found == expected == exact(by_hand)


def test_a_program_that_gains_nothing_keeps_its_grouping():
    graph = ExpressionGraph()
    a, b, c = graph.input("x", 3)
    for value in (a + (b + c), a * (b * c), (a - b) / (c - a)):
        outputs = [(Argument("u", 1), [value])]
        assert factored_program(graph, "f", outputs) == graph.build_program("f", outputs)


def test_the_same_graph_is_factored_alike():
    def made():
        graph = ExpressionGraph()
        a, b, c, d = graph.input("x", 4)
        values = [a * b + a * c - d * c + d * b, (a + c) - b, (d - a) + b, a * b * c, d * c * a]
        return factored_program(graph, "f", [(Argument("u", 5), values)])

    assert made() == made()
