"""Every error that the package raises on purpose.

A message names what is wrong (the link, joint, parameter or file), where it is, and what would be right. What
it quotes was written by others: it is cut to a readable length, and characters that a terminal would not show
as they are (controls, bidirectional marks, bytes that are no UTF-8) are escaped.
"""

from __future__ import annotations

import re
import reprlib
from typing import Any, cast

LONGEST_MESSAGE = 500
"""Characters of the longest message."""
LONGEST_QUOTE = 80
"""Characters of the longest value that a message quotes."""


def readable(text: object, most: int = LONGEST_MESSAGE) -> str:
    """``text`` for a person: ``most`` characters at most, its middle left out, the unprintable escaped."""
    shown = escaped(_cut(text if type(text) is str else _text(text), most))
    return _cut(shown, most)


def _text(value: object) -> str:
    """``str`` of any value; an integer of thousands of digits, and a faulty object, have none."""
    try:
        return str(value)
    except Exception:
        return str(_BRIEF.repr(value))


def escaped(text: str, kept: str = "\n") -> str:
    """``text`` with Python escapes, such as \\u202e, for what is not printable and not ``kept``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


def shown(*names: str) -> str:
    """Names that others have given, separated by commas, as a table or a log may show them."""
    return ", ".join(escaped(name, kept="") for name in names)


def short(value: float, digits: int = 3) -> str:
    """A number with so many decimals, or with few digits where it is too great to be read so."""
    return f"{value:.{digits}f}" if abs(value) < 1e12 else f"{value:.6g}"


def quoted(value: Any, most: int = LONGEST_QUOTE) -> str:
    """``repr`` of any value, short, and in bounded time however large or faulty the value is."""
    try:
        text = _BRIEF.repr(value)
    except Exception:  # what calls itself a list, say, and fails when it is looked into
        text = f"an object of the type {type(value).__name__}"
    return readable(re.sub(r"\s*\n\s*", " ", text), most)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    gap = f" [{len(text) - most} more characters] "
    kept = max(0, most - len(gap))
    tail = kept // 4
    return text[: kept - tail] + gap + text[len(text) - tail :]


class _Brief(reprlib.Repr):
    """Quotes only the beginning of large values; an integer of thousands of digits has no ``repr`` at all."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 4 * LONGEST_QUOTE
        self.maxlevel, self.maxlist, self.maxtuple, self.maxdict = 4, 12, 12, 8

    def repr_int(self, value: int, level: int) -> str:
        bits = value.bit_length()
        return repr(value) if bits < 200 else f"an integer of about {round(bits * 0.30103)} digits"

    def repr_instance(self, value: object, level: int) -> str:
        try:
            return _cut(repr(value), self.maxother)
        except Exception:
            return f"an object of the type {type(value).__name__}"


_BRIEF = _Brief()


class RobotDynamicsError(Exception):
    """Base of every error raised on purpose by this package."""

    def __init__(self, message: object = "") -> None:
        super().__init__(readable(message))


class ModelError(RobotDynamicsError):
    """A robot description or a mechanism's parameters cannot be used."""


class ModelWarning(UserWarning):
    """A robot description can be used, but probably does not say what its author meant."""

    def __init__(self, message: object = "") -> None:
        super().__init__(readable(message))


class StewartModelWarning(ModelWarning):
    """A machine is used although its parameters are those of no real one."""


class ConversionError(ModelError):
    """A kinematic conversion does not reproduce the original within its tolerance."""


class StateError(RobotDynamicsError, ValueError):
    """Joint values, velocities, accelerations or wrenches of a wrong shape, or not finite."""


class LogError(StateError):
    """A recording of a robot's motion cannot be used to identify the robot."""


class LimitError(StateError):
    """A leg outside its stroke, its joint angles, its speed or its force."""


class LimitWarning(UserWarning):
    """A leg outside its limits or a pose near a singularity, where the caller asked for a warning only."""

    def __init__(self, message: object = "") -> None:
        super().__init__(readable(message))


class ParameterError(RobotDynamicsError, ValueError):
    """A parameter outside its legal values."""


class TrajectoryError(RobotDynamicsError, ValueError):
    """A trajectory that cannot be executed."""


class StoppingError(TrajectoryError):
    """The robot slows down: a trajectory can begin when it rests."""

    def __init__(self) -> None:
        super().__init__(
            "the robot is slowing down to a stop: send the trajectory again when it holds position"
        )


class WrongTypeError(RobotDynamicsError, TypeError):
    """An argument of an altogether wrong type."""


_WRONG_TYPES: dict[type[RobotDynamicsError], type[RobotDynamicsError]] = {}


def of_wrong_type(error: type[RobotDynamicsError]) -> type[RobotDynamicsError]:
    """Subclass of ``error`` and :class:`WrongTypeError`, with the name of ``error``."""
    if issubclass(error, WrongTypeError):
        return error
    if error in _WRONG_TYPES:
        return _WRONG_TYPES[error]

    def reduced(self: RobotDynamicsError) -> tuple[Any, ...]:  # pickle finds no class by this name
        return _of_wrong_type, (error, str(self))

    parts = {"__module__": error.__module__, "__doc__": error.__doc__, "__reduce__": reduced}
    made = cast(type[RobotDynamicsError], type(error.__name__, (error, WrongTypeError), parts))
    return _WRONG_TYPES.setdefault(error, made)


def _of_wrong_type(error: type[RobotDynamicsError], message: str) -> RobotDynamicsError:
    return of_wrong_type(error)(message)


class SingularityError(RobotDynamicsError):
    """A configuration in which the mechanism cannot carry the load with finite forces."""


class BackendError(RobotDynamicsError):
    """The machinery that turns a model into code (compiler, cache) failed."""
