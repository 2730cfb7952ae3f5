"""Parameters as frozen dataclasses: what each one means, its unit and its bounds stand in one place.

A law or a plant describes its parameters without knowing who sets them:

    @dataclass(frozen=True)
    class TrackingParameters:
        kp: tuple[float, ...] = parameter((100.0,), "Gain, per joint or for all", unit="1/s²", minimum=0.0)

        def __post_init__(self) -> None:
            validate(self)

The ROS layer turns such a class into declared ROS parameters, the documentation into a table.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from robot_dynamics.errors import ParameterError, of_wrong_type, quoted, readable
from robot_dynamics.inputs.arrays import listed
from robot_dynamics.spatial import Array

_WORDS: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_KEY = "robot_dynamics.parameter"
MOST_ELEMENTS = 10_000
"""Longest list that a parameter can be."""


@dataclass(frozen=True)
class Description:
    """Description of one parameter.

    Attributes:
        name: the field's name.
        type: bool, int, float or str; the type of one element when ``array`` is true.
        array: the parameter is a list of ``type``.
        default: value when nobody sets it; a tuple for arrays.
        text: what the parameter does.
        unit: SI unit, empty for a number without one.
        minimum: smallest legal value, of each element for arrays.
        maximum: largest legal value, of each element for arrays.
        choices: the legal values, empty when any value will do.
        read_only: the value is fixed once the node has started.
    """

    name: str
    type: type
    array: bool
    default: Any
    text: str
    unit: str
    minimum: float | None
    maximum: float | None
    choices: tuple[Any, ...]
    read_only: bool

    @property
    def constraints(self) -> str:
        """The legal values in words, empty when every value of the type is legal."""
        if self.choices:
            return "one of " + ", ".join(repr(choice) for choice in self.choices)
        if self.minimum is not None and self.maximum is not None:
            return f"{self.minimum:g} to {self.maximum:g}"
        if self.minimum is not None:
            return f"at least {self.minimum:g}"
        if self.maximum is not None:
            return f"at most {self.maximum:g}"
        return ""


def parameter(
    default: Any,
    description: str,
    *,
    unit: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[Any] | Callable[[], Sequence[Any]] = (),
    read_only: bool = False,
) -> Any:
    """A dataclass field that knows its description, unit and bounds; see :class:`Description`.

    ``choices`` may be a function that returns them, where more can come.
    """
    known = {
        "text": description,
        "unit": unit,
        "minimum": minimum,
        "maximum": maximum,
        "choices": choices,
        "read_only": read_only,
    }
    return dataclasses.field(default=default, metadata={_KEY: known})


def describe(cls: type) -> tuple[Description, ...]:
    """Every field of ``cls`` that was made by :func:`parameter`, in order."""
    described, choices = _described(cls)
    if not choices:
        return described
    return tuple(
        dataclasses.replace(one, choices=tuple(choices[one.name]())) if one.name in choices else one
        for one in described
    )


@lru_cache(maxsize=256)
def _described(cls: type) -> tuple[tuple[Description, ...], dict[str, Callable[[], Sequence[Any]]]]:
    """Descriptions of a class, and the functions that return choices, by the names of their fields."""
    hints = typing.get_type_hints(cls)
    described, functions = [], {}
    for field in dataclasses.fields(cls):
        if _KEY not in field.metadata:
            continue
        hint = hints[field.name]
        array = typing.get_origin(hint) is tuple
        element = typing.get_args(hint)[0] if array else hint
        if element not in _WORDS:
            raise TypeError(
                f"{cls.__name__}.{field.name}: a parameter is a bool, int, float or str, or a tuple"
            )
        known = dict(field.metadata[_KEY])
        if callable(known["choices"]):
            functions[field.name] = known.pop("choices")
        known["choices"] = tuple(known.get("choices", ()))
        described.append(Description(field.name, element, array, field.default, **known))
    return tuple(described), functions


def validate(instance: Any) -> None:
    """Check every described field, and store integers as floats and lists as tuples where these are due.

    Meant to be called first in ``__post_init__``.

    Raises:
        ParameterError: a value has the wrong type, is not finite or lies outside its bounds.
    """
    for description in describe(type(instance)):
        value = getattr(instance, description.name)
        if description.array:
            if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
                raise of_wrong_type(ParameterError)(
                    f"parameter '{description.name}' is {quoted(value)}; it must be a list"
                )
            checked: Any = tuple(_checked(description, element) for element in _elements(value, description))
            if len(checked) > MOST_ELEMENTS:
                raise ParameterError(f"parameter '{description.name}' has more than {MOST_ELEMENTS} values")
        else:
            checked = _checked(description, value)
        object.__setattr__(instance, description.name, checked)


def per_joint(values: Sequence[float], joint_names: Sequence[str], name: str) -> Array:
    """(n,) value of every joint from a list with one value per joint, or one for all.

    Args:
        values: one number, or as many as there are joints, in the order of ``joint_names``.
        joint_names: the joints, in chain order.
        name: of the parameter, for the error message.

    Raises:
        ParameterError: any other length.
    """
    joint_names = listed("joint_names", joint_names, ParameterError, MOST_ELEMENTS)
    if len(values) == 1:
        return np.full(len(joint_names), float(values[0]))
    if len(values) != len(joint_names):
        raise ParameterError(
            f"parameter '{name}' has {len(values)} values; give 1, or {len(joint_names)} in the order"
            f" {', '.join(joint_names)}"
        )
    return np.array(values, dtype=float)


def by_name(instance: Any, names: str, values: str) -> dict[str, float]:
    """The dictionary that two list parameters make, as ROS 2 has no parameters that are dictionaries.

    Args:
        instance: of a parameter class.
        names: its field of names.
        values: its field with the value of each.

    Raises:
        ParameterError: lists of different length, or a name that comes twice.
    """
    keys, numbers = getattr(instance, names), getattr(instance, values)
    if len(keys) != len(numbers):
        raise ParameterError(f"parameter '{values}' has {len(numbers)} values for {len(keys)} '{names}'")
    if len(set(keys)) != len(keys):
        raise ParameterError(f"parameter '{names}' names a joint twice")
    return dict(zip(keys, numbers, strict=True))


def _elements(values: Any, description: Description) -> Iterator[Any]:
    """The elements of a list of any kind, at most one more than there may be."""
    try:
        yield from itertools.islice(values, MOST_ELEMENTS + 1)
    except Exception as error:
        raise ParameterError(
            f"parameter '{description.name}' cannot be read as a list: {quoted(readable(error))}"
        ) from None


def _checked(description: Description, value: Any) -> Any:
    """One element, converted to its declared type."""
    name = description.name
    kind: Any = description.type
    if isinstance(value, np.generic):
        value = value.item()
    if kind is float and type(value) is int:
        # Beyond the range of doubles is beyond every bound.
        value = float(value) if abs(value) < 2**1023 else (math.inf if value > 0 else -math.inf)
    if type(value) is not kind:
        raise of_wrong_type(ParameterError)(
            f"parameter '{name}' is {quoted(value)}; it must be {_WORDS[kind]}"
        )
    if kind is float and not math.isfinite(value):
        raise ParameterError(f"parameter '{name}' is {value}; it must be a finite number")
    low, high = description.minimum, description.maximum
    outside = (low is not None and value < low) or (high is not None and value > high)
    if outside or (description.choices and value not in description.choices):
        unit = f" {description.unit}" if description.unit else ""
        raise ParameterError(
            f"parameter '{name}' is {quoted(value)}{unit}; it must be {description.constraints}{unit}"
        )
    return value
