"""One quantity of one chain: checked arguments in, checked results out, whatever computes them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from robot_dynamics.dynamics.quantities import Quantity
from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.inputs.arrays import real_array
from robot_dynamics.spatial import Array


class Kernel(Protocol):
    """What computes a quantity."""

    def run(self, inputs: Sequence[Array], out: Array) -> bool:
        """Evaluate one state, inputs (n,), or a batch, inputs (N, n); whether every output is finite.

        Gravity, where it is the last input, is (3,) in both.
        """


class PythonKernel:
    """A generated Python function."""

    def __init__(self, function: Callable[..., list[Any]]) -> None:
        self._function = function

    def run(self, inputs: Sequence[Array], out: Array) -> bool:
        """See `Kernel`."""
        if inputs[0].ndim == 1:
            try:
                out.reshape(-1)[:] = self._function(*(state.tolist() for state in inputs))
            except (ValueError, ZeroDivisionError, OverflowError):
                return False
        else:
            columns = out.reshape(len(out), -1).T
            with np.errstate(all="ignore"):
                values = self._function(*(state.T for state in inputs), np.sin, np.cos, np.sqrt)
            for column, value in zip(columns, values, strict=True):
                column[:] = value
        return bool(np.isfinite(out).all())


class Evaluator:
    """Computes one quantity; the arguments may be anything that numpy turns into arrays of numbers."""

    def __init__(
        self,
        quantity: Quantity,
        joint_names: tuple[str, ...],
        load: Callable[[bool], Kernel],
        gravity: Array | None = None,
    ) -> None:
        """Prepare without loading anything.

        Args:
            quantity: what to compute.
            joint_names: names of the joints, in the order of the states.
            load: makes the kernel without or with a wrench.
            gravity: (3,) the kernel's last input, where gravity is one [m/s²].
        """
        self.quantity = quantity
        self.joint_names = joint_names
        self.gravity = gravity
        self._load = load
        self._kernels: dict[bool, Kernel] = {}
        self._lock = threading.Lock()
        self._link: Callable[[Kernel, bool], None] | None = None
        self._linked: set[bool] = set()

    def kernel(self, with_wrench: bool) -> Kernel:
        """The kernel, loaded on first use."""
        with self._lock:
            if with_wrench not in self._kernels:
                self._kernels[with_wrench] = self._load(with_wrench)
            kernel = self._kernels[with_wrench]
        if self._link is not None and with_wrench not in self._linked:
            self._linked.add(with_wrench)
            self._link(kernel, with_wrench)
        return kernel

    def link(self, link: Callable[[Kernel, bool], None]) -> None:
        """Call ``link`` with every kernel, and whether it is the one with a wrench, when it is first used."""
        self._link = link

    def share_kernels(self, other: Evaluator) -> None:
        """Use the kernels of ``other`` from now on, loaded or not; only gravity may differ."""
        self._kernels, self._lock, self._load = other._kernels, other._lock, other._load

    def __call__(self, *positional: Any, **named: Any) -> Array:
        """Evaluate; see the methods of ``CompiledDynamics``."""
        arguments = self._bind(positional, named)
        wrench, out = arguments.pop("wrench", None), arguments.pop("out", None)
        inputs = [self._state(name, value) for name, value in arguments.items()]
        leading = inputs[0].shape[:-1]
        for name, state in zip(arguments, inputs, strict=True):
            if state.shape[:-1] != leading:
                raise StateError(
                    f"{name} has shape {state.shape}, {self.quantity.states[0]} has {inputs[0].shape};"
                    f" all states must have one shape, {self._expected()}"
                )
        if wrench is not None:
            inputs.append(self._wrench(wrench, leading))
        shape = (*leading, *self.quantity.shape(len(self.joint_names)))
        result = self._result(out, shape, inputs)
        fixed = [] if self.gravity is None else [self.gravity]
        if result.size and not self.kernel(wrench is not None).run([*inputs, *fixed], result):
            self._explain(dict(zip((*arguments, "wrench"), inputs, strict=False)))
        if out is not None and result is not out:
            out[...] = result
            return np.asarray(out)
        return result

    def _bind(self, positional: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        names = self.quantity.arguments
        arguments = dict(zip(names, positional, strict=False))
        unknown = [name for name in named if name not in names or name in arguments]
        missing = [name for name in self.quantity.states if name not in arguments and name not in named]
        if len(positional) > len(names) or unknown or missing:
            raise TypeError(f"{self.quantity.name}() takes ({', '.join(names)}); wrench and out are optional")
        given = {**arguments, **named}
        return {name: given[name] for name in names if name in given}

    def _expected(self) -> str:
        n = len(self.joint_names)
        return f"({n},) or (N, {n}) for the joints {', '.join(self.joint_names)}"

    def _state(self, name: str, value: Any) -> Array:
        state = _numbers(name, value)
        if state.ndim not in (1, 2) or state.shape[-1] != len(self.joint_names):
            raise StateError(f"{name} has shape {state.shape}; expected {self._expected()}")
        return state

    def _wrench(self, value: Any, leading: tuple[int, ...]) -> Array:
        wrench = _numbers("wrench", value)
        if wrench.shape not in ((6,), (*leading, 6)):
            raise StateError(
                f"wrench has shape {wrench.shape}; expected {(*leading, 6)}: [force, torque] at the tip"
            )
        return np.ascontiguousarray(np.broadcast_to(wrench, (*leading, 6)))

    def _result(self, out: Any, shape: tuple[int, ...], inputs: Sequence[Array]) -> Array:
        """Where to compute: ``out`` itself if nothing speaks against it."""
        if out is None:
            return np.empty(shape)
        if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape:
            given = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise StateError(f"out is {given}; expected an array float64 {shape}")
        if not out.flags.writeable:
            raise StateError("out is read-only; expected an array that can be written to")
        direct = out.flags.carray and not any(np.may_share_memory(out, state) for state in inputs)
        return out if direct else np.empty(shape)

    def _explain(self, inputs: Mapping[str, Array]) -> NoReturn:
        """Say why a result is not finite."""
        for name, values in inputs.items():
            wrong = np.argwhere(~np.isfinite(values))
            if len(wrong):
                *sample, entry = wrong[0].tolist()
                value = values[tuple(wrong[0])]
                where = f"joint {self.joint_names[entry]}" if name != "wrench" else f"entry {entry}"
                state = f" of state {sample[0]}" if sample else ""
                raise StateError(f"{name} is {value} at {where}{state}; every value must be finite")
        if self.quantity.name == "forward_dynamics":
            raise SingularityError(
                "the joint accelerations are not finite: the mass matrix is singular because a joint"
                f" moves no mass; check the inertias beyond each of {', '.join(self.joint_names)}"
            )
        raise StateError(f"{self.quantity.name} is not finite: the given values are too large")


def _numbers(name: str, value: Any) -> Array:
    """``value`` as a C-contiguous array of doubles."""
    return np.require(real_array(name, value), requirements=("C", "A"))
