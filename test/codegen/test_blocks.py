"""Orders of instructions, and values between blocks: only those needed, in as few slots as possible."""

from itertools import accumulate, pairwise

import numpy as np
import pytest
from interpreter import results_of

from robot_dynamics.codegen.partition import KEPT, brief, partition
from robot_dynamics.codegen.program import Argument, Instruction, Operation, Program

CONSTANTS = (0.5, -1.25, 2.0)
INPUTS = 5
FIRST = INPUTS + len(CONSTANTS)
OPERATIONS = (Operation.ADD, Operation.SUB, Operation.MUL)


def program(instructions, results, constants=CONSTANTS):
    return Program(
        "whole",
        (Argument("a", 2, "first"), Argument("b", 3)),
        constants,
        tuple(Instruction(operation, tuple(operands)) for operation, *operands in instructions),
        (Argument("u", 1), Argument("v", len(results) - 1)),
        tuple(results),
    )


def random_program(seed, length, results=6):
    """Every instruction is needed: results end chains that the others belong to."""
    random = np.random.default_rng(seed)
    instructions, unused = [], []
    for k in range(length):
        operands = [int(random.integers(0, FIRST + k)) for _ in range(2)]
        if len(unused) > results - 2:
            operands[0] = unused.pop(int(random.integers(0, len(unused))))
        unused = [value for value in unused if value not in operands] + [FIRST + k]
        instructions.append((OPERATIONS[int(random.integers(0, 3))], *operands))
    return program(instructions, [*unused, 2, INPUTS])


def needed_alive(made):
    """Sum over the places between instructions of the values there that a later one needs.

    An input is there from its first use on.
    """
    first = made.first_instruction
    uses = {}
    for place, instruction in enumerate(made.instructions):
        for operand in instruction.operands:
            if not made.input_size <= operand < first:
                uses.setdefault(operand, []).append(place)
    return sum(places[-1] - (places[0] if value < first else value - first) for value, places in uses.items())


def in_order_of(made, results):
    """The instructions that each result needs, operands before what uses them, written recursively."""
    first, order = made.first_instruction, []

    def visit(value):
        if value >= first and value not in order:
            for operand in made.instructions[value - first].operands:
                visit(operand)
            order.append(value)

    for result in results:
        visit(result)
    number = {value: first + place for place, value in enumerate(order)}
    instructions = [
        (
            made.instructions[v - first].operation,
            *(number.get(o, o) for o in made.instructions[v - first].operands),
        )
        for v in order
    ]
    return program(instructions, [number.get(result, result) for result in made.results])


@pytest.mark.parametrize("seed", range(20))
def test_the_order_that_keeps_fewest_values_alive_is_taken(seed):
    whole = random_program(seed, 5 + 2 * seed)
    tried = [whole, in_order_of(whole, whole.results[::-1]), in_order_of(whole, whole.results)]
    found = brief(whole)
    assert found == min(tried, key=needed_alive)
    inputs = np.random.default_rng(seed).uniform(-1.0, 1.0, INPUTS).tolist()
    assert results_of(found, inputs) == results_of(whole, inputs)


def test_each_order_can_be_the_shortest():
    """A limb after the other; the last result first, because the first one needs what others have made."""
    add, multiply = Operation.ADD, Operation.MUL
    out_and_back = [
        (add, 0, 1),
        (add, 1, 2),
        (add, 2, 3),
        (multiply, 8, 8),
        (multiply, 9, 9),
        (multiply, 10, 10),
    ]
    limb_by_limb = [
        (add, 2, 3),
        (multiply, 8, 8),
        (add, 1, 2),
        (multiply, 10, 10),
        (add, 0, 1),
        (multiply, 12, 12),
    ]
    found = brief(program(out_and_back, [11, 12, 13]))
    assert needed_alive(found) < needed_alive(program(out_and_back, [11, 12, 13]))
    assert found == program(limb_by_limb, [13, 11, 9]) or found == in_order_of(found, found.results)
    already = program(limb_by_limb, [13, 11, 9])
    assert brief(already) == already
    assert needed_alive(already) == needed_alive(in_order_of(already, already.results))


def bounds(parts):
    return list(accumulate((len(block.program.instructions) for block in parts.blocks), initial=0))


@pytest.mark.parametrize(("seed", "size"), [(1, 1), (2, 2), (3, 4), (4, 7), (5, 7), (6, 12), (7, 30), (8, 5)])
def test_between_blocks_is_what_later_ones_need_and_nothing_else(seed, size):
    whole = random_program(seed, 60)
    parts = partition(whole, size)
    ends = bounds(parts)
    made, uses = {}, {}
    for block, (begin, end) in enumerate(pairwise(ends)):
        for place in range(begin, end):
            for operand in whole.instructions[place].operands:
                made.setdefault(operand, block)
                uses.setdefault(operand, set()).add(block)
            made[FIRST + place] = block
    all_read = max(made[value] for value in range(INPUTS) if value in made)
    expected = [[] for _ in parts.blocks]
    for place, result in enumerate(whole.results):
        block = max(made.get(result, 0), all_read)
        expected[block].append(place)
        made.setdefault(result, block)
        uses.setdefault(result, set()).add(block)
    kept = {value for value in uses if not INPUTS <= value < FIRST}
    peak = 0
    for block, part in enumerate(parts.blocks):
        assert list(part.outputs) == expected[block]
        loaded = [v for v in kept if made[v] < block and block in uses[v]]
        stored = [v for v in kept if made[v] == block and max(uses[v]) > block]
        assert len(part.loads) == len(set(part.loads)) == len(loaded)
        assert len(part.stores) == len(set(part.stores)) == len(stored)
        assert not set(part.loads) & set(part.stores)
        peak = max(peak, sum(made[v] <= block <= max(uses[v]) and max(uses[v]) > made[v] for v in kept))
        own = part.program
        assert own.name == "whole" and own.inputs == (*whole.inputs, Argument(KEPT, len(loaded)))
        assert own.outputs == (Argument("out", len(stored) + len(expected[block])),)
        operations = [
            instruction.operation for instruction in whole.instructions[ends[block] : ends[block + 1]]
        ]
        assert [instruction.operation for instruction in own.instructions] == operations
        known = {o for k in range(ends[block], ends[block + 1]) for o in whole.instructions[k].operands}
        known |= {whole.results[place] for place in expected[block]}
        assert own.constants == tuple(CONSTANTS[v - INPUTS] for v in range(INPUTS, FIRST) if v in known)
    assert parts.slots == peak
    assert ends[-1] == 60 and (size > 1 or ends == list(range(61)))


def test_results_of_constants_alone_leave_at_once():
    doubled = [(Operation.ADD, FIRST - 1 + k, FIRST - 1 + k) for k in range(6)]
    parts = partition(program(doubled, [FIRST + 1, INPUTS, FIRST + 5]), 3)
    assert [block.outputs for block in parts.blocks] == [(0, 1), (), (2,)]
    assert bounds(parts) == [0, 2, 4, 6]
    assert parts.slots == 2  # a block stores in no slot that it loads
    once = partition(program([(Operation.ADD, 0, 4)], [FIRST, 1]))
    assert once.blocks[0].outputs == (0, 1) and once.slots == 0 and once.blocks[0].loads == ()
