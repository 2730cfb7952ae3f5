"""A Python module that needs nothing but Python, and numpy for many states at once."""

from __future__ import annotations

from collections.abc import Mapping

from robot_dynamics.codegen.emit_python import python_module
from robot_dynamics.dynamics.export import Export
from robot_dynamics.dynamics.languages.language import Language


def _files(export: Export) -> Mapping[str, str]:
    return {f"{export.name}_dynamics.py": python_module(export.programs(), export.notice())}


PYTHON = Language(_files, lambda _, main: f"import it from the folder of {main}")
