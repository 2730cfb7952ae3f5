"""A quantity: what it takes and gives, how its program is made, and how a user calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from robot_dynamics.dynamics.generator.inputs import MEASURED, TAU, InputArray, Request, Sizes, described
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.errors import ParameterError, of_wrong_type, quoted
from robot_dynamics.inputs.arrays import listed, plain_text
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.native.signature import Input, Signature

P = ParamSpec("P")
R = TypeVar("R")

_OF_ALL_JOINTS = frozenset(["inverse_mass_matrix", "regressor", "base_regressor"])
"""Quantities that are of no use for some of the joints."""
MOST_NAMES = 1000
"""Of an option that takes several."""


class Functions(Protocol):
    """Object whose methods quantities are."""

    def function(self, quantity: str, **options: Any) -> Callable[..., Any]:
        """The quantity's function, ready to be called with arrays."""


@dataclass(frozen=True)
class Option:
    """A choice that a call makes by name, such as that of a frame; each value has a program of its own.

    Attributes:
        name: of the argument, which is given by name only.
        default: what is taken where it is omitted.
        values: what may be chosen for a chain, and what each choice is called in programs. What those depend
            on is the chain's numbers alone, not its names.
        instead_of: name of the option that cannot be given beside it.
    """

    name: str
    default: str
    values: Callable[[KinematicChain], Mapping[str, str]]
    instead_of: str = ""

    def read(self, chain: KinematicChain, value: Any) -> str:
        """Name of ``value`` in programs; None is the default.

        Raises:
            ParameterError: there is no such choice; the message names those that there are.
        """
        if value is None:
            return self.default
        known, chosen = self.values(chain), plain_text(value)
        if chosen is None or chosen not in known:
            error = of_wrong_type(ParameterError) if chosen is None else ParameterError
            raise error(f"no {self.name} {quoted(value)}; choose from {', '.join(known)}")
        return known[chosen]


@dataclass(frozen=True)
class SeveralOption(Option):
    """A choice of any number of the values, in any order; none of them where it is omitted."""

    def read(self, chain: KinematicChain, value: Any) -> str:
        """Name of ``value``, a sequence of names, in programs.

        Raises:
            ParameterError: it is no sequence of names, or there is no such choice.
        """
        if value is None:
            return self.default
        names = listed(self.name, value, ParameterError, MOST_NAMES)
        if not names:
            raise ParameterError(f"{self.name} is {quoted(value)}; expected a sequence of names")
        return ",".join(super(SeveralOption, self).read(chain, name) for name in map(_given, names))


def _given(name: object) -> Any:
    """A name as it is; what is None is no name."""
    return "None" if name is None else name


@dataclass(frozen=True)
class OutputArray:
    """An array that a quantity gives.

    Attributes:
        name: in generated code.
        description: as of an ``InputArray``.
        shape: for one state.
    """

    name: str
    description: str
    shape: Callable[[Sizes], tuple[int, ...]] = lambda sizes: (sizes.joints,)


