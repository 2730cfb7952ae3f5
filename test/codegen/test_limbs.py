"""Alike limbs as lanes: the values of scalars, and one operation for all limbs, counted by hand."""

import random
from itertools import product

import numpy as np
import pytest
from interpreter import lane_results, results_of

from robot_dynamics.codegen.expression import ExpressionGraph, cos, sin, sqrt
from robot_dynamics.codegen.limbs import WORTHWHILE, limbs_program
from robot_dynamics.codegen.program import Argument, Operation, VectorInput

SIZE = 3
"""Inputs of a limb."""


def made_of(build, limbs, paired=1):
    """The programs of scalars and with lanes; ``build`` takes shared inputs and those of every limb."""
    graph = ExpressionGraph()
    graph.expression(2.0)
    shared = graph.input("s", 2)
    every = [graph.input(f"limb{k}", SIZE) for k in range(limbs)]
    values = [graph.expression(value) for value in build(shared, every)]
    cut = len(values) // 2
    outputs = [(Argument("u", cut), values[:cut]), (Argument("w", len(values) - cut), values[cut:])]
    whole = graph.build_program("f", outputs)
    numbers = [range(2 + SIZE * k, 2 + SIZE * (k + 1)) for k in range(limbs)]
    groups = [numbers[k::paired] for k in range(paired)]
    made = limbs_program(graph, "f", outputs, groups, whole)
    if made is not None:
        assert made.program.inputs[: len(whole.inputs)] == whole.inputs
        assert len(made.program.inputs) == len(whole.inputs) + len(made.vectors)
        assert all(argument.size == 1 for argument in made.program.inputs[len(whole.inputs) :])
        assert made.program.outputs == whole.outputs and made.program.name == "f"
        given = np.random.default_rng(3).uniform(0.3, 1.4, whole.input_size)
        expected = np.array(results_of(whole, given))
        found = lane_results(made, given)
        assert np.abs(found - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())
    return whole, made


def counted(program):
    """Operations of a program, those that pick a lane apart, without changes of sign."""
    operations = [instruction.operation for instruction in program.instructions]
    picks = operations.count(Operation.PICK)
    return len(operations) - picks - operations.count(Operation.NEG), picks


def chain_of(s, q):
    """Eight operations of a limb: two with its inputs alone, six with what all share."""
    return (sin(q[0]) * q[1] + s[0]) * q[2] + cos(q[0]) * (s[1] - q[1])


@pytest.mark.parametrize("limbs", [2, 3, 4, 5])
def test_one_operation_serves_all_limbs(limbs):
    whole, made = made_of(lambda s, every: [chain_of(s, q) for q in every], limbs)
    assert len(whole.instructions) == 8 * limbs
    assert counted(made.program) == (8, limbs)
    vectors = [
        VectorInput((), tuple(2 + place + SIZE * k for k in range(limbs)), (0,) * limbs)
        for place in range(SIZE)
    ]
    assert sorted(made.vectors, key=lambda vector: vector.scalars) == vectors
    assert [vector.limbs for vector in made.vectors] == [limbs] * SIZE


def test_results_are_picked_from_their_lanes():
    _, made = made_of(lambda s, every: [chain_of(s, q) for q in (every[2], every[0], every[1])], 3)
    program = made.program
    lanes = [
        program.constants[instruction.operands[1] - program.input_size]
        for result in program.results
        for instruction in [program.instructions[result - program.first_instruction]]
        if instruction.operation is Operation.PICK
    ]
    assert lanes == [2.0, 0.0, 1.0]


def signed(every, *signs):
    return zip(signs, every, strict=True)


