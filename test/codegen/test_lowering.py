"""From nodes with signs to instructions: operands absorb signs, by programs written by hand."""

import pytest
from picking import pick

from robot_dynamics.codegen.expression import ExpressionGraph, cos, sin, sqrt
from robot_dynamics.codegen.lowering import reachable
from robot_dynamics.codegen.nodes import ADD, CONSTANT, COS, DIV, INPUT, MUL, PICK, SIN, SQRT, SUB
from robot_dynamics.codegen.program import Argument, Instruction, Operation, Program


def lowered(build):
    graph = ExpressionGraph()
    values = build(*graph.input("x", 2), *graph.input("z", 1))
    return graph.build_program("f", [(Argument("u", len(values)), values)])


def written(program):
    """The instructions as text, with inputs x, y, z, and the results."""
    names = ["x", "y", "z", *map(repr, program.constants)]
    lines = []
    for k, instruction in enumerate(program.instructions):
        operands = [names[operand] for operand in instruction.operands]
        operation = instruction.operation.value
        text = f" {operation} ".join(operands) if len(operands) > 1 else f"{operation} {operands[0]}"
        lines.append(f"t{k} = {text}")
        names.append(f"t{k}")
    return "; ".join(lines), [names[result] for result in program.results]


@pytest.mark.parametrize(
    ("build", "lines", "results"),
    [
        (lambda x, y, z: [x + y], "t0 = x + y", ["t0"]),
        (lambda x, y, z: [-(x + y)], "t0 = x + y; t1 = neg t0", ["t1"]),
        (lambda x, y, z: [y - x], "t0 = y - x", ["t0"]),
        (lambda x, y, z: [x - y, y - x], "t0 = x - y; t1 = neg t0", ["t0", "t1"]),
        (lambda x, y, z: [y - x, x - y], "t0 = y - x; t1 = neg t0", ["t0", "t1"]),
        (lambda x, y, z: [-(3.0 * x)], "t0 = -3.0 * x", ["t0"]),
        (lambda x, y, z: [-(x * y)], "t0 = x * y; t1 = neg t0", ["t1"]),
        (lambda x, y, z: [-((x - y) * z)], "t0 = y - x; t1 = z * t0", ["t1"]),
        (lambda x, y, z: [(y - x) * z], "t0 = y - x; t1 = z * t0", ["t1"]),
        (lambda x, y, z: [-((x - y) / z)], "t0 = y - x; t1 = t0 / z", ["t1"]),
        (lambda x, y, z: [-(z / (x - y))], "t0 = y - x; t1 = z / t0", ["t1"]),
        (lambda x, y, z: [-(2.0 / x)], "t0 = -2.0 / x", ["t0"]),
        (lambda x, y, z: [2.0 / x], "t0 = 2.0 / x", ["t0"]),
        (lambda x, y, z: [-(2.0 / (x - y))], "t0 = y - x; t1 = 2.0 / t0", ["t1"]),
        (lambda x, y, z: [-(x + 4.0 * y)], "t0 = -4.0 * y; t1 = t0 - x", ["t1"]),
        (lambda x, y, z: [-(x + (y - z))], "t0 = z - y; t1 = t0 - x", ["t1"]),
        (lambda x, y, z: [(x - y) - z], "t0 = x - y; t1 = t0 - z", ["t1"]),
        (lambda x, y, z: [z - (x - y)], "t0 = x - y; t1 = z - t0", ["t1"]),
        (lambda x, y, z: [x - 2.0], "t0 = x + -2.0", ["t0"]),
        (lambda x, y, z: [2.0 - x], "t0 = 2.0 - x", ["t0"]),
        (lambda x, y, z: [x + 2.0], "t0 = x + 2.0", ["t0"]),
        (lambda x, y, z: [-x - 2.0], "t0 = -2.0 - x", ["t0"]),
        (lambda x, y, z: [-(3.0 * y), x - 3.0 * y], "t0 = -3.0 * y; t1 = x + t0", ["t0", "t1"]),
        (lambda x, y, z: [-(3.0 * y), x + 3.0 * y], "t0 = -3.0 * y; t1 = x - t0", ["t0", "t1"]),
        (lambda x, y, z: [y - x, 3.0 * (x - y)], "t0 = y - x; t1 = -3.0 * t0", ["t0", "t1"]),
        (lambda x, y, z: [y - x, (x - y) * (x - y)], "t0 = y - x; t1 = t0 * t0", ["t0", "t1"]),
        (lambda x, y, z: [y - x, (x - y) * z], "t0 = y - x; t1 = z * t0; t2 = neg t1", ["t0", "t2"]),
        (
            lambda x, y, z: [-(3.0 * x), -(4.0 * y), 3.0 * x + 4.0 * y],
            "t0 = -3.0 * x; t1 = -4.0 * y; t2 = t0 + t1; t3 = neg t2",
            ["t0", "t1", "t3"],
        ),
        (
            lambda x, y, z: [-(3.0 * x), -(3.0 * x + 4.0 * y)],
            "t0 = -3.0 * x; t1 = -4.0 * y; t2 = t0 + t1",
            ["t0", "t2"],
        ),
        (
            lambda x, y, z: [y - x, z - y, -(x + (x - y) * (y - z))],
            "t0 = y - x; t1 = z - y; t2 = t0 * t1; t3 = x + t2; t4 = neg t3",
            ["t0", "t1", "t4"],
        ),
        (lambda x, y, z: [sqrt(y - x)], "t0 = y - x; t1 = sqrt t0", ["t1"]),
        (lambda x, y, z: [sqrt(x - y)], "t0 = x - y; t1 = sqrt t0", ["t1"]),
        (lambda x, y, z: [-z, sqrt(-z), -z], "t0 = neg z; t1 = sqrt t0", ["t0", "t1", "t0"]),
        (lambda x, y, z: [-sqrt(-(3.0 * z))], "t0 = -3.0 * z; t1 = sqrt t0; t2 = neg t1", ["t2"]),
        (lambda x, y, z: [sin(y), cos(-y), -cos(z)], "t0 = sin y; t1 = cos y; t2 = cos z; t3 = neg t2",
         ["t0", "t1", "t3"]),
        (lambda x, y, z: [sin(3.0 * x), cos(z / 4.0)],
         "t0 = 3.0 * x; t1 = sin t0; t2 = 0.25 * z; t3 = cos t2",
         ["t1", "t3"]),
        (lambda x, y, z: [sin(cos(z) * y)], "t0 = cos z; t1 = y * t0; t2 = sin t1", ["t2"]),
        (lambda x, y, z: [2.0, -3.0, 0.0, z, -3.0], "", ["2.0", "-3.0", "0.0", "z", "-3.0"]),
        (lambda x, y, z: [pick(z, 3)], "t0 = z pick 3.0", ["t0"]),
        (
            lambda x, y, z: [y - x, pick(x - y, 2), -pick(x - y, 2)],
            "t0 = y - x; t1 = t0 pick 2.0; t2 = neg t1",
            ["t0", "t2", "t1"],
        ),
        (lambda x, y, z: [pick(x * y, 1) - z], "t0 = x * y; t1 = t0 pick 1.0; t2 = t1 - z", ["t2"]),
    ],
)  # fmt: skip
def test_signs_are_absorbed_by_operands(build, lines, results):
    assert written(lowered(build)) == (lines, results)


