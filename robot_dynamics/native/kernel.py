"""Kernels: compiled code or generated Python that computes one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from robot_dynamics.spatial import Array


class Kernel(Protocol):
    """Compiled code or generated Python that computes one function."""

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> bool:
        """Evaluate one state, or a batch; whether every output is finite.

        Args:
            inputs: C-contiguous float64 arrays (size,), or (N, size), in the order of the program; those that
                all states share have no rows. The first one tells whether it is a batch.
            outputs: where the results go: as contiguous, with as many rows.
        """


class PythonKernel:
    """A generated Python function."""

    def __init__(self, function: Callable[..., Any], outputs: int) -> None:
        """Wrap a ``function`` that returns one list of scalars, or a tuple of several ``outputs``."""
        self._function = function
        self._outputs = outputs

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> bool:
        """See `Kernel`."""
        if inputs[0].ndim == 1:
            try:
                results = self._results(*(array.tolist() for array in inputs))
            except (ValueError, ZeroDivisionError, OverflowError):
                return False
            for output, values in zip(outputs, results, strict=True):
                output.reshape(-1)[:] = values
        else:
            with np.errstate(all="ignore"):
                results = self._results(*(array.T for array in inputs), np.sin, np.cos, np.sqrt)
            for output, values in zip(outputs, results, strict=True):
                for column, value in zip(output.reshape(len(output), -1).T, values, strict=True):
                    column[:] = value
        return all(bool(np.isfinite(output).all()) for output in outputs)

    def _results(self, *arguments: Any) -> Sequence[Sequence[Any]]:
        results: Any = self._function(*arguments)
        return (results,) if self._outputs == 1 else results
