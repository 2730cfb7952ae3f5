"""The languages in which a user gets customised models; a new one is a file here and a line below."""

from __future__ import annotations

from collections.abc import Mapping

from robot_dynamics.dynamics.languages.array_api import ARRAY_API
from robot_dynamics.dynamics.languages.c import C
from robot_dynamics.dynamics.languages.casadi import CASADI
from robot_dynamics.dynamics.languages.language import Language
from robot_dynamics.dynamics.languages.python import PYTHON
from robot_dynamics.errors import ParameterError, quoted

LANGUAGES: Mapping[str, Language] = {
    "c": C,
    "python": PYTHON,
    "casadi": CASADI,
    "array-api": ARRAY_API,
}


def language_named(name: str) -> Language:
    """The language with this name.

    Raises:
        ParameterError: there is none; the message names those that there are.
    """
    try:
        return LANGUAGES[name]
    except (KeyError, TypeError):
        raise ParameterError(f"no language {quoted(name)}; choose from {', '.join(LANGUAGES)}") from None


__all__ = ["LANGUAGES", "Language", "language_named"]
