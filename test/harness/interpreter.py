"""A plain interpreter of programs: slow, and the yardstick for every emitter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.codegen.program import Operation, Program
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
    values.extend(np.float64(constant) for constant in program.constants)
    for instruction in program.instructions:
        values.append(FUNCTIONS[instruction.operation](*(values[i] for i in instruction.operands)))
    outputs, position = {}, 0
    for argument in program.outputs:
        results = [values[i] for i in program.results[position : position + argument.size]]
        shape = (*batch, argument.size)
        outputs[argument.name] = (
            np.stack([np.broadcast_to(result, batch) for result in results], axis=-1)
            if results
            else np.zeros(shape)
        )
        position += argument.size
    return outputs
