"""Scalars that record what is computed with them.

An :class:`ExpressionGraph` stores every distinct operation once (hash-consing): building the same expression
twice gives the same node, so common subexpressions are shared by construction. Constants are folded, zeros
and ones disappear, and signs are normalised. A value is a *literal*: ``2 * node + negated``, so a sign change
costs nothing and is written only where a program needs the negated number itself.

Any formulation written with ``+ - * /`` and :func:`sin`, :func:`cos`, :func:`sqrt` runs on floats and on
:class:`Expression` alike.

    graph = ExpressionGraph()
    q = graph.input("q", 2, "joint angles [rad]")
    program = graph.build_program("reach", [(Argument("x", 1), [cos(q[0]) + cos(q[0] + q[1])])])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from robot_dynamics.codegen.lowering import lower, reachable
from robot_dynamics.codegen.nodes import (
    ADD,
    CONSTANT,
    COS,
    DIV,
    INPUT,
    KINDS,
    MUL,
    PICK,
    SIN,
    SQRT,
    SUB,
    Node,
)
from robot_dynamics.codegen.program import Argument, OperationCount, Program
from robot_dynamics.errors import BackendError

Scalar: TypeAlias = "Expression | float"


class ExpressionGraph:
    """The table of nodes that a set of expressions shares.

    Attributes:
        nodes: every node; a node's operands have smaller numbers than the node itself.
        inputs: the declared input arrays, in the order of declaration.
        values: the constants' values (not negative), by node number.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Argument] = []
        self.values: dict[int, float] = {}
        self._numbers: dict[Node, int] = {}
        self._constants: dict[float, int] = {}
        self._input_nodes: list[int] = []
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)

    def input(self, name: str, size: int, description: str = "") -> tuple[Expression, ...]:
        """Declare an input array and return its scalars."""
        if any(argument.name == name for argument in self.inputs):
            raise BackendError(f"the input {name!r} is declared twice; give each input its own name")
        self.inputs.append(Argument(name, size, description))
        scalars = []
        for _ in range(size):
            node = self._new((INPUT, len(self._input_nodes), 0))
            self._input_nodes.append(node)
            scalars.append(Expression(self, 2 * node))
        return tuple(scalars)

    @property
    def input_scalars(self) -> tuple[Expression, ...]:
        """The scalars of all declared inputs, in the order of declaration."""
        return tuple(Expression(self, 2 * node) for node in self._input_nodes)

    def expression(self, value: Scalar) -> Expression:
        """``value`` as an expression of this graph (numbers become constants)."""
        return Expression(self, self.literal(value))

    def literal(self, value: Scalar) -> int:
        """The literal of an expression of this graph, or of a number."""
        if isinstance(value, Expression):
            if value.graph is not self:
                raise BackendError("an expression of another graph was used; build all from one graph")
            return value.literal
        return self.constant(float(value))

    def constant(self, value: float) -> int:
        """The literal of a constant."""
        if not math.isfinite(value):
            raise BackendError(f"the constant {value} is not finite")
        magnitude = abs(value)
        node = self._constants.get(magnitude)
        if node is None:
            node = self._new((CONSTANT, len(self._constants), 0))
            self._constants[magnitude] = node
            self.values[node] = magnitude
        return 2 * node + (value < 0.0)

    def constant_value(self, literal: int) -> float | None:
        """The number that ``literal`` stands for, None when it is not constant."""
        value = self.values.get(literal >> 1)
        return -value if value is not None and literal & 1 else value

    def add(self, a: int, b: int) -> int:
        """The literal of the sum of two literals."""
        if a >> 1 > b >> 1:
            a, b = b, a
        if a == self.zero:
            return b
        if a >> 1 == b >> 1:
            return self.zero if a != b else self.multiply(self.constant(2.0), a)
        x, y = self.values.get(a >> 1), self.values.get(b >> 1)
        if x is not None and y is not None:
            return self.constant((-x if a & 1 else x) + (-y if b & 1 else y))
        sign = a & 1
        return 2 * self._intern((ADD if sign == b & 1 else SUB, a >> 1, b >> 1)) + sign

    def multiply(self, a: int, b: int) -> int:
        """The literal of the product of two literals."""
        if a > b:
            a, b = b, a
        # Zero and one are the first two nodes.
        if a == self.zero:
            return a
        if a >> 1 == self.one >> 1:
            return b ^ (a & 1)
        sign = (a ^ b) & 1
        m, n = a >> 1, b >> 1
        x, y = self.values.get(m), self.values.get(n)
        if y is not None:
            m, n, x, y = n, m, y, x
        if x is not None:
            if y is not None:
                return self.constant(x * y) ^ sign if x * y else self.zero
            kind, p, r = self.nodes[n]
            if kind == MUL and (z := self.values.get(p)) is not None:
                # The product may be too small for a number: zero has no sign.
                return self.multiply(self.constant(x * z), 2 * r ^ sign)
        return 2 * self._intern((MUL, m, n)) + sign

    def divide(self, a: int, b: int) -> int:
        """The literal of the quotient of two literals."""
        divisor = self.values.get(b >> 1)
        if divisor == 0.0:
            raise BackendError("division by the constant zero")
        if divisor is not None:
            return self.multiply(a, self.constant(1.0 / divisor) ^ (b & 1))
        if a == self.zero:
            return a
        sign = (a ^ b) & 1
        if a >> 1 == b >> 1:
            return self.one ^ sign
        return 2 * self._intern((DIV, a >> 1, b >> 1)) + sign

    def function(self, kind: int, a: int) -> int:
        """The literal of SIN, COS or SQRT of a literal."""
        if (value := self.constant_value(a)) is not None:
            if kind == SQRT and value < 0.0:
                raise BackendError(f"square root of the negative constant {value}")
            return self.constant(_FUNCTIONS[kind](value))
        if kind == SQRT:
            return 2 * self._intern((SQRT, a, 0))
        return 2 * self._intern((kind, a & ~1, 0)) + (a & 1 if kind == SIN else 0)

    def pick(self, a: int, lane: int) -> int:
        """The literal of the scalar in a lane of a vector."""
        if a >> 1 in self.values:
            return a
        return 2 * self._intern((PICK, a & ~1, lane)) + (a & 1)

    def build_program(self, name: str, outputs: Sequence[tuple[Argument, Sequence[Scalar]]]) -> Program:
        """The straight-line program that computes ``outputs``; what they do not need is left out.

        Args:
            name: a valid C identifier.
            outputs: each output array with its scalars.

        Raises:
            BackendError: an output's size differs from the number of its scalars.
        """
        for argument, scalars in outputs:
            if argument.size != len(scalars):
                raise BackendError(f"output {argument.name!r} has size {argument.size}, {len(scalars)} given")
        results = [self.literal(scalar) for _, scalars in outputs for scalar in scalars]
        return lower(
            name,
            tuple(self.inputs),
            self.nodes,
            self.values,
            tuple(argument for argument, _ in outputs),
            results,
        )

    def count(self, scalars: Iterable[Scalar]) -> OperationCount:
        """Operations that the program of ``scalars`` takes, without building it."""
        tally = [0] * len(KINDS)
        for number in reachable(self.nodes, [self.literal(scalar) for scalar in scalars]):
            tally[self.nodes[number][0]] += 1
        return OperationCount(
            multiplications=tally[MUL],
            additions=tally[ADD] + tally[SUB],
            divisions=tally[DIV],
            square_roots=tally[SQRT],
            sines_and_cosines=tally[SIN] + tally[COS],
        )

    def _new(self, key: Node) -> int:
        self.nodes.append(key)
        return len(self.nodes) - 1

    def _intern(self, key: Node) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._new(key)
        return number