@pytest.mark.parametrize(
    ("build", "limbs", "in_lanes", "scalar", "picks"),
    [
        # Each operation once for all limbs; sums of limbs are scalar.
        (lambda s, every: [sum(chain_of(s, q) for q in every)], 3, 8, 2, 3),
        # What comes from all limbs goes out to all of them again.
        (lambda s, every: again(s, every), 2, 8 + 3, 2, 2 + 2),
        # Constants of each limb's own, of both signs, are vectors.
        (lambda s, every: [(k - 1.5) * chain_of(s, q) for k, q in enumerate(every)], 4, 9, 0, 4),
        (lambda s, every: [chain_of(s, q) + (0.5 - k) for k, q in enumerate(every)], 3, 9, 0, 3),
        (lambda s, every: [chain_of(s, q) / (s[0] + 2.0) for q in every], 3, 9, 1, 3),
        (lambda s, every: [(s[0] * s[1]) / chain_of(s, q) for q in every], 3, 9, 1, 3),
        # Signs that sums can have: the lanes hold what is negated.
        (lambda s, every: [sign * chain_of(s, q) for sign, q in signed(every, 1, -1, 1)], 3, 8, 0, 3),
        (
            lambda s, every: [q[0] * q[1] + sign * s[0] * q[0] * q[2] for sign, q in signed(every, 1, -1)],
            2, 3, 0, 2,
        ),
        # Signs that they cannot: the second term times 1 and -1.
        (lambda s, every: [sin(sign * q[0] + q[1]) * chain_of(s, q) for sign, q in signed(every, 1, -1)],
         2, 3 + 8 + 1, 0, 2),
        (
            lambda s, every: [
                value
                for sign, q in signed(every, 1, -1)
                for value in (q[0] * q[1] + sign * (s[0] * q[0]), q[0] * q[1] + s[1] * q[0], chain_of(s, q))
            ],
            2, 5 + 8 + 2, 0, 6,
        ),
    ],
)  # fmt: skip
def test_operations_in_lanes(build, limbs, in_lanes, scalar, picks):
    _, made = made_of(build, limbs)
    assert counted(made.program) == (in_lanes + scalar, picks)


def again(s, every):
    values = [chain_of(s, q) for q in every]
    total = sum(values)
    return [value * total - q[1] * (total + s[0]) for value, q in zip(values, every, strict=True)]


def random_steps(generator, count):
    """Operations of a limb on what is known before: shared, own, made."""
    known = 2 + SIZE
    steps = []
    for k in range(count):
        recent = known + k
        steps.append(
            (
                generator.randrange(8),
                generator.randrange(recent),
                generator.randrange(max(0, recent - 6), recent),
            )
        )
    return steps


def random_limb(steps, s, q, generator):
    """Results of the steps; signs and constants are the limb's own."""
    values = [*s, *q]
    for kind, i, j in steps:
        a, b, sign = values[i], values[j], generator.choice((1.0, -1.0))
        made = (
            a + sign * b,
            a - b,
            sign * a * b,
            generator.choice((0.5, -0.75, 1.25)) * b,
            sin(sign * b),
            cos(b) - sign * a,
            a / (3.5 + sin(b)),
            sqrt(2.5 - sign * cos(b)),
        )
        values.append(made[kind])
    return values[-2:]


@pytest.mark.parametrize("seed", range(80))
def test_random_limbs_have_the_values_of_scalars(seed):
    generator = random.Random(seed)
    limbs, paired = generator.choice(((2, 1), (3, 1), (4, 1), (4, 2)))
    first, second = random_steps(generator, 9), random_steps(generator, 5)

    def build(s, every):
        own = [s] * limbs
        if seed % 4 == 3:  # scalars of no limb, each limb its own
            own = [(s[0], s[1]), (-s[1], s[0] * s[1]), (sin(s[0]), s[1]), (s[0] + s[1], 0.5 * s[1])][:limbs]
        found = [random_limb(first, of_limb, q, generator) for of_limb, q in zip(own, every, strict=True)]
        if seed % 3 == 1:
            found[-1][0] = found[-1][0] * every[-1][0] + 0.5  # what only one limb has
        if seed % 3 == 2:
            total = found[0][0] + found[1][0]
            found = [
                random_limb(second, (total, s[1]), (a, b, q[0]), generator)
                for (a, b), q in zip(found, every, strict=True)
            ]
        return [generator.choice((1.0, -1.0)) * value for pair in found for value in pair]

    made_of(build, limbs, paired)


def test_groups_of_limbs_have_lanes_of_their_own():
    def build(s, every):
        return [chain_of(s, q) for q in every[::2]] + [q[2] / (chain_of(s, q) + q[0]) for q in every[1::2]]

    whole, made = made_of(build, 4, 2)
    assert len(whole.instructions) == 2 * 8 + 2 * 10
    assert counted(made.program) == (8 + 10, 4)
    assert {vector.scalars for vector in made.vectors} == {
        (2 + SIZE * k + place, 2 + SIZE * (k + 2) + place) for k, place in product(range(2), range(SIZE))
    }


