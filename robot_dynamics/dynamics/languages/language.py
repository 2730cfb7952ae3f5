"""Interface of a language of exported models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from robot_dynamics.dynamics.export import Export


@dataclass(frozen=True)
class Language:
    """Writer of models in one language.

    Attributes:
        files: the texts of all files by their paths in the folder that the user names, the main one first.
        usage: one line that tells what to do with them, given what is written and the path of the main one.
    """

    files: Callable[[Export], Mapping[str, str]]
    usage: Callable[[Export, str], str]
