"""A function with checked arguments and checked results, whatever computes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from robot_dynamics.errors import SingularityError, StateError, WrongTypeError, of_wrong_type
from robot_dynamics.inputs.arrays import is_a, listed, real_array
from robot_dynamics.native.kernel import Kernel
from robot_dynamics.native.signature import Input, Signature
from robot_dynamics.spatial import Array

# Names of the optional inputs that a call gives, in their order.
Given: TypeAlias = tuple[str, ...]
Result: TypeAlias = Any  # an array, or a tuple of as many as the function has outputs


class Evaluator:
    """Computes one function; the arguments may be anything that numpy turns into arrays of numbers."""

    def __init__(
        self, signature: Signature, load: Callable[[Given], Kernel], constants: Sequence[Array] = ()
    ) -> None:
        """Prepare without loading anything.

        Args:
            signature: of the function.
            load: makes the kernel for a choice of optional inputs.
            constants: values of the constant inputs.
        """
        self.signature = signature
        self.constants = tuple(np.array(values, dtype=np.float64) for values in constants)
        self._load = load
        self._kernels: dict[Given, Kernel] = {}
        self._lock = threading.Lock()
        self._link: Callable[[Kernel, Given], None] | None = None
        self._linked: set[Given] = set()

    def kernel(self, given: Given = ()) -> Kernel:
        """The kernel for a choice of optional inputs, loaded on first use."""
        with self._lock:
            if given not in self._kernels:
                self._kernels[given] = self._load(given)
            kernel = self._kernels[given]
        if self._link is not None and given not in self._linked:
            self._linked.add(given)
            self._link(kernel, given)
        return kernel

    def link(self, link: Callable[[Kernel, Given], None]) -> None:
        """Call ``link`` with every kernel, and what is given to it, when it is first used."""
        self._link = link

    def share_kernels(self, other: Evaluator) -> None:
        """Use the kernels of ``other`` from now on, loaded or not; only the constants may differ."""
        self._kernels, self._lock, self._load = other._kernels, other._lock, other._load

    def __call__(self, *positional: Any, **named: Any) -> Result:
        """Evaluate.

        Raises:
            StateError: a wrong shape or a value that is not finite.
            SingularityError: the result is not finite, and the signature says why.
        """
        arguments = self._bind(positional, named)
        states = [_state(array, arguments[array.name]) for array in self.signature.states]
        leading = states[0].shape[:-1]
        self._same_rows(states)
        optional = [array for array in self.signature.optional if arguments.get(array.name) is not None]
        options = [_optional(array, arguments[array.name], leading) for array in optional]
        inputs = [*states, *options]
        shapes = [(*leading, *shape) for shape in self.signature.outputs]
        outputs, copies = self._outputs(arguments.get("out"), shapes, inputs)
        if all(output.size for output in outputs):
            kernel = self.kernel(tuple(array.name for array in optional))
            if not kernel.run([*inputs, *self.constants], outputs):
                self._explain([*self.signature.states, *optional], inputs)
        for target, output in copies:
            target[...] = output
        if arguments.get("out") is not None:
            return arguments["out"]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _bind(self, positional: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        names = self.signature.arguments
        arguments = dict(zip(names, positional, strict=False))
        unknown = [name for name in named if name not in names or name in arguments]
        missing = [a.name for a in self.signature.states if a.name not in arguments and a.name not in named]
        if len(positional) > len(names) or unknown or missing:
            optional = " and ".join(names[len(self.signature.states) :])
            verb = "is" if len(names) == len(self.signature.states) + 1 else "are"
            raise WrongTypeError(
                f"{self.signature.name}() takes ({', '.join(names)}); {optional} {verb} optional"
            )
        return {**arguments, **named}

    def _same_rows(self, states: Sequence[Array]) -> None:
        for array, state in zip(self.signature.states, states, strict=True):
            if state.shape[:-1] != states[0].shape[:-1]:
                raise StateError(
                    f"{array.name} has shape {state.shape}, {self.signature.states[0].name} has"
                    f" {states[0].shape}; all states must have one shape, {_expected(array)}"
                )

    def _outputs(
        self, out: Any, shapes: Sequence[tuple[int, ...]], inputs: Sequence[Array]
    ) -> tuple[list[Array], list[tuple[Array, Array]]]:
        """Arrays to compute into, and copies to make afterwards; ``out`` itself where possible."""
        if out is None:
            return [np.empty(shape) for shape in shapes], []
        wanted = [out] if len(shapes) == 1 else out
        if type(wanted) not in (list, tuple) and is_a(wanted, list | tuple):
            wanted = listed("out", wanted, StateError, len(shapes))
        if not isinstance(wanted, list | tuple) or len(wanted) != len(shapes):
            raise of_wrong_type(StateError)(
                f"out is {type(out).__name__}; expected a tuple of {len(shapes)} arrays"
            )
        for target, shape in zip(wanted, shapes, strict=True):
            if not isinstance(target, np.ndarray) or target.dtype != np.float64 or target.shape != shape:
                given = isinstance(target, np.ndarray)
                kind = f"{target.dtype} {target.shape}" if given else _kind(target)
                raised = StateError if given else of_wrong_type(StateError)
                raise raised(f"out is {kind}; expected an array float64 {shape}")
            if not target.flags.writeable:
                raise StateError("out is read-only; expected an array that can be written to")
        outputs, copies = [], []
        for place, target in enumerate(wanted):
            if any(np.may_share_memory(target, other) for other in wanted[:place]):
                raise StateError(
                    f"entry {place} of out shares memory with one before; expected arrays of their own"
                )
            if target.flags.carray and not any(np.may_share_memory(target, other) for other in inputs):
                outputs.append(target)
            else:
                outputs.append(np.empty(target.shape))
                copies.append((target, outputs[-1]))
        return outputs, copies

    def _explain(self, arrays: Sequence[Input], inputs: Sequence[Array]) -> NoReturn:
        """Say why a result is not finite."""
        for array, values in zip(arrays, inputs, strict=True):
            wrong = np.argwhere(~np.isfinite(values))
            if len(wrong):
                *sample, entry = wrong[0].tolist()
                state = f" of state {sample[0]}" if sample else ""
                value = values[tuple(wrong[0])]
                raise StateError(
                    f"{array.name} is {value} at {array.entry(entry)}{state}; every value must be finite"
                )
        if self.signature.singular and not self._is_finite_at_rest(arrays, inputs):
            raise SingularityError(self.signature.singular)
        raise StateError(f"{self.signature.name} is not finite: the given values are too large")

    def _is_finite_at_rest(self, arrays: Sequence[Input], inputs: Sequence[Array]) -> bool:
        """Return whether the result is finite with all other inputs zero; if so, they were too large."""
        place, *others = inputs
        given = tuple(array.name for array in arrays[len(self.signature.states) :])
        outputs = [np.empty((*place.shape[:-1], *shape)) for shape in self.signature.outputs]
        return self.kernel(given).run([place, *map(np.zeros_like, others), *self.constants], outputs)


def _expected(array: Input) -> str:
    return f"({array.size},) or (N, {array.size})" + (f": {array.meaning}" if array.meaning else "")


def _state(array: Input, value: Any) -> Array:
    state = _numbers(array.name, value)
    if state.ndim not in (1, 2) or state.shape[-1] != array.size:
        raise StateError(f"{array.name} has shape {state.shape}; expected {_expected(array)}")
    return state


def _optional(array: Input, value: Any, leading: tuple[int, ...]) -> Array:
    """The value with as many rows as the states."""
    given = _numbers(array.name, value)
    shape = (*leading, array.size)
    if given.shape not in ((array.size,), shape):
        raise StateError(f"{array.name} has shape {given.shape}; expected {shape}: {array.meaning}")
    return np.ascontiguousarray(np.broadcast_to(given, shape))


def _numbers(name: str, value: Any) -> Array:
    """``value`` as a C-contiguous array of doubles."""
    return np.require(real_array(name, value), requirements=("C", "A"))


def _kind(value: Any) -> str:
    return type(value).__name__
