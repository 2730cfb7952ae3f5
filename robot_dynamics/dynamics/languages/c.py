"""C99: source, header and an example of their use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from robot_dynamics.codegen.emit_c import c_header, c_source
from robot_dynamics.dynamics.export import Export
from robot_dynamics.dynamics.languages.language import Language

_EXAMPLE = "example_controller.cpp"


def _files(export: Export) -> Mapping[str, str]:
    """Source, header and, where inverse and forward dynamics are there, an example in C++."""
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


C = Language(_files, lambda main: f"compile with: cc -O2 -c {main} (and link with -lm)")
