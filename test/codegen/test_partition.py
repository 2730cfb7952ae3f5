"""Where long programs are cut: between the fewest living values, and into blocks that compute the whole."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter import results_of

from robot_dynamics.codegen.partition import BLOCK_SIZE, KEPT, partition
from robot_dynamics.codegen.program import Argument, Instruction, Operation, Program

INPUTS, CONSTANTS = 5, (0.5, -1.25, 2.0)
FIRST = INPUTS + len(CONSTANTS)


def random_program(seed, length, reach=30):
    """Instructions on recent values, and now and then on an input or a constant."""
    random = np.random.default_rng(seed)
    instructions = []
    for k in range(length):
        operands = []
        for _ in range(2):
            recent = FIRST + int(random.integers(max(0, k - reach), k)) if k else 0
            anywhere = int(random.integers(0, FIRST))
            operands.append(anywhere if k == 0 or random.random() < 0.15 else recent)
        operation = (Operation.ADD, Operation.SUB, Operation.MUL)[int(random.integers(0, 3))]
        instructions.append(Instruction(operation, tuple(operands)))
    results = [*random.integers(FIRST, FIRST + length, 4).tolist(), FIRST + length - 1, 2, INPUTS]
    return Program(
        "whole",
        (Argument("a", 2), Argument("b", 3)),
        CONSTANTS,
        tuple(instructions),
        (Argument("out", len(results)),),
        tuple(int(result) for result in results),
    )


def run_blocks(parts, inputs, count):
    """The blocks one after the other, with nothing but their slots between them."""
    slots, out = [np.nan] * parts.slots, [np.nan] * count
    for block in parts.blocks:
        assert block.program.inputs[-1] == Argument(KEPT, len(block.loads))
        results = results_of(block.program, [*inputs, *(slots[slot] for slot in block.loads)])
        for slot, value in zip(block.stores, results, strict=False):
            slots[slot] = value
        for place, value in zip(block.outputs, results[len(block.stores) :], strict=True):
            out[place] = value
    return out


def living(program, place):
    """How many values are there before instruction ``place`` and needed by it or a later one, counted out.

    An input is there from its first use on: it can be read again, but need not be kept before.
    """
    before = {o for i in program.instructions[:place] for o in i.operands} | set(range(FIRST, FIRST + place))
    after = {o for i in program.instructions[place:] for o in i.operands}
    return len({v for v in before & after if not INPUTS <= v < FIRST})


def bounds(parts):
    return np.cumsum([0, *(len(block.program.instructions) for block in parts.blocks)]).tolist()


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 400), st.integers(1, 60))
def test_the_blocks_compute_what_the_whole_does(seed, length, size):
    program = random_program(seed, length)
    parts = partition(program, size)
    with np.errstate(over="ignore", invalid="ignore"):
        inputs = np.random.default_rng(seed).uniform(-1.0, 1.0, INPUTS).tolist()
        np.testing.assert_array_equal(
            run_blocks(parts, inputs, len(program.results)), results_of(program, inputs)
        )


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(0, 10_000), st.integers(10, 50))
def test_every_cut_is_where_the_fewest_values_live_among_the_places_allowed(seed, size):
    program = random_program(seed, 400)
    found = bounds(partition(program, size))
    assert found[-1] == 400
    for begin, end in pairwise(found[:-1]):
        allowed = range(begin + int(0.6 * size), min(begin + int(1.2 * size), 400))
        assert end in allowed
        assert living(program, end) == min(living(program, place) for place in allowed)
    assert found[-1] - found[-2] <= 1.3 * size


def test_among_equals_the_longer_block_is_taken():
    """A chain, of which one value lives everywhere."""
    chain = tuple(Instruction(Operation.ADD, (FIRST + k - 1 if k else 0, 0)) for k in range(100))
    program = Program(
        "chain", (Argument("a", INPUTS),), CONSTANTS, chain, (Argument("out", 1),), (FIRST + 99,)
    )
    assert bounds(partition(program, 20)) == [0, 23, 46, 69, 92, 100]


def test_what_is_kept_is_what_lives_and_slots_are_used_again():
    """Forty knots of eight values each, with one value from each to the next: a block ends at the knots."""
    instructions, last = [], 0
    for _ in range(40):
        first = FIRST + len(instructions)
        instructions += [Instruction(Operation.ADD, (last, i % INPUTS)) for i in range(8)]
        instructions.append(Instruction(Operation.MUL, (first, first + 1)))
        instructions += [Instruction(Operation.ADD, (first + 8 + i, first + 2 + i)) for i in range(6)]
        last = FIRST + len(instructions) - 1
    program = Program(
        "knots", (Argument("a", INPUTS),), CONSTANTS, tuple(instructions), (Argument("out", 1),), (last,)
    )
    parts = partition(program, 30)
    assert all(cut % 15 == 0 for cut in bounds(parts))
    for block in parts.blocks[1:]:
        assert len(block.loads) <= 1 + INPUTS
    assert parts.slots <= 2 + INPUTS
    inputs = [0.5, -0.25, 0.125, 1.0, 0.75]
    np.testing.assert_array_equal(run_blocks(parts, inputs, 1), results_of(program, inputs))


@pytest.mark.parametrize("length", [1, 2, 181, 182])
def test_a_short_program_stays_in_one_piece(length):
    parts = partition(random_program(1, length))
    assert BLOCK_SIZE == 140
    assert len(parts.blocks) == 1
    assert not parts.blocks[0].loads and not parts.blocks[0].stores and parts.slots == 0


def test_one_more_instruction_than_a_block_may_have_makes_two():
    assert len(partition(random_program(1, 183)).blocks) == 2


def test_no_output_leaves_before_every_input_has_been_read():
    """So that an output may take an input's place: the last block reads an input first."""
    late = [Instruction(Operation.ADD, (0, 1))]
    late += [Instruction(Operation.MUL, (FIRST + k, FIRST + k)) for k in range(50)]
    late += [Instruction(Operation.ADD, (FIRST + 50, 4))]
    late += [Instruction(Operation.MUL, (FIRST + 51 + k, FIRST + 51 + k)) for k in range(40)]
    program = Program(
        "late", (Argument("a", INPUTS),), CONSTANTS, tuple(late), (Argument("out", 2),), (FIRST, FIRST + 91)
    )
    parts = partition(program, 10)
    reads = [
        {o for i in block.program.instructions for o in i.operands if o < INPUTS} for block in parts.blocks
    ]
    reader = max(k for k, read in enumerate(reads) if 4 in read)
    assert reader > 0
    assert all(not block.outputs for block in parts.blocks[:reader])
    assert [place for block in parts.blocks for place in block.outputs] == [0, 1]
