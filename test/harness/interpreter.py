"""A plain interpreter of programs: slow, and the yardstick for every emitter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.codegen.program import Limbs, Operation, Program
from robot_dynamics.errors import StateError

FUNCTIONS: dict[Operation, Callable[..., Any]] = {
    Operation.ADD: np.add,
    Operation.SUB: np.subtract,
    Operation.MUL: np.multiply,
    Operation.DIV: np.divide,
    Operation.NEG: np.negative,
    Operation.SIN: np.sin,
    Operation.COS: np.cos,
    Operation.SQRT: np.sqrt,
}
EXACT: dict[Operation, Callable[..., Any]] = {
    Operation.ADD: operator.add,
    Operation.SUB: operator.sub,
    Operation.MUL: operator.mul,
    Operation.DIV: operator.truediv,
    Operation.NEG: operator.neg,
}
"""Operations on numbers that are never rounded, such as fractions."""


def results_of(
    program: Program,
    inputs: Sequence[Any],
    functions: Mapping[Operation, Callable[..., Any]] = FUNCTIONS,
    number: Callable[[float], Any] = np.float64,
) -> list[Any]:
    """The results of ``program`` for the values of its inputs, one after the other.

    Args:
        program: what to run.
        inputs: a value for every input scalar.
        functions: one for every operation.
        number: makes a value of a constant.
    """
    values = [*inputs, *map(number, program.constants)]
    for instruction in program.instructions:
        values.append(functions[instruction.operation](*(values[i] for i in instruction.operands)))
    return [values[i] for i in program.results]


def evaluate(program: Program, inputs: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
    """Run ``program``.

    Args:
        program: what to run.
        inputs: for every input its values, shape (size,) or a batch (..., size); batch shapes broadcast.

    Returns:
        For every output its values, shape (size,) or (..., size).

    Raises:
        StateError: an input is missing, unknown or of the wrong size.
    """
    expected = {argument.name for argument in program.inputs}
    if set(inputs) != expected:
        raise StateError(f"{program.name} takes the inputs {sorted(expected)}, not {sorted(inputs)}")
    values: list[Any] = []
    for argument in program.inputs:
        array = np.asarray(inputs[argument.name], dtype=float)
        if array.ndim == 0 or array.shape[-1] != argument.size:
            raise StateError(
                f"{argument.name} has shape {array.shape}; the last axis must be {argument.size}"
            )
        values.extend(array[..., i] for i in range(argument.size))
    batch = np.broadcast_shapes(*(np.shape(value) for value in values))
    whole, outputs, position = results_of(program, values), {}, 0
    for argument in program.outputs:
        results = whole[position : position + argument.size]
        shape = (*batch, argument.size)
        outputs[argument.name] = (
            np.stack([np.broadcast_to(result, batch) for result in results], axis=-1)
            if results
            else np.zeros(shape)
        )
        position += argument.size
    return outputs


def lane_results(limbs: Limbs, given: Sequence[float]) -> NDArray[np.float64]:
    """The results of a program with lanes; a value is a number, or an array of one number per lane."""
    vectors = [
        np.array(
            v.constants or [-given[k] if s else given[k] for k, s in zip(v.scalars, v.negated, strict=True)]
        )
        for v in limbs.vectors
    ]
    functions = FUNCTIONS | {Operation.PICK: lambda vector, lane: vector[int(lane)]}
    return np.array(results_of(limbs.program, [*given, *vectors], functions))