@dataclass(frozen=True)
class Quantity(Generic[P, R]):
    """Quantity that one generated function computes; in a class it is a method.

    Attributes:
        name: of the function.
        states: the arrays that every call gives.
        outputs: one array is returned, or a tuple of several.
        trace: makes the expressions of the outputs.
        method: how a user calls it, with its documentation.
        optional: arrays that a call may leave out; programs with and without them are different.
        held: what programs can take as inputs but is otherwise constant in them, such as gravity.
        singular: what it means that no finite result exists; {joints} are the names of the joints.
        options: what a call chooses by name.
    """

    name: str
    states: tuple[InputArray, ...]
    outputs: tuple[OutputArray, ...]
    trace: Callable[[Request], Trace]
    method: Callable[Concatenate[Functions, P], R]
    optional: tuple[InputArray, ...] = ()
    held: tuple[InputArray, ...] = ()
    singular: str = ""
    options: tuple[Option, ...] = ()

    @overload
    def __get__(self, instance: None, owner: Any) -> Callable[Concatenate[Functions, P], R]: ...
    @overload
    def __get__(self, instance: Functions, owner: Any) -> Callable[P, R]: ...
    def __get__(self, instance: Functions | None, owner: Any) -> Any:
        """The method, bound like any other."""
        return self.method if instance is None else self.method.__get__(instance, owner)

    @property
    def constants(self) -> tuple[InputArray, ...]:
        """Inputs of programs that stay constant between calls."""
        return (*self.held, MEASURED)

    @property
    def with_measured(self) -> bool:
        """True where the quantity exists for a robot with measured joints, whose efforts nobody knows."""
        return TAU not in self.states and self.name not in _OF_ALL_JOINTS

    def inputs(self, names: Iterable[str]) -> tuple[InputArray, ...]:
        """The arrays besides the states with these names, in the order in which programs take them.

        Raises:
            ParameterError: the quantity does not take one of them.
        """
        wanted, known = set(names), (*self.optional, *self.constants)
        for name in sorted(wanted - {array.name for array in known}):
            others = ", ".join(array.name for array in known if array is not MEASURED) or "none"
            raise ParameterError(
                f"{self.name} does not depend on {name}: it takes no {name}; it takes, besides the states,"
                f" {others}"
            )
        return tuple(array for array in known if array.name in wanted)

    def chosen(self, chain: KinematicChain, values: Mapping[str, Any]) -> dict[str, str]:
        """Every option as programs know it, from those that a call gives.

        Raises:
            ParameterError: no such option or value, or two of which only one can be given.
        """
        for name in sorted(values.keys() - {option.name for option in self.options}):
            raise ParameterError(f"{self.name} has no option {quoted(name)}")
        for option in self.options:
            if values.get(option.name) is not None and values.get(option.instead_of) is not None:
                raise ParameterError(f"give {option.instead_of} or {option.name}, not both")
        tree = chain.modelled
        return {option.name: option.read(tree, values.get(option.name)) for option in self.options}

    def no_result(self, chain: KinematicChain) -> str:
        """Explanation that no finite result exists for ``chain``."""
        return self.singular.format(joints=", ".join(chain.joint_names))

    def signature(
        self,
        chain: KinematicChain,
        count_base: Callable[[], int],
        live: Iterable[str] = (),
        settings: Mapping[str, str] | None = None,
    ) -> Signature:
        """Signature of the compiled function.

        Args:
            chain: the arm.
            count_base: gives the number of its base parameters.
            live: names of what is held and an input.
            settings: the options as programs know them; the defaults where omitted.
        """
        chosen = self.chosen(chain, {}) if settings is None else settings
        tree, names = chain.modelled, set(live)
        measured = tree.dof - chain.dof
        sizes = Sizes(chain.dof, len(tree.joints), len(chain.tips), count_base, chosen, measured)
        kinds = [chain.driving_joint(i).kind for i in range(chain.dof)]

        def made(array: InputArray) -> Input:
            size, meaning = array.size(sizes), described(array.description, kinds)
            if not array.per_joint:
                return Input(array.name, size, meaning)
            meaning = f"{meaning} of {', '.join(chain.joint_names)}"
            return Input(array.name, size, meaning, tuple(f"joint {name}" for name in chain.joint_names))

        return Signature(
            name=self.name,
            states=tuple(made(array) for array in self.states),
            outputs=tuple(output.shape(sizes) for output in self.outputs),
            optional=tuple(made(array) for array in self.optional),
            constants=tuple(made(array) for array in self.constants if array.name in names),
            singular=self.no_result(chain),
        )


def quantity(
    *,
    states: tuple[InputArray, ...],
    outputs: tuple[OutputArray, ...],
    trace: Callable[[Request], Trace],
    optional: tuple[InputArray, ...] = (),
    held: tuple[InputArray, ...] = (),
    singular: str = "",
    options: tuple[Option, ...] = (),
) -> Callable[[Callable[Concatenate[Functions, P], R]], Quantity[P, R]]:
    """Makes a method the quantity of its name; see :class:`Quantity`."""

    def decorate(method: Callable[Concatenate[Functions, P], R]) -> Quantity[P, R]:
        return Quantity(method.__name__, states, outputs, trace, method, optional, held, singular, options)

    return decorate
