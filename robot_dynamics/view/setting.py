"""A parameter of a controller, as the web view shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """A parameter as a text.

    Attributes:
        name: of the parameter.
        value: as a text; numbers of an array are separated by spaces.
        choices: legal values; empty where any text may do.
        hint: description.
    """

    name: str
    value: str
    choices: tuple[str, ...] = ()
    hint: str = ""
