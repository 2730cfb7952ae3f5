"""From nodes with signs to a straight-line :class:`Program`.

A node's value may be stored negated: then a product or a difference absorbs the sign that an output needs,
and a NEG is written only where no operand can absorb it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robot_dynamics.codegen.nodes import ADD, CONSTANT, COS, DIV, INPUT, MUL, PICK, SIN, SQRT, SUB, Node
from robot_dynamics.codegen.program import Argument, Instruction, Operation, Program

_FUNCTIONS = {SIN: Operation.SIN, COS: Operation.COS, SQRT: Operation.SQRT}


def reachable(nodes: Sequence[Node], literals: Sequence[int]) -> list[int]:
    """Numbers of the nodes that ``literals`` depend on, ascending."""
    found: set[int] = set()
    stack = [literal >> 1 for literal in literals]
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            kind, a, b = nodes[number]
            if kind in _FUNCTIONS or kind == PICK:
                stack.append(a >> 1)
            elif kind not in (INPUT, CONSTANT):
                stack += (a, b)
    return sorted(found)


def lower(
    name: str,
    inputs: tuple[Argument, ...],
    nodes: Sequence[Node],
    constants: Mapping[int, float],
    outputs: tuple[Argument, ...],
    results: Sequence[int],
) -> Program:
    """The program that computes the literals ``results``."""
    used = reachable(nodes, results)
    polarity = _Polarity(nodes)
    for literal in results:
        polarity.request(literal >> 1, literal & 1)
    for number in used:
        kind, a, _ = nodes[number]
        if kind == SQRT:
            polarity.request(a >> 1, a & 1)
    return _Lowering(inputs, nodes, constants, used, polarity.negated).program(name, outputs, results)


class _Polarity:
    """Nodes to store negated, so that the requested literals need no sign change."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.negated: dict[int, int] = {}

    def request(self, number: int, sign: int, depth: int = 20) -> bool:
        """Ask for node ``number`` times (-1)**sign; False when a sign change remains necessary."""
        kind, a, b = self.nodes[number]
        if kind == CONSTANT:
            return True
        if number in self.negated:
            return self.negated[number] == sign
        granted = not sign or kind == SUB
        if sign and kind in (MUL, DIV, ADD) and depth:
            granted = self.request(b, 1, depth - 1) or self.request(a, 1, depth - 1)
        self.negated[number] = sign if granted else 0
        return granted


class _Lowering:
    def __init__(
        self,
        inputs: tuple[Argument, ...],
        nodes: Sequence[Node],
        constants: Mapping[int, float],
        used: Sequence[int],
        negated: Mapping[int, int],
    ) -> None:
        self.inputs = inputs
        self.nodes = nodes
        self.constants = constants
        self.used = used
        self.negated = negated
        self.instructions: list[tuple[Operation, tuple[int, ...]]] = []
        self.constant_numbers: dict[float, int] = {}
        self.literals: dict[int, int] = {}
        self.negations: dict[int, int] = {}

    def program(self, name: str, outputs: tuple[Argument, ...], results: Sequence[int]) -> Program:
        # Until their number is known, constants are numbered -1, -2, … and instructions from the inputs on.
        self.first = sum(argument.size for argument in self.inputs)
        for number in self.used:
            self._node(number)
        values = [self._value(literal) for literal in results]
        count = len(self.constant_numbers)

        def final(value: int) -> int:
            if value < 0:
                return self.first - 1 - value
            return value if value < self.first else value + count

        return Program(
            name=name,
            inputs=self.inputs,
            constants=tuple(self.constant_numbers),
            instructions=tuple(Instruction(o, tuple(final(v) for v in vs)) for o, vs in self.instructions),
            outputs=outputs,
            results=tuple(final(value) for value in values),
        )

    def _node(self, number: int) -> None:
        """Write the instruction of a node; remember its literal: 2 * value number + stored negated."""
        kind, a, b = self.nodes[number]
        if kind == CONSTANT:
            return
        if kind == INPUT:
            self.literals[number] = 2 * a
        elif kind in _FUNCTIONS:
            self.literals[number] = 2 * self._emit(_FUNCTIONS[kind], self._value(a))
        elif kind == PICK:
            vector = self.literals[a >> 1]
            lane = self._constant(float(b))
            self.literals[number] = 2 * self._emit(Operation.PICK, vector >> 1, lane) + (vector & 1)
        elif kind in (MUL, DIV):
            y = self.literals[b]
            x = self._signed(a, self.negated.get(number, 0) ^ (y & 1))
            operation = Operation.MUL if kind == MUL else Operation.DIV
            self.literals[number] = 2 * self._emit(operation, x >> 1, y >> 1) + ((x ^ y) & 1)
        else:
            wanted = self.negated.get(number, 0)
            flip = wanted ^ (kind == SUB)
            x, y = self._signed(a, wanted) ^ wanted, self._signed(b, flip) ^ flip
            if not x & 1:
                operation = Operation.SUB if y & 1 else Operation.ADD
                self.literals[number] = 2 * self._emit(operation, x >> 1, y >> 1) + wanted
            elif not y & 1:
                self.literals[number] = 2 * self._emit(Operation.SUB, y >> 1, x >> 1) + wanted
            else:
                self.literals[number] = 2 * self._emit(Operation.ADD, x >> 1, y >> 1) + (1 - wanted)

    def _signed(self, number: int, sign: int) -> int:
        """Literal of a node's value; a constant is written with the sign that is wanted."""
        if number not in self.constants:
            return self.literals[number]
        value = self.constants[number]
        return 2 * self._constant(-value if sign else value) + sign

    def _constant(self, value: float) -> int:
        return self.constant_numbers.setdefault(value, -1 - len(self.constant_numbers))

    def _emit(self, operation: Operation, *values: int) -> int:
        self.instructions.append((operation, values))
        return self.first + len(self.instructions) - 1

    def _value(self, literal: int) -> int:
        """Value number of a literal, negated by an instruction if need be."""
        number = literal >> 1
        if number in self.constants:
            value = self.constants[number]
            return self._constant(-value if literal & 1 else value)
        stored = self.literals[number]
        if (stored ^ literal) & 1 == 0:
            return stored >> 1
        if number not in self.negations:
            self.negations[number] = self._emit(Operation.NEG, stored >> 1)
        return self.negations[number]
