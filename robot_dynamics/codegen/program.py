"""A straight-line scalar program: what the generators produce and the emitters print.

It knows nothing of robots. Values are numbered in one sequence: first every input scalar (the inputs'
elements one after the other), then every constant, then the result of every instruction. An instruction
refers only to values with smaller numbers.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Operation(enum.Enum):
    """Scalar operations. In counts, ADD and SUB are additions, MUL multiplications, DIV divisions;
    NEG, SIN, COS and SQRT are reported apart and never among the additions and multiplications. PICK takes a
    vector and a lane."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    NEG = "neg"
    SIN = "sin"
    COS = "cos"
    SQRT = "sqrt"
    PICK = "pick"


@dataclass(frozen=True)
class Argument:
    """An input or output array.

    Attributes:
        name: a valid C identifier.
        size: number of scalars.
        description: one line for the generated documentation, units included.
    """

    name: str
    size: int
    description: str = ""


@dataclass(frozen=True)
class Instruction:
    """``value = operation(*operands)``; operands are value numbers."""

    operation: Operation
    operands: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """A straight-line program.

    Attributes:
        name: a valid C identifier.
        inputs: in the order of their value numbers.
        constants: values of the constants.
        instructions: in execution order, each used by a later one or by an output.
        outputs: the output arrays.
        results: value number of every output scalar, the outputs' elements one after the other.
        columns: another way to compute the same for a single state; None where there is none.
        limbs: likewise, for robots with limbs that are alike.
    """

    name: str
    inputs: tuple[Argument, ...]
    constants: tuple[float, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[Argument, ...]
    results: tuple[int, ...]
    columns: Columns | None = None
    limbs: Limbs | None = None

    @property
    def input_size(self) -> int:
        """Number of input scalars."""
        return sum(argument.size for argument in self.inputs)

    @property
    def first_instruction(self) -> int:
        """Value number of the first instruction's result."""
        return self.input_size + len(self.constants)


@dataclass(frozen=True)
class PlacedRows:
    """An (n, n) output of :class:`Columns`: a matrix in vectors, or of scalars, or the product of both.

    Attributes:
        left: places of the scalars among the results of ``scalars``, row by row; empty where there are none.
        lower: of n vectors among the results of ``lanes``: lane i of vector j is the entry (i, j), i >= j.
        upper: likewise, lane i of vector j is the entry (j, i), i > j. Both empty where there are no vectors.
    """

    left: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]


@dataclass(frozen=True)
class Columns:
    """Two programs that together compute (n, n) matrices of one state.

    Attributes:
        size: n.
        scalars: from the state; its results are the inputs of ``lanes``, then the factors of products.
        lanes: on vectors; every input is a scalar.
        entered: by input of ``lanes``, the lane that it enters alone; None for a scalar that all lanes share.
        outputs: the matrices.
    """

    size: int
    scalars: Program
    lanes: Program
    entered: tuple[int | None, ...]
    outputs: tuple[PlacedRows, ...]


@dataclass(frozen=True)
class VectorInput:
    """A vector that a program with lanes begins with.

    Attributes:
        constants: of the lanes; empty where they are inputs.
        scalars: numbers of the input scalars.
        negated: of every lane 1 where the input changes its sign.
    """

    constants: tuple[float, ...] = ()
    scalars: tuple[int, ...] = ()
    negated: tuple[int, ...] = ()

    @property
    def limbs(self) -> int:
        """Number of lanes that are used."""
        return len(self.constants or self.scalars)


@dataclass(frozen=True)
class Limbs:
    """A program in which limbs that are alike are lanes of vectors.

    Attributes:
        program: its inputs are those of the whole, then one of one element for each of ``vectors``.
        vectors: what those inputs are.
    """

    program: Program
    vectors: tuple[VectorInput, ...]


@dataclass(frozen=True)
class OperationCount:
    """Operations of a program, by the convention stated in ``CONVENTION``."""

    multiplications: int
    additions: int
    divisions: int = 0
    square_roots: int = 0
    sines_and_cosines: int = 0

    @property
    def total(self) -> int:
        """Multiplications, additions, divisions and square roots together."""
        return self.multiplications + self.additions + self.divisions + self.square_roots


CONVENTION = (
    "additions and subtractions count 1, multiplications 1 (a square is a multiplication), divisions and"
    " square roots 1; sign changes, sines and cosines count 0, what stands inside a sine or cosine counts"
    " like anything else; what depends on parameters alone is computed once, offline, and counts 0; dead"
    " code is removed"
)


def count_operations(program: Program) -> OperationCount:
    """Operations of ``program`` by ``CONVENTION``."""
    tally = dict.fromkeys(Operation, 0)
    for instruction in program.instructions:
        tally[instruction.operation] += 1
    return OperationCount(
        multiplications=tally[Operation.MUL],
        additions=tally[Operation.ADD] + tally[Operation.SUB],
        divisions=tally[Operation.DIV],
        square_roots=tally[Operation.SQRT],
        sines_and_cosines=tally[Operation.SIN] + tally[Operation.COS],
    )
