"""The gate of the textbook equations: a model and real numbers come in, and what comes out is finite."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from robot_dynamics.dynamics.scalar import FLOATS, FloatField
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ModelError, StateError, WrongTypeError, quoted
from robot_dynamics.inputs.arrays import is_a, joint_vector, of_type, real_vector
from robot_dynamics.spatial import Array

F = TypeVar("F", bound=Callable[..., Any])
_PER_JOINT = ("q", "qd", "qdd", "tau")
_FUNCTIONS = ("inverse_dynamics", "effort")


def gate_of_trees(function: F) -> F:
    """`gate` for a function that takes trees as well."""
    return gate(function, trees=True)


def gate(function: F, trees: bool = False) -> F:
    """Checks the arguments of ``function`` by their names, and that its result is finite.

    ``model`` must be a `SerialModel`; ``q``, ``qd``, ``qdd`` and ``tau`` (n,) and ``wrench`` (6,) finite
    numbers, which become arrays of doubles; ``inverse_dynamics`` and ``effort`` functions. With ``scalars``
    of another kind than floats the numbers are left to these.

    The checked function raises:
        StateError: a wrong shape, a value that is not finite, or values so great that the result is not.
        ModelError: the model is a tree, and ``trees`` does not allow it.
        TypeError: something else than a model, or than a function.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*positional: Any, **named: Any) -> Any:
        bound = signature.bind(*positional, **named)
        given = bound.arguments
        of_type("model", given["model"], SerialModel)
        if not trees and not given["model"].serial:
            raise ModelError(f"{function.__name__} is for serial arms; the model is a tree")
        if type(given.get("scalars", FLOATS)) is not FloatField:
            return function(*positional, **named)
        numbers = _numbers(given)
        given.update(numbers)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # reported by name below
            result = function(*bound.args, **bound.kwargs)
        if isinstance(result, np.ndarray | float) and not np.isfinite(np.asarray(result, dtype=float)).all():
            raise StateError(_not_finite(function.__name__, numbers))
        return result

    return cast(F, checked)


def _numbers(given: Mapping[str, Any]) -> dict[str, Array]:
    """The arguments that are numbers, as doubles."""
    names = given["model"].coordinate_names
    numbers = {name: joint_vector(name, given[name], names) for name in _PER_JOINT if name in given}
    if given.get("wrench") is not None:
        numbers["wrench"] = real_vector("wrench", given["wrench"], 6)
    for name in _FUNCTIONS:
        value = given.get(name)
        is_default = value is None and (name == "effort" or name not in given)
        if not is_default and (not callable(value) or is_a(value, type)):
            raise WrongTypeError(f"{name} is {quoted(value)}; it must be a function")
    return numbers


def _not_finite(function: str, numbers: Mapping[str, Array]) -> str:
    largest = {name: float(np.abs(values).max(initial=0.0)) for name, values in numbers.items()}
    reached = ", ".join(f"{name} reaches {value:.3g}" for name, value in largest.items())
    return f"{function} has no finite result: {reached or 'the model has numbers that are too large'}"