def test_first_operands_that_are_constants_absorb_signs():
    graph = ExpressionGraph()
    two = graph.expression(2.0)
    (x,) = graph.input("x", 1)
    for value, operation, constant in (
        (two - x, Operation.SUB, 2.0),
        (-(two - x), Operation.ADD, -2.0),
        (two + x, Operation.ADD, 2.0),
        (-(two + x), Operation.SUB, -2.0),
    ):
        program = graph.build_program("f", [(Argument("u", 1), [value])])
        assert program.constants == (constant,)
        assert program.instructions == (Instruction(operation, (1, 0)),)


def test_a_whole_program():
    """Inputs, constants and instructions are numbered one after the other."""
    program = lowered(lambda x, y, z: [3.0 * z, y - 0.5, sin(3.0 * z) * (y - 0.5)])
    assert program == Program(
        name="f",
        inputs=(Argument("x", 2), Argument("z", 1)),
        constants=(3.0, -0.5),
        instructions=(
            Instruction(Operation.MUL, (3, 2)),
            Instruction(Operation.ADD, (1, 4)),
            Instruction(Operation.SIN, (5,)),
            Instruction(Operation.MUL, (6, 7)),
        ),
        outputs=(Argument("u", 3),),
        results=(5, 6, 8),
    )
    assert (program.input_size, program.first_instruction) == (3, 5)


@pytest.mark.parametrize("step", [lambda p, z: p * z, lambda p, z: p / z, lambda p, z: z / p])
@pytest.mark.parametrize(("steps", "negations"), [(1, 0), (20, 0), (21, 1), (40, 1)])
def test_a_sign_passes_through_twenty_operations(step, steps, negations):
    def build(x, y, z):
        p = x - y
        for _ in range(steps):
            p = step(p, z)
        return [-p]

    operations = [instruction.operation for instruction in lowered(build).instructions]
    assert operations.count(Operation.NEG) == negations and len(operations) == steps + 1 + negations


def test_nodes_that_others_depend_on():
    nodes = [
        (CONSTANT, 0, 0),
        (CONSTANT, 1, 0),
        (INPUT, 0, 0),
        (INPUT, 1, 0),
        (ADD, 2, 3),
        (SUB, 3, 4),
        (MUL, 0, 5),
        (DIV, 1, 2),
        (SIN, 2 * 4, 0),
        (COS, 2 * 5, 0),
        (SQRT, 2 * 6 + 1, 0),
        (PICK, 2 * 7, 5),
        (ADD, 8, 9),
    ]
    for number, needed in (
        (0, [0]),
        (1, [1]),
        (3, [3]),
        (4, [2, 3, 4]),
        (5, [2, 3, 4, 5]),
        (6, [0, 2, 3, 4, 5, 6]),
        (7, [1, 2, 7]),
        (8, [2, 3, 4, 8]),
        (9, [2, 3, 4, 5, 9]),
        (10, [0, 2, 3, 4, 5, 6, 10]),
        (11, [1, 2, 7, 11]),
        (12, [2, 3, 4, 5, 8, 9, 12]),
    ):
        assert reachable(nodes, [2 * number]) == reachable(nodes, [2 * number + 1]) == needed
    assert reachable(nodes, [2 * 11, 2 * 4 + 1]) == [1, 2, 3, 4, 7, 11]
    assert reachable(nodes, []) == []
