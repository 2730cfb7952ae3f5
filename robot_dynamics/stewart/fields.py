"""The fields of a machine's description: every value asked for by name, checked, and none left over."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.errors import (
    LONGEST_QUOTE,
    ModelError,
    RobotDynamicsError,
    of_wrong_type,
    quoted,
    readable,
    shown,
)
from robot_dynamics.inputs.arrays import plain_text, real_array
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.spatial import Array

LARGEST = 1e9
"""A larger number (in SI units) is a mistake, and its products would overflow."""
MILLIMETRES = ": units are m, kg and s; was it meant in millimetres or grams?"
"""Ends a message about a number that is far too large."""
_CONTROLS = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000))))
"""Characters that no XML can hold and no name needs: controls, and halves of characters."""
_EXPONENT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]{1,2}", re.ASCII)


class Fields:
    """One mapping of the description: every value is asked for by name, and nothing may be left over."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where
        self.used: set[str] = set()

    def path(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def value(self, name: str) -> Any:
        self.used.add(name)
        if name not in self.values or self.values[name] is None:
            raise ModelError(f"{self.path(name)} is missing")
        return self.values[name]

    def text(self, name: str) -> str:
        value = plain_text(self.value(name))
        if value is None:
            raise self._wrong_type(name, "a text")
        if not value:
            raise ModelError(f"{self.path(name)} is {quoted(value)}; it must be a text")
        if not set(value).isdisjoint(_CONTROLS):
            raise ModelError(f"{self.path(name)} is {quoted(value)}; a text must have no control characters")
        return value

    def flag(self, name: str, default: bool) -> bool:
        self.used.add(name)
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong_type(name, "true or false")
        return value

    def section(self, name: str) -> Fields:
        value = self.value(name)
        if not isinstance(value, Mapping):
            raise self._wrong_type(name, "a mapping")
        return Fields(value, self.path(name))

    def optional_section(self, name: str) -> Mapping[str, Any]:
        self.used.add(name)
        return self.section(name).values if self.values.get(name) is not None else {}

    def array(self, name: str, shape: tuple[int, ...]) -> Array:
        value, raised = self.value(name), ModelError
        try:
            array = real_array(self.path(name), _numbers(value, len(shape)), ModelError)
        except ModelError as error:
            array, raised = np.empty(0), type(error)
        except Exception:  # of a list that fails when it is gone through
            array = np.empty(0)
        if array.shape != shape:
            wanted = " by ".join(map(str, shape))
            raise raised(f"{self.path(name)} is {quoted(value)}; it must be {wanted} numbers")
        if not np.isfinite(array).all():
            raise ModelError(f"{self.path(name)} is {quoted(value)}; every number must be finite")
        if not np.abs(array).max() <= LARGEST:
            raise ModelError(
                f"{self.path(name)} is {quoted(value)}; no number may exceed {LARGEST:g}{MILLIMETRES}"
            )
        return array

    def direction(self, name: str) -> Array:
        vector = self.array(name, (3,))
        length = float(np.linalg.norm(vector))
        if not 1e-6 < length < 1e6:
            raise ModelError(f"{self.path(name)} is {vector.tolist()}; it must point somewhere")
        return np.asarray(vector / length)

    def number(self, name: str, least: float | None = None, above: float | None = None) -> float:
        value = self.value(name)
        try:
            array = real_array(self.path(name), _numbers(value, 0), ModelError)
            if array.ndim:  # older releases of numpy take a list of one number for a number
                raise TypeError("not a single number")
            number = float(array)
        except Exception as error:
            raised = type(error) if isinstance(error, ModelError) else ModelError
            raise raised(f"{self.path(name)} is {quoted(value)}; it must be a number") from None
        if not np.isfinite(number):
            raise ModelError(f"{self.path(name)} is {number}; it must be finite")
        if least is not None and number < least:
            raise ModelError(f"{self.path(name)} is {number:g}; it must be at least {least:g}")
        if above is not None and number <= above:
            raise ModelError(f"{self.path(name)} is {number:g}; it must be greater than {above:g}")
        if number > LARGEST:
            raise ModelError(f"{self.path(name)} is {number:g}; it must be at most {LARGEST:g}{MILLIMETRES}")
        return number

    def _wrong_type(self, name: str, wanted: str) -> RobotDynamicsError:
        return of_wrong_type(ModelError)(
            f"{self.path(name)} is {quoted(self.values.get(name))}; it must be {wanted}"
        )

    def has(self, name: str) -> bool:
        self.used.add(name)
        return self.values.get(name) is not None

    def optional_number(
        self, name: str, default: float, least: float | None = None, above: float | None = None
    ) -> float:
        return self.number(name, least, above) if self.has(name) else default

    def finish(self, ignore: Sequence[str] = ()) -> None:
        left = [name for name in self.values if name not in self.used and name not in ignore]
        unknown = sorted(shown(name) if type(name) is str else quoted(name) for name in left)
        if unknown:
            unknown[0] = readable(unknown[0], LONGEST_QUOTE)
            raise ModelError(f"{self.path(unknown[0])} is unknown; known are {', '.join(sorted(self.used))}")


def _numbers(value: Any, levels: int) -> Any:
    """``value`` with numbers such as 1e4 as numbers: to YAML 1.1, which wants 1.0e+4, they are texts."""
    if levels and isinstance(value, list | tuple):
        return [_numbers(entry, levels - 1) for entry in value]
    return decimal(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value
