"""Arrays and numbers that a caller gives: real numbers, and nothing that merely can be turned into them."""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections.abc import Collection, Sequence
from types import UnionType
from typing import Any

import numpy as np

from robot_dynamics.errors import (
    RobotDynamicsError,
    StateError,
    WrongTypeError,
    of_wrong_type,
    quoted,
    readable,
)
from robot_dynamics.spatial import Array

_COUNTS = {3: "three", 6: "six"}
_DOUBLE = np.dtype(np.float64)
_PLAIN = frozenset({float, int, np.float64})
_DEEPEST = 8
"""Nested sequences that are searched for masked entries; numpy has no use for more axes."""
_REAL = "fiu"
_NO_NUMBERS = {
    "U": "text",
    "S": "bytes",
    "c": "complex numbers",
    "b": "booleans",
    "M": "dates",
    "m": "durations",
    "V": "records",
}


def real_array(name: str, value: Any, error: type[RobotDynamicsError] = StateError) -> Array:
    """``value`` as an array of doubles of any shape, not copied where it is one already.

    Complex numbers, masked entries, dates, texts and booleans, also a few among numbers, are refused: numpy
    would drop, fill or parse them silently.

    Args:
        name: of the argument, for messages.
        value: anything that numpy turns into an array of real numbers.
        error: class of the error.

    Raises:
        RobotDynamicsError: no array of real numbers, or one beyond the range of doubles.
    """
    try:
        masked = _is_masked(value)
    except Exception:  # of a faulty object: turning it into an array fails too
        masked = False
    if masked:
        raise error(f"{name} is a masked array; fill in the masked entries, or leave them out")
    try:
        array = np.asarray(value)
        if array is value and array.dtype is _DOUBLE:
            return np.asarray(array)
        if array.dtype.kind in _REAL:
            if _has_boolean(value, array.ndim):
                raise TypeError("it holds a boolean where a number is needed")
            with np.errstate(over="ignore"):
                doubles = np.asarray(array, dtype=np.float64)
            if (
                array.dtype.kind == "f"
                and array.itemsize > 8
                and (np.isinf(doubles) & ~np.isinf(array)).any()
            ):
                raise OverflowError
            return doubles
        if array.dtype.kind == "O":
            return np.array([_real(entry) for entry in array.ravel()], dtype=float).reshape(array.shape)
    except OverflowError:
        raise error(f"{name} holds a number that is too large: {quoted(value)}") from None
    except Exception as reason:
        words = quoted(readable(reason), 200)
        raised = of_wrong_type(error) if isinstance(reason, TypeError) else error
        raise raised(f"{name} cannot be read as an array of numbers: {words}") from None
    kind = _NO_NUMBERS.get(array.dtype.kind, str(array.dtype.name))
    raise of_wrong_type(error)(f"{name} cannot be read as real numbers: {quoted(value)} holds {kind}")


def real_vector(name: str, value: Any, size: int, error: type[RobotDynamicsError] = StateError) -> Array:
    """``value`` as ``size`` finite numbers.

    Raises:
        RobotDynamicsError: anything else; the message names the argument.
    """
    vector = real_array(name, value, error)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise error(f"{name} is {quoted(value)}; it must be {_COUNTS.get(size, size)} finite numbers")
    return vector


def joint_vector(name: str, value: Any, joint_names: Sequence[str]) -> Array:
    """``value`` as one finite number for each of the joints ``joint_names``.

    Raises:
        StateError: anything else; the message names the argument and the joints.
    """
    vector = real_array(name, value)
    if vector.shape != (len(joint_names),):
        raise StateError(
            f"{name} has shape {vector.shape}; expected ({len(joint_names)},): {', '.join(joint_names)}"
        )
    if not np.isfinite(vector).all():
        j = int(np.argmin(np.isfinite(vector)))
        raise StateError(f"{name} is {vector[j]} at joint {joint_names[j]}; every value must be finite")
    return vector


def pose_matrix(name: str, value: Any, error: type[RobotDynamicsError] = StateError) -> Array:
    """``value`` as the finite (4, 4) matrix of a pose.

    Raises:
        RobotDynamicsError: anything else; the message names the argument.
    """
    matrix = real_array(name, value, error)
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
        raise error(f"{name} is {quoted(value)}; it must be a (4, 4) matrix of finite numbers")
    return matrix