class Expression:
    """A scalar of an :class:`ExpressionGraph`."""

    __slots__ = ("graph", "literal")

    def __init__(self, graph: ExpressionGraph, literal: int) -> None:
        self.graph = graph
        self.literal = literal

    @property
    def constant(self) -> float | None:
        """The value of a constant expression, else None."""
        return self.graph.constant_value(self.literal)

    @property
    def is_zero(self) -> bool:
        """Return whether this is the constant zero."""
        return self.literal == self.graph.zero

    def __add__(self, other: Scalar) -> Expression:
        graph = self.graph
        return Expression(graph, graph.add(self.literal, graph.literal(other)))

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Expression:
        return Expression(self.graph, self.graph.add(self.literal, negated(self.graph, other)))

    def __rsub__(self, other: Scalar) -> Expression:
        return Expression(self.graph, self.graph.add(self.graph.literal(other), negated(self.graph, self)))

    def __mul__(self, other: Scalar) -> Expression:
        graph = self.graph
        return Expression(graph, graph.multiply(self.literal, graph.literal(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Expression:
        return Expression(self.graph, self.graph.divide(self.literal, self.graph.literal(other)))

    def __rtruediv__(self, other: Scalar) -> Expression:
        return Expression(self.graph, self.graph.divide(self.graph.literal(other), self.literal))

    def __neg__(self) -> Expression:
        return Expression(self.graph, negated(self.graph, self))

    def __pos__(self) -> Expression:
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Expression):
            return self.graph is other.graph and self.literal == other.literal
        if isinstance(other, int | float):
            return self.constant == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash((id(self.graph), self.literal))

    def __repr__(self) -> str:
        value = self.constant
        return f"Expression({'-' * (self.literal & 1)}#{self.literal >> 1})" if value is None else str(value)

    def sin(self) -> Expression:
        """Sine; the name that numpy calls on object arrays."""
        return Expression(self.graph, self.graph.function(SIN, self.literal))

    def cos(self) -> Expression:
        """Cosine; the name that numpy calls on object arrays."""
        return Expression(self.graph, self.graph.function(COS, self.literal))

    def sqrt(self) -> Expression:
        """Square root; the name that numpy calls on object arrays."""
        return Expression(self.graph, self.graph.function(SQRT, self.literal))


_FUNCTIONS: dict[int, Callable[[float], float]] = {SIN: math.sin, COS: math.cos, SQRT: math.sqrt}


def negated(graph: ExpressionGraph, value: Scalar) -> int:
    """The literal of ``-value``."""
    literal = graph.literal(value)
    return literal if literal == graph.zero else literal ^ 1


def sin(x: Any) -> Any:
    """Sine [rad] of a number, or of any scalar that has a method ``sin``."""
    return math.sin(x) if isinstance(x, int | float) else x.sin()


def cos(x: Any) -> Any:
    """Cosine [rad] of a number, or of any scalar that has a method ``cos``."""
    return math.cos(x) if isinstance(x, int | float) else x.cos()


def sqrt(x: Any) -> Any:
    """Square root of a number, or of any scalar that has a method ``sqrt``."""
    return math.sqrt(x) if isinstance(x, int | float) else x.sqrt()
