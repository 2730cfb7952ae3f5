"""C99: source, header and an example of their use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from robot_dynamics.codegen.emit_c import c_header, c_source
from robot_dynamics.dynamics.export import Export
from robot_dynamics.dynamics.languages.cmake_package import package_files
from robot_dynamics.dynamics.languages.language import Language

_EXAMPLE = "example_controller.cpp"


def _files(export: Export) -> Mapping[str, str]:
    """Source, header and, where inverse and forward dynamics are there, an example in C++."""
    if export.cmake:
        return package_files(export)
    programs = export.programs()
    stem = f"{export.name}_dynamics"
    notice = [*export.notice(), f"Compile with: cc -std=c99 -O2 -c {stem}.c; link with -lm."]
    texts = {
        f"{stem}.c": c_source(programs, f"{stem}.h", notice),
        f"{stem}.h": c_header(programs, f"{stem.upper()}_H", notice),
    }
    if {"inverse_dynamics", "forward_dynamics"} <= set(export.quantities) and not export.wrench:
        template = files("robot_dynamics.dynamics.languages").joinpath(_EXAMPLE).read_text("utf-8")
        texts[_EXAMPLE] = template.replace("ROBOT", export.name).replace("JOINTS", str(export.chain.dof))
    return texts


def _usage(export: Export, main: str) -> str:
    if export.cmake:
        return "build, test and install with: cmake -B build && cmake --build build && ctest --test-dir build"
    return f"compile with: cc -O2 -c {main} (and link with -lm)"


C = Language(_files, _usage)
