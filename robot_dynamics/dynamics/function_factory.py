"""From a quantity, and what a call chooses by name, to the function that computes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from robot_dynamics.dynamics.identifiable import Base, base_of_chain
from robot_dynamics.dynamics.loading import KernelLoader, Settings
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.evaluator import Evaluator, Given
from robot_dynamics.native.fast_call import fast_function
from robot_dynamics.native.kernel import Kernel
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.native.signature import Signature
from robot_dynamics.spatial import Array


class FunctionFactory:
    """Makes the functions of one chain; those of choices that were made are kept."""

    def __init__(
        self, chain: KinematicChain, held: Mapping[str, Array], live: frozenset[str], loader: KernelLoader
    ) -> None:
        """Prepare without making anything.

        Args:
            chain: the arm.
            held: values of what a quantity may hold, by name.
            live: names of what is held and an input of the kernels.
            loader: of the chain's kernels.
        """
        self._chain = chain
        self._held = held
        self._live = live
        self._loader = loader
        self._lock = threading.Lock()
        self._chosen: dict[tuple[str, Settings], Callable[..., Any]] = {}

    @cached_property
    def base(self) -> Base:
        """The base parameters: of gravity in any direction where it is an input."""
        return base_of_chain(self._chain, None if "gravity" in self._live else self._held["gravity"])

    def settings(self, name: str, options: Mapping[str, Any]) -> Settings:
        """All options of a quantity, those in ``options`` as chosen.

        Raises:
            ParameterError: no such option or choice.
        """
        return tuple(QUANTITIES[name].chosen(self._chain, options).items())

    def evaluator(self, name: str) -> Evaluator:
        """A new evaluator of a quantity; where there are options its calls may choose."""
        signature, load, values = self._parts(name, self.settings(name, {}))
        if not QUANTITIES[name].options:
            return Evaluator(signature, load, values)
        return _Selecting(signature, load, values, self)

    def chosen(self, name: str, settings: Settings) -> Callable[..., Any]:
        """The function of a quantity with these settings."""
        key = (name, settings)
        if key not in self._chosen:
            evaluator = self.chosen_evaluator(name, settings)
            made = fastest(evaluator, name, evaluator.kernel())
            with self._lock:
                self._chosen.setdefault(key, made)
        return self._chosen[key]

    def chosen_evaluator(self, name: str, settings: Settings) -> Evaluator:
        """A new evaluator of a quantity with these settings."""
        return Evaluator(*self._parts(name, settings))

    def _parts(
        self, name: str, settings: Settings
    ) -> tuple[Signature, Callable[[Given], Kernel], list[Array]]:
        signature = QUANTITIES[name].signature(
            self._chain, lambda: len(self.base.names), self._live, dict(settings)
        )
        values = [self._held[array.name] for array in signature.constants]
        return signature, partial(self._loader.kernel, name, settings), values


class _Selecting(Evaluator):
    """Hands calls that choose something else than the default on to the function of that choice."""

    def __init__(
        self,
        signature: Signature,
        load: Callable[[Given], Kernel],
        held: list[Array],
        maker: FunctionFactory,
    ) -> None:
        """See `Evaluator`."""
        super().__init__(signature, load, held)
        self._maker = maker
        self._default = maker.settings(signature.name, {})
        self._options = [name for name, _ in self._default]
        self._functions: dict[tuple[tuple[str, Any], ...], Callable[..., Any]] = {}

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """Evaluate."""
        options = tuple([(name, named.pop(name)) for name in self._options if name in named])
        if not options:
            return super().__call__(*positional, **named)
        try:
            function = self._functions.get(options)
        except Exception:  # a list of names is a choice too, but no key; and what has a faulty hash is none
            function = self._choose(options)
        else:
            if function is None:
                function = self._functions[options] = self._choose(options)
        return function(*positional, **named)

    def _choose(self, options: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
        """The function of what a call chooses, which takes much longer to find out than to remember."""
        settings = self._maker.settings(self.signature.name, dict(options))
        if settings == self._default:
            return super().__call__
        return self._maker.chosen(self.signature.name, settings)


def fastest(evaluator: Evaluator, name: str, kernel: Kernel, given: Given = ()) -> Callable[..., Any]:
    """The fastest way to call ``evaluator``, whose kernel for what is ``given`` is ``kernel``."""
    if not isinstance(kernel, NativeKernel):
        return evaluator
    function = fast_function(evaluator, str(QUANTITIES[name].method.__doc__))
    evaluator.kernel(given)
    return function