def real_number(name: str, value: Any, error: type[RobotDynamicsError] = StateError) -> float:
    """``value`` as a finite float.

    Raises:
        RobotDynamicsError: anything else; the message names the argument.
    """
    number = real_array(name, value, error)
    if number.shape != () or not np.isfinite(number):
        raise error(f"{name} is {quoted(value)}; expected a finite number")
    return float(number)


def _is_masked(value: Any, levels: int = _DEEPEST) -> bool:
    """Return whether a value is a masked array or a sequence that contains one.

    numpy loads their module, which takes 20 ms, when it is first named.
    """
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked is None or isinstance(value, masked):
        return masked is not None
    if not levels or not isinstance(value, list | tuple) or set(map(type, value)) <= _PLAIN:
        return False
    return any(_is_masked(entry, levels - 1) for entry in value)


def measured(name: str, value: Any, size: int) -> Array:
    """As :func:`real_array`, for what comes in every control cycle: an array of doubles passes at once.

    Raises:
        StateError: not ``size`` real numbers.
    """
    if type(value) is np.ndarray and value.dtype is _DOUBLE and value.shape == (size,):
        return value
    array = real_array(name, value)
    if array.shape != (size,):
        raise StateError(f"{name} has shape {array.shape}; expected ({size},)")
    return array


def of_type(name: str, value: Any, kind: type | UnionType) -> None:
    """Refuse an object of an altogether wrong type.

    Raises:
        WrongTypeError: naming the argument and the type that it must have.
    """
    if not is_a(value, kind):
        raise WrongTypeError(f"{name} is {quoted(value)}; it must be a {getattr(kind, '__name__', kind)}")


def is_a(value: Any, kind: type | UnionType) -> bool:
    """``isinstance``, of an object that fails when it is asked too."""
    try:
        return isinstance(value, kind)
    except Exception:
        return False


def plain_text(value: Any) -> str | None:
    """``value`` as a text that compares and hashes as texts do; None where it is no text."""
    if type(value) is str:
        return value
    return str.__str__(value) if is_a(value, str) else None


def listed(name: str, value: Any, error: type[RobotDynamicsError], most: int) -> list[Any]:
    """The entries of any sequence or array; a text or a mapping is none.

    Args:
        name: of the argument, for messages.
        value: the sequence.
        error: class of the error.
        most: entries of the longest.

    Raises:
        RobotDynamicsError: no sequence, one that fails when it is read, or a longer one.
    """
    raised = error
    try:
        if not is_a(value, Sequence | np.ndarray) or is_a(value, str | bytes):
            raised = of_wrong_type(error)
        else:
            entries = list(itertools.islice(iter(value), most + 1))
            if len(entries) <= most:
                return entries
    except Exception as reason:
        raise error(f"{name} cannot be read as a list: {quoted(readable(reason), 200)}") from None
    raise raised(f"{name} is {quoted(value)}; it must be a sequence of at most {most} entries")


def whole_number(name: str, value: Any) -> int:
    """``value`` as an integer; a boolean is none.

    Raises:
        WrongTypeError: naming the argument.
    """
    try:
        if not isinstance(value, bool | np.bool_):
            return operator.index(value)
    except Exception:  # of an object that has no index, or a faulty one
        pass
    raise WrongTypeError(f"{name} is {quoted(value)}; it must be a whole number")


def one_of(name: str, value: Any, choices: Collection[str], error: type[RobotDynamicsError]) -> None:
    """Refuse anything but one of the texts ``choices``.

    Raises:
        RobotDynamicsError: naming the argument and the choices.
    """
    if plain_text(value) not in choices:
        *first, last = map(repr, choices)
        raised = error if is_a(value, str) else of_wrong_type(error)
        raise raised(f"{name} is {quoted(value)}; it must be {', '.join(first)} or {last}")


def _real(entry: Any) -> float:
    """An entry of an array of objects, such as a Fraction or an integer of any size."""
    if isinstance(entry, bool | np.bool_ | str | bytes) or not hasattr(entry, "__float__"):
        raise TypeError(f"{quoted(entry)} is not a real number")
    number = float(entry)
    if math.isinf(number) and number != entry:
        raise OverflowError
    return number


def _has_boolean(value: Any, levels: int) -> bool:
    """Return whether numpy read a boolean as 0 or 1, in sequences nested ``levels`` deep."""
    if isinstance(value, np.ndarray | np.generic):
        return bool(value.dtype.kind == "b")
    if not levels or not isinstance(value, Sequence):
        return isinstance(value, bool)
    kinds = set(map(type, value))
    if kinds <= _PLAIN:
        return False
    return any(_has_boolean(entry, levels - 1) for entry in value)
