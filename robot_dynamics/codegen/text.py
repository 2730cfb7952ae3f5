"""Text of a program as assignments of short infix expressions, shared by all emitters.

A value that is used once is written where it is used, as long as the line stays readable; the order and the
grouping of the operations are the program's own, so every language computes the same roundings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from robot_dynamics.codegen.program import Instruction, Operation, Program
from robot_dynamics.errors import BackendError

INFIX = {Operation.ADD: "+", Operation.SUB: "-", Operation.MUL: "*", Operation.DIV: "/"}
TRIGONOMETRY = (Operation.SIN, Operation.COS)
# Long enough for two or three products, short enough for a page.
LONGEST_INLINE = 60


@dataclass(frozen=True)
class ProgramText:
    """The statements of a program.

    Attributes:
        loads: (local name, input name, element) of every input scalar that is used.
        prologue: (name, expression) of what the angles depend on.
        angles: expressions of the arguments of sin and cos that can be known at the start.
        arguments: value numbers of the same.
        functions: (name, "sin" or "cos", index into ``angles``).
        body: (name, expression) of everything else, in order.
        results: expression of every output scalar.
    """

    loads: tuple[tuple[str, str, int], ...]
    prologue: tuple[tuple[str, str], ...]
    angles: tuple[str, ...]
    arguments: tuple[int, ...]
    functions: tuple[tuple[str, str, int], ...]
    body: tuple[tuple[str, str], ...]
    results: tuple[str, ...]


def render(program: Program, suffix: str = "", named_results: bool = False) -> ProgramText:
    """The statements of ``program``.

    Args:
        program: what to write.
        suffix: appended to the names of the functions sin, cos and sqrt in expressions.
        named_results: whether a computed result is always assigned to a name, where it is computed.

    Raises:
        BackendError: a constant is not finite.
    """
    return _Renderer(program, suffix, named_results).render()


@dataclass
class _Renderer:
    program: Program
    suffix: str
    named_results: bool
    first: int = field(init=False)
    uses: list[int] = field(init=False)
    # Text of every value where it is used, and whether it needs parentheses inside an expression.
    text: list[str] = field(init=False)
    compound: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        program = self.program
        self.first = program.first_instruction
        size = self.first + len(program.instructions)
        self.uses = [0] * size
        for instruction in program.instructions:
            for operand in instruction.operands:
                # What a lane is picked from needs a name.
                self.uses[operand] += 1 + (instruction.operation is Operation.PICK)
        for result in program.results:
            self.uses[result] += 1 + self.named_results
        self.text, self.compound = [""] * size, [False] * size

    def render(self) -> ProgramText:
        loads = self._name_inputs()
        for number, value in enumerate(self.program.constants, self.program.input_size):
            if not math.isfinite(value):
                raise BackendError(f"{self.program.name}: constant {number} is {value}; it must be finite")
            self.text[number] = repr(float(value)) if value >= 0.0 else f"({float(value)!r})"
        early, in_prologue = self._schedule()
        prologue, body = [], []
        angles: dict[int, int] = {}
        functions = []
        # Two passes, because the angles come before everything that is not needed to know them.
        for number in sorted(in_prologue):
            prologue += self._assign(number)
        for number in sorted(early):
            instruction = self._instruction(number)
            operand = instruction.operands[0]
            index = angles.setdefault(operand, len(angles))
            name = f"{instruction.operation.value}{index}"
            functions.append((name, instruction.operation.value, index))
            self.text[number] = name
        for number in range(self.first, len(self.text)):
            if number not in early and number not in in_prologue:
                body += self._assign(number)
        return ProgramText(
            loads=loads,
            prologue=tuple(prologue),
            angles=tuple(self.text[operand] for operand in angles),
            arguments=tuple(angles),
            functions=tuple(functions),
            body=tuple(body),
            results=tuple(self.text[number] for number in self.program.results),
        )

    def _instruction(self, number: int) -> Instruction:
        return self.program.instructions[number - self.first]

    def _name_inputs(self) -> tuple[tuple[str, str, int], ...]:
        loads, number = [], 0
        for argument in self.program.inputs:
            for element in range(argument.size):
                self.text[number] = f"{argument.name}_{element}"
                if self.uses[number]:
                    loads.append((self.text[number], argument.name, element))
                number += 1
        return tuple(loads)

    def _schedule(self) -> tuple[set[int], set[int]]:
        """Sines and cosines that depend on no other one, and the instructions that their angles need."""
        after_trigonometry = [False] * len(self.text)
        early: set[int] = set()
        for number in range(self.first, len(self.text)):
            instruction = self._instruction(number)
            late = any(after_trigonometry[operand] for operand in instruction.operands)
            if instruction.operation in TRIGONOMETRY and not late:
                early.add(number)
                late = True
            after_trigonometry[number] = late
        needed: set[int] = set()
        stack = [self._instruction(number).operands[0] for number in early]
        while stack:
            number = stack.pop()
            if number >= self.first and number not in needed:
                needed.add(number)
                stack.extend(self._instruction(number).operands)
        return early, needed

    def _assign(self, number: int) -> list[tuple[str, str]]:
        """Define value ``number``; empty when it is written where it is used."""
        instruction = self._instruction(number)
        operation = instruction.operation
        operands = [self._operand(operand) for operand in instruction.operands]
        if operation in INFIX:
            expression = f" {INFIX[operation]} ".join(operands)
        elif operation is Operation.PICK:
            lane = self.program.constants[instruction.operands[1] - self.program.input_size]
            self.text[number] = f"{operands[0]}[{lane:.0f}]"
            return []
        elif operation is Operation.NEG:
            expression = f"-{operands[0]}"
        else:
            expression = f"{operation.value}{self.suffix}({self.text[instruction.operands[0]]})"
        is_call = operation in TRIGONOMETRY or operation is Operation.SQRT
        if self.uses[number] == 1 and not is_call and len(expression) <= LONGEST_INLINE:
            self.text[number], self.compound[number] = expression, True
            return []
        name = f"t{number - self.first}"
        self.text[number] = name
        return [(name, expression)]

    def _operand(self, number: int) -> str:
        return f"({self.text[number]})" if self.compound[number] else self.text[number]
