"""The dynamics of one chain or tree on an array library: JAX, PyTorch or NumPy.

The functions are those of ``generate --language array-api``: straight lines over arrays with any leading
axes, which the library differentiates, compiles and runs on its devices.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics.codegen.emit_array_api import array_module
from robot_dynamics.dynamics.constant_inputs import ConstantInputs
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.dynamics.quantities import QUANTITIES, quantity_named
from robot_dynamics.errors import BackendError, ParameterError, quoted
from robot_dynamics.model.chain import KinematicChain

_LOG = logging.getLogger(__name__)
MODULES = {"jax": "jax.numpy", "torch": "torch", "numpy": "numpy"}
"""Backends of arrays, and the modules that are their namespaces."""
CPU_OPTIONS = {"xla_disable_hlo_passes": "fusion"}
"""Options of ``jax.jit`` on a CPU. XLA's fusion evaluates a common term again for every result that needs it,
so a long straight line takes several times as long with it."""


class ArrayDynamics:
    """Dynamics as functions of an array library; made by :func:`robot_dynamics.compile_dynamics`.

    Every quantity of :class:`robot_dynamics.CompiledDynamics` is a method of the same name. It takes arrays
    of the library, or what the library makes arrays of, with any leading axes, which are broadcast against
    each other. Results have the type and the device of the arguments, and the precision of the library: JAX
    computes in float32 until ``jax_enable_x64`` is set. Values are not checked: a NaN goes through. With JAX
    the functions are compiled by ``jax.jit`` at their first call for a shape. On a CPU they are compiled with
    :data:`CPU_OPTIONS`; within a function that you compile, and under ``jax.grad``, your own options hold.

    By name every method takes the quantity's options (such as ``frame``), ``wrench`` where it has one, and
    where it depends on them ``gravity`` (3,), ``payload`` (10,) and ``friction`` (2n: damping, then Coulomb
    friction) in place of the model's. All but the options can be differentiated.

    Attributes:
        chain: the arm or tree; ``chain.joint_names`` is the order of every array.
        backend: "jax", "torch" or "numpy".
    """

    def __init__(self, chain: KinematicChain, held: ConstantInputs, backend: str) -> None:
        """See :func:`robot_dynamics.compile_dynamics`."""
        self.chain = chain
        self.backend = backend
        self._held = held
        self._namespace = _namespace(backend)
        self._lock = threading.Lock()
        self._functions: dict[Any, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in QUANTITIES:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return self.function(name)

    def __repr__(self) -> str:
        return f"<ArrayDynamics of {self.chain.name}, {self.chain.dof} joints, on {self.backend}>"

    def function(self, quantity: str, **options: Any) -> Callable[..., Any]:
        """The function of a quantity, with its options chosen beforehand.

        Raises:
            ParameterError: no such quantity, option or choice.
        """
        about = quantity_named(quantity)
        choices = {option.name for option in about.options}
        constants = tuple(
            array.name
            for array in about.constants
            if array.name in self._held.live and array.name != "gravity"
        )

        def call(*states: Any, **named: Any) -> Any:
            chosen = {**options, **{key: named.pop(key) for key in tuple(named) if key in choices}}
            settings = about.chosen(self.chain, chosen)
            # A wrench may be the argument after the states.
            given = dict(
                zip((array.name for array in about.optional), states[len(about.states) :], strict=False)
            )
            given |= {key: value for key, value in named.items() if value is not None}
            if len(states) < len(about.states):
                wanted = ", ".join(array.name for array in about.states)
                raise ParameterError(f"{quantity} takes {wanted}; {len(states)} of them are given")
            names = tuple(array.name for array in about.inputs({*constants, *given}))
            made = self._made(quantity, names, settings)
            others = (given.get(name, self._held.values.get(name)) for name in names)
            return made(*map(self._array, (*states[: len(about.states)], *others)))

        call.__name__, call.__doc__ = quantity, about.method.__doc__
        return call

    def _made(self, quantity: str, given: tuple[str, ...], settings: Mapping[str, str]) -> Callable[..., Any]:
        """The function for these inputs, made at its first use."""
        key = quantity, given, tuple(sorted(settings.items()))
        with self._lock:
            if key not in self._functions:
                self._functions[key] = self._make(quantity, given, settings)
            return self._functions[key]

    def _make(self, quantity: str, given: tuple[str, ...], settings: Mapping[str, str]) -> Callable[..., Any]:
        gravity = None if "gravity" in given else self._held.gravity
        program = make_program(self.chain, gravity, quantity, given, Objective.TIME, settings)

        def count_base() -> int:
            return program.outputs[0].size // self.chain.dof

        shapes = quantity_named(quantity).signature(self.chain, count_base, (), settings).outputs
        module: dict[str, Any] = {}
        exec(array_module([(program, shapes)], ()), module)
        function, namespace = module[program.name], self._namespace

        def evaluate(*arrays: Any) -> Any:
            return function(namespace, *arrays)

        return _compiled_by_jax(evaluate) if self.backend == "jax" else evaluate

    def _array(self, value: Any) -> Any:
        """An array of the library; numbers of Python and NumPy become float64 where the library has it."""
        if self.backend == "torch":
            torch = self._namespace
            return value if torch.is_tensor(value) else torch.as_tensor(np.asarray(value, dtype=float))
        return self._namespace.asarray(value) if self.backend == "jax" else np.asarray(value, dtype=float)


def _compiled_by_jax(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """The function under ``jax.jit``, on a CPU with :data:`CPU_OPTIONS` where JAX lets it choose them."""
    jax = importlib.import_module("jax")
    plain = jax.jit(evaluate)
    if jax.default_backend() != "cpu":
        return plain  # type: ignore[no-any-return]
    chosen = jax.jit(evaluate, compiler_options=CPU_OPTIONS)

    def call(*arrays: Any) -> Any:
        # Within another transformation its options hold, and JAX refuses others.
        if any(isinstance(array, jax.core.Tracer) for array in arrays):
            return plain(*arrays)
        with jax.ensure_compile_time_eval():
            return chosen(*arrays)

    return call


def _namespace(backend: str) -> Any:
    try:
        namespace = importlib.import_module(MODULES[backend])
    except ImportError as error:
        raise BackendError(
            f"backend {quoted(backend)} needs the package {backend}, which cannot be imported"
            f" ({error}): pip install {backend}"
        ) from None
    if backend == "jax" and not importlib.import_module("jax").config.jax_enable_x64:
        _LOG.warning("JAX computes in float32: jax.config.update('jax_enable_x64', True) gives float64")
    return namespace
