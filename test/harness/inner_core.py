"""The core from within: its own structures and functions, as its private headers declare them.

Most of the core can be tested from outside. This is for arithmetic of which nobody outside sees the parts:
periods in bins, factors from state to state, numbers in texts.
"""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import cffi

from robot_dynamics.control.core import library
from robot_dynamics.native.compiler import find_compiler

FOLDER = Path(library.__file__).parent
_LINE = re.compile(r'# \d+ "([^"]*)"')
_BEFORE = """typedef uint64_t atomic_uint_fast64_t, atomic_uint_fast32_t; typedef size_t atomic_size_t;
typedef int64_t atomic_int_fast64_t; typedef int atomic_int; typedef double atomic_double;"""
"""Values without the promise of being read at once: here only one thread runs."""


def _own_lines(header: Path, *beside: Path) -> str:
    """Output of the preprocessor for the package's headers, without the system's."""
    folders = (FOLDER, FOLDER / "platform", FOLDER.parents[1] / "stewart" / "native")
    options = [*(f"-I{folder}" for folder in folders), *(f"-include{name}" for name in beside)]
    call = [*find_compiler().command, "-E", *options, str(header)]
    kept, own = [], False
    for line in subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines():
        found = _LINE.match(line)
        if found:
            own = "robot_dynamics" in found[1]
        elif own:
            kept.append(line)
    return "\n".join(kept)


def _without_bodies(text: str) -> str:
    """Declarations without inline functions and constants, which cffi does not read."""
    parts, at = [], 0
    for found in re.finditer(r"^static (?:inline[^{]*\{|const[^;]*;)", text, re.MULTILINE):
        if found.start() < at:
            continue
        parts.append(text[at : found.start()])
        at, depth = found.end(), found[0].count("{")
        while depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
    return "".join([*parts, text[at:]])


@lru_cache(maxsize=1)
def inner() -> tuple[Any, Any]:
    """cffi's declarations of the private headers, the platform's too, and the core's library with them."""
    text = _own_lines(FOLDER / "loop.h", FOLDER / "laws.h", FOLDER / "platform" / "platform.h")
    text = re.sub(
        r"\b_Atomic\b\s*(?:\(([^)]*)\))?", r"\1", re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", text)
    )
    text = re.sub(r"typedef double rd_row[^;]*;", "typedef struct { double of[8]; } rd_row;", text)
    declared = cffi.FFI()
    declared.cdef(_BEFORE + _without_bodies(text))
    return declared, declared.dlopen(str(library.core_path()))


class Inner:
    """The core of a controller, its settings, and the functions of the core.

    Args:
        controller: that nobody else runs meanwhile.
    """

    def __init__(self, controller: Any) -> None:
        self.controller = controller  # keeps what is pointed to
        self.ffi, self.calls = inner()
        self.core = self.ffi.cast("rd_core *", controller.handle)

    @property
    def settings(self) -> Any:
        """``rd_settings *`` in force."""
        return self.ffi.cast("rd_settings *", self.core.settings)

    def text(self, function: str, *arguments: Any) -> tuple[int, str]:
        """Result of a function that writes a text, and the text."""
        written = self.ffi.new("char[]", 600)
        found = getattr(self.calls, function)(*arguments, written, 600)
        return found, self.ffi.string(written).decode()
