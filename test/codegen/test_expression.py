"""Expression graphs: algebraic properties, and random programs against plain floating-point arithmetic."""

import math
import random

import numpy as np
import pytest
from interpreter import evaluate

from robot_dynamics.codegen.expression import ExpressionGraph, cos, sin, sqrt
from robot_dynamics.codegen.program import Argument, Operation, count_operations
from robot_dynamics.errors import BackendError, StateError


def graph_and_inputs(size):
    graph = ExpressionGraph()
    return graph, graph.input("x", size, "scalars")


def random_expression(generator, leaves, operations):
    """The same random computation on any kind of scalar."""
    values = list(leaves)
    for _ in range(operations):
        a, b = generator.choice(values), generator.choice(values)
        match generator.randrange(9):
            case 0:
                value = a + b
            case 1:
                value = a - b
            case 2:
                value = a * b
            case 3:
                value = -a
            case 4:
                value = a * generator.choice((0.5, -2.0, 0.25))
            case 5:
                value = generator.choice((0.5, -2.0)) - a
            case 6:
                value = sin(a)
            case 7:
                value = a / (2.0 + cos(b))
            case _:
                value = sqrt(1.5 - sin(a) * cos(b))
        values.append(value)
    return values[-8:]


@pytest.mark.parametrize("seed", range(150))
def test_programs_compute_what_floats_compute(seed):
    graph, x = graph_and_inputs(4)
    outputs = random_expression(random.Random(seed), x, 40)
    program = graph.build_program("random", [(Argument("y", 8), outputs)])
    state = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 4))
    computed = evaluate(program, {"x": state})["y"]
    for row, point in zip(computed, state, strict=True):
        expected = random_expression(random.Random(seed), [float(v) for v in point], 40)
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-9)


def test_values_are_numbered_as_the_contract_says():
    graph, x = graph_and_inputs(3)
    outputs = random_expression(random.Random(1), x, 60)
    program = graph.build_program("numbered", [(Argument("y", 8), outputs)])
    used = set(program.results)
    for position, instruction in enumerate(program.instructions):
        assert all(0 <= v < program.first_instruction + position for v in instruction.operands)
        used.update(instruction.operands)
    own = range(program.first_instruction, program.first_instruction + len(program.instructions))
    assert used.issuperset(own)
    assert len(set(program.constants)) == len(program.constants)


def test_dead_code_is_not_counted_and_squares_are():
    graph, (x, y) = graph_and_inputs(2)
    _ = x * x * x * y
    program = graph.build_program("f", [(Argument("f", 2), [x * x - y, sin(x) / y])])
    count = count_operations(program)
    assert (count.multiplications, count.additions, count.divisions, count.sines_and_cosines) == (1, 1, 1, 1)


def test_signs_are_absorbed():
    graph, (x, y) = graph_and_inputs(2)
    outputs = [-(x - y), -(3.0 * x), -((x - 2.0) * y), -(x + 4.0 * y)]
    program = graph.build_program("signs", [(Argument("f", 4), outputs)])
    assert all(instruction.operation is not Operation.NEG for instruction in program.instructions)
    result = evaluate(program, {"x": [5.0, 7.0]})["f"]
    np.testing.assert_allclose(result, [2.0, -15.0, -21.0, -33.0])


def test_constant_and_input_outputs():
    graph, (x, _) = graph_and_inputs(2)
    program = graph.build_program("plain", [(Argument("f", 3), [x, 0.0, -x])])
    batch = evaluate(program, {"x": np.array([[1.0, 2.0], [3.0, 4.0]])})["f"]
    np.testing.assert_array_equal(batch, [[1.0, 0.0, -1.0], [3.0, 0.0, -3.0]])


def test_numpy_arrays_of_expressions():
    graph, x = graph_and_inputs(4)
    matrix = np.array(x, dtype=object).reshape(2, 2)
    product = np.eye(2) @ matrix @ np.array([1.0, 2.0]) + np.sin(matrix[0])
    program = graph.build_program("mixed", [(Argument("f", 2), list(product))])
    value = evaluate(program, {"x": [1.0, 2.0, 3.0, 4.0]})["f"]
    np.testing.assert_allclose(value, [5.0 + math.sin(1.0), 11.0 + math.sin(2.0)])
    assert (np.float64(2.0) * x[0]) == x[0] + x[0]


def test_misuse_is_refused():
    graph, (x,) = graph_and_inputs(1)
    other, (y,) = graph_and_inputs(1)
    with pytest.raises(BackendError, match="another graph"):
        _ = x + y
    with pytest.raises(BackendError, match="division by"):
        _ = x / 0.0
    with pytest.raises(BackendError, match="not finite"):
        _ = x * math.nan
    with pytest.raises(BackendError, match="declared twice"):
        graph.input("x", 1)
    with pytest.raises(BackendError, match="has size 2"):
        other.build_program("f", [(Argument("f", 2), [y])])
    program = graph.build_program("f", [(Argument("f", 1), [x])])
    with pytest.raises(StateError, match="takes the inputs"):
        evaluate(program, {"y": [1.0]})
    with pytest.raises(StateError, match="last axis"):
        evaluate(program, {"x": [1.0, 2.0]})
