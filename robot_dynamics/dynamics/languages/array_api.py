"""A Python module of functions over any library of the array API standard."""

from __future__ import annotations

from collections.abc import Mapping

from robot_dynamics.codegen.emit_array_api import array_module
from robot_dynamics.dynamics.export import Export
from robot_dynamics.dynamics.languages.language import Language


def _files(export: Export) -> Mapping[str, str]:
    programs = export.programs()
    shaped = [
        (program, export.shapes(name, program))
        for name, program in zip(export.quantities, programs, strict=True)
    ]
    return {f"{export.name}_arrays.py": array_module(shaped, export.notice())}


ARRAY_API = Language(
    _files, lambda _, main: f"import {main} and give its functions numpy, jax.numpy or torch first"
)