def test_square_roots_and_sines_of_sines_are_scalar():
    _, made = made_of(lambda s, every: [sqrt(chain_of(s, q) + 9.0) + q[0] for q in every], 3)
    operations = [instruction.operation for instruction in made.program.instructions]
    assert operations.count(Operation.SQRT) == 3 and operations.count(Operation.SIN) == 1
    _, made = made_of(lambda s, every: [sin(chain_of(s, q)) + q[0] for q in every], 3)
    operations = [instruction.operation for instruction in made.program.instructions]
    assert operations.count(Operation.SIN) == 1 + 3


def test_lanes_that_save_little_are_left_out():
    """Of n operations and two limbs, 2 n scalars become n in lanes and two that are picked."""
    assert WORTHWHILE == 0.1

    def alike(s, every):
        return [chain_of(s, q) for q in every]

    def mostly_shared(extra):
        def build(s, every):
            value = s[0] * s[1]
            for _ in range(extra - 1):
                value = sin(value)
            return [*alike(s, every), value]

        return build

    # 16 scalars become 10: worth it where that is at most nine tenths of all.
    assert made_of(mostly_shared(44), 2)[1] is not None  # 54 of 60
    assert made_of(mostly_shared(45), 2)[1] is None  # 55 of 61
    assert made_of(lambda s, every: [every[0][0] + every[1][1], s[0] * every[0][2]], 2)[1] is None
    assert made_of(lambda s, every: [q[0] for q in every], 2)[1] is None
    assert made_of(lambda s, every: [s[0] * s[1] + 2.0], 2)[1] is None


@pytest.mark.parametrize(("limbs", "first"), [(2, 0), (3, 0), (3, 1), (4, 1)])
@pytest.mark.parametrize(
    "join",
    [
        lambda a, b: a * b,
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a / b,
        lambda a, b: b / a,
    ],
)
def test_the_order_in_which_limbs_are_written_makes_no_difference(limbs, first, join):
    def build(s, every):
        results = []
        for k, q in enumerate(every):
            if k % 2 == first:
                a = sin(q[0]) * q[1] + s[0]
                b = cos(q[1]) * s[1] * q[2]
            else:
                b = cos(q[1]) * s[1] * q[2]
                a = sin(q[0]) * q[1] + s[0]
            results.append(join(a, b))
        return results

    whole, made = made_of(build, limbs)
    assert len(whole.instructions) == 7 * limbs
    assert counted(made.program) == (7, limbs)


TORSOS = (
    (lambda s: (sin(s[0]), s[0] * s[1]), 2),
    (lambda s: (sqrt(s[0]), s[0] + s[1]), 2),
    (lambda s: (s[0] / s[1], sqrt(s[1])), 2),
    (lambda s: (s[0] - s[1], cos(s[1])), 2),
    (lambda s: (sin(s[0]), sqrt(s[0] * s[1] + s[1])), 4),
)


@pytest.mark.parametrize(("torso_of", "scalar"), TORSOS)
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_scalars_of_no_limb_are_put_together_with_their_signs(signs, torso_of, scalar):
    """Two products with unit vectors and a sum make a vector of two scalars."""

    def build(s, every):
        torso = torso_of(s)
        return [
            chain_of(s, q) + sign * t * q[1]
            for t, (sign, q) in zip(torso, signed(every, *signs), strict=True)
        ]

    _, made = made_of(build, 2)
    assert counted(made.program) == (8 + 2 + scalar + 3, 2)


def test_scalars_and_inputs_of_no_limb_as_lanes():
    def build(s, every):
        return [chain_of(s, q) - t * q[1] for t, q in zip((s[1], -s[0], s[1]), every, strict=True)]

    _, made = made_of(build, 3)
    assert counted(made.program)[1] == 3
    (vector,) = (v for v in made.vectors if set(v.scalars) == {0, 1})
    assert vector.scalars == (1, 0, 1)


