"""Long programs in blocks that are run one after the other, each for many states.

A block is short enough for its code to stay in the processor's nearest cache while it runs for a tile of
states; what later blocks need is kept in slots between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from robot_dynamics.codegen.program import Argument, Instruction, Program

KEPT = "kept_value"
"""Name of the last input of a block's program: what earlier blocks have kept."""

# Instructions of a block. Shorter ones keep more values, longer ones gain nothing.
BLOCK_SIZE = 140
WORTH_IT = 0.95
"""Largest share of the values alive that another order may have. Where it saves less, values that the traced
order uses soon after they are made wait in slots: batches of derivatives took up to a quarter longer."""


@dataclass(frozen=True)
class Block:
    """A part of a program.

    Attributes:
        program: inputs are those of the whole, then ``KEPT``; results are the values to keep, then outputs.
        loads: slot of every element of ``KEPT``.
        stores: slot of every value to keep; none of them is among ``loads``.
        outputs: places of the remaining results among the results of the whole.
    """

    program: Program
    loads: tuple[int, ...]
    stores: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Partition:
    """Blocks in the order in which they run, and the number of slots that they share.

    No block has an output before every input has been read, so that an output may take an input's place.
    """

    blocks: tuple[Block, ...]
    slots: int


def brief(program: Program) -> Program:
    """``program`` in the order of those tried that keeps fewest values alive; every operation stays.

    A recursion over a tree goes out to all tips before it comes back. When it is left for each result in
    turn, the last one first, a limb is finished before the next one begins. Its own order stays where
    another saves little (``WORTH_IT``).
    """
    others = [_result_by_result(program, backwards) for backwards in (True, False)]
    alive = [sum(_alive(ordered)) for ordered in others]
    best = min(alive)
    return others[alive.index(best)] if best < WORTH_IT * sum(_alive(program)) else program


def _result_by_result(program: Program, backwards: bool) -> Program:
    """The instructions that a result needs and that no earlier one did, for each result in turn."""
    first, done = program.first_instruction, set(range(program.first_instruction))
    order: list[int] = []
    for result in program.results[::-1] if backwards else program.results:
        waiting = [result]
        while waiting:
            value = waiting[-1]
            operands = () if value in done else program.instructions[value - first].operands
            missing = [operand for operand in operands if operand not in done]
            if missing:
                waiting += missing[::-1]
                continue
            waiting.pop()
            if value not in done:
                done.add(value)
                order.append(value)
    number = list(range(first)) + [0] * len(order)
    for place, value in enumerate(order, first):
        number[value] = place
    made = (program.instructions[value - first] for value in order)
    return replace(
        program,
        instructions=tuple(Instruction(i.operation, tuple(number[v] for v in i.operands)) for i in made),
        results=tuple(number[value] for value in program.results),
    )


def partition(program: Program, size: int = BLOCK_SIZE) -> Partition:
    """``program`` in blocks of about ``size`` instructions, cut where few values are alive."""
    return _Partitioner(program, size).partition()


class _Partitioner:
    def __init__(self, program: Program, size: int) -> None:
        self.program = program
        self.first = program.first_instruction
        self.bounds = _cuts(program, size)
        self.made: dict[int, int] = {}  # block that reads an input first, or computes a value
        self.last: dict[int, int] = {}  # last block that needs it
        self.needed: list[set[int]] = [set() for _ in self.bounds[1:]]
        for block, (start, end) in enumerate(zip(self.bounds, self.bounds[1:], strict=False)):
            for index in range(start, end):
                for operand in program.instructions[index].operands:
                    self._use(operand, block)
                self.made[self.first + index] = block
        all_read = max((self.made[v] for v in range(program.input_size) if v in self.made), default=0)
        self.outputs: list[list[int]] = [[] for _ in self.needed]
        for place, value in enumerate(program.results):
            block = max(self.made.get(value, 0), all_read)
            self.outputs[block].append(place)
            self._use(value, block)

    def _use(self, value: int, block: int) -> None:
        if not self._is_constant(value):
            self.made.setdefault(value, block)
            self.last[value] = max(block, self.last.get(value, 0))
            self.needed[block].add(value)

    def _is_constant(self, value: int) -> bool:
        return self.program.input_size <= value < self.first

    def partition(self) -> Partition:
        blocks: list[Block] = []
        slot: dict[int, int] = {}
        free: list[int] = []
        slots = 0
        for block, needed in enumerate(self.needed):
            kept = sorted(value for value in needed if self.made[value] < block)
            keep = sorted(v for v, made in self.made.items() if made == block and self.last.get(v, 0) > block)
            for value in keep:
                if not free:
                    free.append(slots)
                    slots += 1
                slot[value] = free.pop()
            blocks.append(
                Block(
                    program=self._program(block, kept, keep),
                    loads=tuple(slot[value] for value in kept),
                    stores=tuple(slot[value] for value in keep),
                    outputs=tuple(self.outputs[block]),
                )
            )
            free += [slot[value] for value in kept if self.last[value] == block]
        return Partition(tuple(blocks), slots)

    def _program(self, block: int, kept: list[int], keep: list[int]) -> Program:
        whole = self.program
        instructions = whole.instructions[self.bounds[block] : self.bounds[block + 1]]
        results = [*keep, *(whole.results[place] for place in self.outputs[block])]
        used = {operand for instruction in instructions for operand in instruction.operands}
        constants = sorted(value for value in used.union(results) if self._is_constant(value))
        order = [
            *range(whole.input_size),
            *kept,
            *constants,
            *range(self.first + self.bounds[block], self.first + self.bounds[block + 1]),
        ]
        number = {value: position for position, value in enumerate(order)}
        return Program(
            name=whole.name,
            inputs=(*whole.inputs, Argument(KEPT, len(kept))),
            constants=tuple(whole.constants[value - whole.input_size] for value in constants),
            instructions=tuple(
                Instruction(instruction.operation, tuple(number[operand] for operand in instruction.operands))
                for instruction in instructions
            ),
            outputs=(Argument("out", len(results)),),
            results=tuple(number[value] for value in results),
        )


def _alive(program: Program) -> list[int]:
    """Number of values that are alive before each instruction, and at the end."""
    total = len(program.instructions)
    first = program.first_instruction
    start: dict[int, int] = {}
    end: dict[int, int] = {}
    for index, instruction in enumerate(program.instructions):
        start[first + index] = index
        for operand in instruction.operands:
            if not program.input_size <= operand < first:
                start.setdefault(operand, index)
                end[operand] = index
    change = [0] * (total + 1)
    for value, index in end.items():
        change[start[value] + 1] += 1
        change[index + 1] -= 1
    alive = [0] * (total + 1)
    for index in range(1, total + 1):
        alive[index] = alive[index - 1] + change[index]
    return alive


def _cuts(program: Program, size: int) -> list[int]:
    """Ascending bounds of the blocks, from 0 to the number of instructions."""
    total, alive = len(program.instructions), _alive(program)
    bounds = [0]
    while total - bounds[-1] > 1.3 * size:
        nearest = bounds[-1] + max(1, int(0.6 * size))
        places = range(nearest, max(nearest + 1, min(bounds[-1] + int(1.2 * size), total)))
        bounds.append(min(places, key=lambda place: (alive[place], -place)))
    return [*bounds, total]
