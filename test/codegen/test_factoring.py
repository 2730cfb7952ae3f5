"""Factoring keeps the values and finds the textbook savings."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from interpreter import EXACT, evaluate, results_of

from robot_dynamics.codegen.expression import ExpressionGraph, sin
from robot_dynamics.codegen.factoring import factored_program
from robot_dynamics.codegen.program import Argument, count_operations


def programs(build, size):
    """The plain and the factored program of ``build``."""
    graph = ExpressionGraph()
    values = build(*graph.input("x", size))
    outputs = [(Argument("y", len(values)), values)]
    return graph.build_program("f", outputs), factored_program(graph, "f", outputs)


def assert_same(plain, factored, size, seed=0):
    state = np.random.default_rng(seed).uniform(-1.5, 1.5, (5, size))
    expected = evaluate(plain, {"x": state})["y"]
    scale = max(np.abs(expected).max(), 1.0)
    np.testing.assert_allclose(evaluate(factored, {"x": state})["y"], expected, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize(
    ("build", "total"),
    [
        (lambda a, b, c, d: [a * b + a * c], 2),
        (lambda a, b, c, d: [a * b - a * c - d * a], 3),
        (lambda a, b, c, d: [a * b * c + a * b * d], 3),
        (lambda a, b, c, d: [a + b + c, (a + b) * d + c * (b + a)], 4),
        (lambda a, b, c, d: [a - b + c, b - d - a], 3),
        (lambda a, b, c, d: [a * b * c, d * a * b], 3),
        (lambda a, b, c, d: [a * b + c, a * b + d], 3),
        (lambda a, b, c, d: [sin(a * b + a * c), a * b + d], 4),
    ],
)
def test_savings(build, total):
    plain, factored = programs(build, 4)
    assert count_operations(factored).total == total <= count_operations(plain).total
    assert_same(plain, factored, 4)


def test_a_product_that_becomes_a_shared_one_while_factors_are_taken_out():
    """The product p = a b c is needed by others, and q = p d stands beside it in two sums."""

    def build(a, b, c, d, e, f, x, u, y, v):
        p, again, q = (a * b) * c, a * (b * c), ((a * d) * b) * c
        return [p * e, p + f, x * (again * u) + (q * x) * u, y * (again * v) + (q * y) * v]

    plain, factored = programs(build, 10)
    assert count_operations(factored).total == 3 + 3 + 4
    assert_same(plain, factored, 10)


def random_polynomials(generator, inputs):
    """Sums of products, some nested, with shared parts, signs, constants and quotients."""
    pool = list(inputs)
    for _ in range(25):
        total = generator.choice(pool) * generator.choice([1.0, -2.0, 0.5])
        for _ in range(generator.randrange(1, 5)):
            term = generator.choice(pool)
            for _ in range(generator.randrange(3)):
                term = term * generator.choice(pool)
            total = total + term if generator.random() < 0.5 else total - term
        divide = generator.random() < 0.1 and total.constant is None
        pool.append(inputs[0] / total if divide else total)
    return [*pool[-6:], -pool[-1]]


PRIME = 2**61 - 1


@dataclass(frozen=True)
class Residue:
    """A number modulo PRIME."""

    value: int

    def __add__(self, other):
        return Residue((self.value + other.value) % PRIME)

    def __sub__(self, other):
        return Residue((self.value - other.value) % PRIME)

    def __mul__(self, other):
        return Residue(self.value * other.value % PRIME)

    def __truediv__(self, other):
        return Residue(self.value * pow(other.value, -1, PRIME) % PRIME)

    def __neg__(self):
        return Residue(-self.value % PRIME)


def residue(constant):
    numerator, denominator = constant.as_integer_ratio()
    return Residue(numerator * pow(denominator, -1, PRIME) % PRIME)


@pytest.mark.parametrize("seed", range(80))
def test_random_polynomials(seed):
    generator = random.Random(seed)
    plain, factored = programs(lambda *inputs: random_polynomials(generator, inputs), 4)
    assert count_operations(factored).total <= count_operations(plain).total
    # Residues modulo a prime are exact, so that no rounding hides or feigns a difference, and small.
    # A zero divisor is as unlikely as can be.
    state = [Residue(generator.randrange(1, PRIME)) for _ in range(4)]
    found, expected = (results_of(one, state, EXACT, residue) for one in (factored, plain))
    assert found == expected


def test_nothing_to_gain():
    plain, factored = programs(lambda a, b: [a + b, a * b, a, 2.0 + 0.0 * b], 2)
    assert factored == plain