@pytest.mark.parametrize(
    ("torso", "scalar"),
    [
        (lambda s: (sin(s[0]), cos(s[0])), 2),
        (lambda s: (sin(s[0]), sin(s[1])), 2),
        (lambda s: (sqrt(s[0]), sqrt(s[1])), 2),
        (lambda s: (s[0] / s[1], s[1] / s[0]), 2),
        (lambda s: (s[0], s[1]), 0),
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_limbs_are_paired_where_the_same_scalars_enter_them(first, torso, scalar):
    """Each limb multiplies with two scalars of the torso, in one order or the other."""

    def build(s, every):
        one, other = torso(s)
        results = []
        for k, q in enumerate(every):
            if k == first:
                a, b = q[0] * one, q[0] * other
            else:
                b, a = q[0] * other, q[0] * one
            results += [a * q[1] - q[2], b * q[2] + q[1], chain_of(s, q)]
        return results

    _, made = made_of(build, 2)
    assert counted(made.program) == (scalar + 6 + 8, 6)
    assert all(set(vector.scalars).isdisjoint({0, 1}) for vector in made.vectors)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("joined", [False, True])
def test_what_leaves_a_limb_is_paired_with_what_leaves_the_other(first, joined):
    """Products with two constants are alike: those that leave are one vector, in one order or the other."""

    def build(s, every):
        leaving, results = [], []
        for k, q in enumerate(every):
            if k == first:
                tripled = 3.0 * q[0]
                inside = 2.0 * q[0]
            else:
                inside = 2.0 * q[0]
                tripled = 3.0 * q[0]
            leaving.append(tripled)
            results += [sin(inside) * q[1], chain_of(s, q)]
        return [*results, *([leaving[0] / leaving[1]] if joined else leaving)]

    _, made = made_of(build, 2)
    assert counted(made.program) == (1 + 3 + 8 + joined, 6)


def test_what_depends_on_another_limb_is_not_alike():
    """A vector would depend on itself: the second limb needs what the first one has made of the same kind."""

    def build(s, every):
        values = [chain_of(s, q) for q in every]
        once = values[0] + values[1]
        first = every[0][2] * once
        return [first, every[1][2] * (first + values[1])]

    _, made = made_of(build, 2)
    assert counted(made.program) == (8 + 4, 2)


@pytest.mark.parametrize("first", [0, 1])
def test_operands_that_are_alike_are_told_apart_by_what_enters_them(first):
    def build(s, every):
        one, other = sin(s[0]), cos(s[0])
        results = []
        for k, q in enumerate(every):
            if k == first:
                a, b = q[0] + one, q[0] + other
            else:
                b, a = q[0] + other, q[0] + one
            results += [a * b, chain_of(s, q)]
        return results

    _, made = made_of(build, 2)
    assert counted(made.program) == (2 + 3 + 8, 4)


def test_what_a_limb_has_more_of_is_paired_with_the_last_of_the_other():
    def build(s, every):
        (p, q), (u, v) = every, [chain_of(s, q) * q[2] - q[1] for q in every]
        return [u, 3.0 * p[0], 5.0 * p[0], 7.0 * p[0], v, 2.0 * q[0], 4.0 * q[0]]

    _, made = made_of(build, 2)
    assert counted(made.program) == (10 + 3, 7)
    vectors = {vector.constants for vector in made.vectors if vector.constants}
    assert vectors == {(3.0, 2.0), (5.0, 4.0), (7.0, 4.0)}


def test_constants_are_not_alike_to_scalars_of_no_limb():
    def build(s, every):
        p, q = every
        return [chain_of(s, p), chain_of(s, q), 2.0 * p[0], (s[0] + s[1]) * q[0]]

    _, made = made_of(build, 2)
    assert counted(made.program) == (8 + 3, 2)


def test_scalars_of_no_limb_that_differ_by_constants_are_a_vector_times_a_scalar():
    def build(s, every):
        torso = sin(s[0])
        return [chain_of(s, q) + number * torso * q[1] for number, q in zip((2.0, 3.0), every, strict=True)]

    _, made = made_of(build, 2)
    assert counted(made.program) == (1 + 1 + 8 + 2, 2)
    assert {vector.constants for vector in made.vectors} == {(), (2.0, 3.0)}


def test_square_roots_of_what_limbs_begin_with_are_scalar():
    _, made = made_of(lambda s, every: [sqrt(q[0] * q[1] + 9.0) + chain_of(s, q) for q in every], 3)
    operations = [instruction.operation for instruction in made.program.instructions]
    assert operations.count(Operation.SQRT) == 3
    picked = {
        instruction.operands[0]
        for instruction in made.program.instructions
        if instruction.operation is Operation.PICK
    }
    assert len(picked) == 2
