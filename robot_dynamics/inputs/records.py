"""Fields of the records that models consist of: checked by name when a record is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any

import numpy as np

from robot_dynamics.errors import ModelError, RobotDynamicsError, WrongTypeError, quoted
from robot_dynamics.inputs.arrays import listed, of_type, plain_text, real_array, real_number, whole_number

Check = Callable[[str, Any, type[RobotDynamicsError]], Any]
"""Takes a field's name, its value and the class of errors; returns what the record keeps."""
MOST_ENTRIES = 10_000
"""Of a tuple in a record, such as the joints of an arm."""


def check_fields(
    record: Any, checks: Mapping[str, Check], error: type[RobotDynamicsError] = ModelError
) -> None:
    """Check fields of a frozen dataclass, and store what the checks make of them.

    Meant to be called first in ``__post_init__``.

    Raises:
        RobotDynamicsError: of the class ``error``, naming the record's class and the field.
        TypeError: naming them, for an object of an altogether wrong type.
    """
    kind = type(record).__name__
    for name, check in checks.items():
        given = getattr(record, name)
        kept = check(f"{name} of a {kind}", given, error)
        if kept is not given:
            object.__setattr__(record, name, kept)


def number(name: str, value: Any, error: type[RobotDynamicsError]) -> float:
    """A finite number."""
    if type(value) is float and abs(value) < np.inf:
        return value
    return real_number(name, value, error)


def number_or_infinity(name: str, value: Any, error: type[RobotDynamicsError]) -> float:
    """A number or an infinity, not NaN."""
    found = value if type(value) is float else real_array(name, value, error)
    if np.shape(found) != () or np.isnan(found):
        raise error(f"{name} is {quoted(value)}; it must be a number")
    return float(found)


def not_negative(name: str, value: Any, error: type[RobotDynamicsError]) -> float:
    """A finite number of at least zero."""
    return _not_below_zero(name, number(name, value, error), error)


def positive(name: str, value: Any, error: type[RobotDynamicsError]) -> float:
    """A finite number above zero."""
    found = number(name, value, error)
    if not found > 0.0:
        raise error(f"{name} is {found:g}; it must be positive")
    return found


def bound(name: str, value: Any, error: type[RobotDynamicsError]) -> float:
    """Upper bound of a magnitude: at least zero, or infinite."""
    return _not_below_zero(name, number_or_infinity(name, value, error), error)


def _not_below_zero(name: str, found: float, error: type[RobotDynamicsError]) -> float:
    if found < 0.0:
        raise error(f"{name} is {found:g}; it must not be negative")
    return found


def numbers(*shape: int) -> Check:
    """An array of finite numbers of this shape."""

    def check(name: str, value: Any, error: type[RobotDynamicsError]) -> Any:
        array = real_array(name, value, error)
        if array.shape != shape or not np.isfinite(array).all():
            wanted = " by ".join(map(str, shape))
            raise error(f"{name} is {quoted(value)}; it must be {wanted} finite numbers")
        return array

    return check


def finite(name: str, value: Any, error: type[RobotDynamicsError]) -> Any:
    """An array of finite numbers of any shape."""
    array = real_array(name, value, error)
    if not np.isfinite(array).all():
        raise error(f"{name} is {quoted(value)}; every number must be finite")
    return array


def index(name: str, value: Any, error: type[RobotDynamicsError]) -> int:
    """A whole number."""
    return whole_number(name, value)


def text(name: str, value: Any, error: type[RobotDynamicsError]) -> str:
    """A text."""
    found = plain_text(value)
    if found is None:
        raise WrongTypeError(f"{name} is {quoted(value)}; it must be a str")
    return found


def a(kind: type | UnionType) -> Check:
    """An object of this class."""

    def check(name: str, value: Any, error: type[RobotDynamicsError]) -> Any:
        of_type(name, value, kind)
        return value

    return check


def check_arrays(record: Any, *names: str) -> None:
    """Check that fields of a result are arrays; they are not looked into, as results are made in loops.

    Raises:
        TypeError: naming the record's class and the field.
    """
    for name in names:
        value = getattr(record, name)
        if type(value) is not np.ndarray:
            of_type(f"{name} of a {type(record).__name__}", value, np.ndarray | np.floating)


def several(check: Check, least: int = 0, most: int = MOST_ENTRIES) -> Check:
    """A tuple, or any sequence that one is made of, of entries that pass ``check``."""

    def each(name: str, value: Any, error: type[RobotDynamicsError]) -> tuple[Any, ...]:
        given = value if type(value) is tuple and len(value) <= most else listed(name, value, error, most)
        if len(given) < least:
            raise error(f"{name} has {len(given)} entries; it must have at least {least}")
        kept = tuple([check(f"{name}, an entry,", entry, error) for entry in given])
        same = type(value) is tuple and all(new is old for new, old in zip(kept, value, strict=True))
        return value if same else kept

    return each


def or_none(check: Check) -> Check:
    """None, or what passes ``check``."""
    return lambda name, value, error: None if value is None else check(name, value, error)
