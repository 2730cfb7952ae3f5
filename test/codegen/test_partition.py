"""Long programs in blocks: orders of instructions, cuts between the fewest living values, slots."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter import results_of

from robot_dynamics.codegen.partition import BLOCK_SIZE, KEPT, WORTH_IT, brief, partition
from robot_dynamics.codegen.program import Argument, Instruction, Operation, Program

INPUTS, CONSTANTS = 5, (0.5, -1.25, 2.0)
FIRST = INPUTS + len(CONSTANTS)
OPERATIONS = (Operation.ADD, Operation.SUB, Operation.MUL)


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
        operation = OPERATIONS[int(random.integers(0, 3))]
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
    """The number of values before instruction ``place`` that it or a later one needs.

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


def test_results_may_be_inputs_constants_and_the_same_value_twice():
    multiply, add = Operation.MUL, Operation.ADD
    # x0, x1, the constant 3, then 3 x0, 3 x0 + x1, (3 x0 + x1)^2
    instructions = (Instruction(multiply, (0, 2)), Instruction(add, (3, 1)), Instruction(multiply, (4, 4)))
    program = Program(
        "few", (Argument("x", 2),), (3.0,), instructions, (Argument("y", 6),), (0, 2, 5, 3, 3, 1)
    )
    parts = partition(program, size=1)
    assert len(parts.blocks) == 3
    assert run_blocks(parts, [2.0, 5.0], 6) == [2.0, 3.0, 121.0, 6.0, 6.0, 5.0]


def program_of(instructions, results):
    """A program of two inputs and two outputs."""
    return Program(
        "whole",
        (Argument("a", 2, "first"), Argument("b", 3)),
        CONSTANTS,
        tuple(Instruction(operation, tuple(operands)) for operation, *operands in instructions),
        (Argument("u", 1), Argument("v", len(results) - 1)),
        tuple(results),
    )


def random_needed_program(seed, length, results=6):
    """Every instruction is needed: results end chains that the others belong to."""
    random = np.random.default_rng(seed)
    instructions, unused = [], []
    for k in range(length):
        operands = [int(random.integers(0, FIRST + k)) for _ in range(2)]
        if len(unused) > results - 2:
            operands[0] = unused.pop(int(random.integers(0, len(unused))))
        unused = [value for value in unused if value not in operands] + [FIRST + k]
        instructions.append((OPERATIONS[int(random.integers(0, 3))], *operands))
    return program_of(instructions, [*unused, 2, INPUTS])


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
    return program_of(instructions, [number.get(result, result) for result in made.results])


@pytest.mark.parametrize("seed", range(20))
def test_the_order_that_keeps_fewest_values_alive_is_taken(seed):
    whole = random_needed_program(seed, 5 + 2 * seed)
    tried = [in_order_of(whole, whole.results[::-1]), in_order_of(whole, whole.results)]
    found = brief(whole)
    other = min(tried, key=needed_alive)
    assert found == (other if needed_alive(other) < WORTH_IT * needed_alive(whole) else whole)
    inputs = np.random.default_rng(seed).uniform(-1.0, 1.0, INPUTS).tolist()
    assert results_of(found, inputs) == results_of(whole, inputs)


@pytest.mark.parametrize(("early", "stays"), [(1, True), (20, False)])
def test_an_order_that_saves_little_is_not_taken(early, stays):
    """A value that the end of a chain needs is made some places before; just before it is the other order."""
    length = 60
    chain = [(Operation.MUL, FIRST + k - 1 if k else 0, 1) for k in range(length)]
    before = chain[: length - early]
    after = [(Operation.MUL, FIRST + length - early + k - (k == 0), 1) for k in range(early)]
    end = (Operation.ADD, FIRST + length, FIRST + length - early)
    whole = program_of([*before, (Operation.ADD, 2, 3), *after, end], [FIRST + length + 1, 4])
    best = in_order_of(whole, whole.results)
    assert needed_alive(best) < needed_alive(whole)
    assert brief(whole) == (whole if stays else in_order_of(whole, whole.results[::-1]))


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
    found = brief(program_of(out_and_back, [11, 12, 13]))
    assert needed_alive(found) < needed_alive(program_of(out_and_back, [11, 12, 13]))
    assert found == program_of(limb_by_limb, [13, 11, 9]) or found == in_order_of(found, found.results)
    already = program_of(limb_by_limb, [13, 11, 9])
    assert brief(already) == already
    assert needed_alive(already) == needed_alive(in_order_of(already, already.results))


@pytest.mark.parametrize(("seed", "size"), [(1, 1), (2, 2), (3, 4), (4, 7), (5, 7), (6, 12), (7, 30), (8, 5)])
def test_between_blocks_is_what_later_ones_need_and_nothing_else(seed, size):
    whole = random_needed_program(seed, 60)
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
    parts = partition(program_of(doubled, [FIRST + 1, INPUTS, FIRST + 5]), 3)
    assert [block.outputs for block in parts.blocks] == [(0, 1), (), (2,)]
    assert bounds(parts) == [0, 2, 4, 6]
    assert parts.slots == 2  # a block stores in no slot that it loads
    once = partition(program_of([(Operation.ADD, 0, 4)], [FIRST, 1]))
    assert once.blocks[0].outputs == (0, 1) and once.slots == 0 and once.blocks[0].loads == ()
