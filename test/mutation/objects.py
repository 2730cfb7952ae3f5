"""The core's library of one object for each source, so that a fault in one costs one compilation."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from robot_dynamics.control.core.sources import CORE, FLAGS, LOOP, PLATFORM, SOURCES
from robot_dynamics.native.compiler import FLAGS as COMPILING
from robot_dynamics.native.compiler import find_compiler

COUNTED = ("-O0", "--coverage")
"""Options of a library that counts what runs."""
STRICT = ("-Wall", "-Wextra", "-Werror")
TRAPPED = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
"""Behaviour that C leaves undefined, such as an index beyond an array, ends the process."""
USUAL = ("-O1", *STRICT, *TRAPPED)
"""Options to plant faults with, as test_controller_package and test_undefined_behaviour compile."""
# The library of gcc that counts shows nothing to others.
_DUMP = """
void __gcov_dump(void);
void __gcov_reset(void);
void rd_coverage_dump(void) { __gcov_dump(); __gcov_reset(); }
void rd_coverage_reset(void) { __gcov_reset(); }
"""


class Refused(Exception):
    """The compiler refuses a source."""


def sources(root: Path) -> list[Path]:
    """The library's C files, relative to the repository at ``root``."""
    packages = ((CORE, (*SOURCES, *LOOP)), *PLATFORM)
    found = [Path(*package.split("."), name) for package, names in packages for name in names]
    return [path for path in found if path.suffix == ".c" and (root / path).is_file()]


class Objects:
    """Objects of the core's sources, and libraries of them.

    Args:
        root: of the repository.
        folder: to build in.
        options: for the compiler, USUAL or COUNTED.
    """

    def __init__(self, root: Path, folder: Path, options: Sequence[str] = USUAL) -> None:
        self._root, self._folder, self._options = root, folder, options
        folder.mkdir(parents=True, exist_ok=True)
        self.sources = sources(root)
        self._objects = {source: folder / f"{k}.o" for k, source in enumerate(self.sources)}
        for source, place in self._objects.items():
            self._compile(source, place)

    def _call(self, *words: str | Path) -> None:
        flags = [flag for flag in (*COMPILING, *FLAGS) if flag not in ("-shared", "-w")]
        call = [*find_compiler().command, *flags, *self._options, *map(str, words)]
        run = subprocess.run(call, capture_output=True, text=True, check=False)
        if run.returncode:
            raise Refused(run.stderr[-2000:])

    def _compile(self, source: Path, place: Path) -> None:
        folders = dict.fromkeys((self._root / file).parent for file in self.sources)
        self._call(*(f"-I{folder}" for folder in folders), "-c", self._root / source, "-o", place)

    def library(self, changed: Path | None = None) -> Path:
        """A library of the objects; one source is compiled anew in place of its own.

        Raises:
            Refused: the compiler refuses that source.
        """
        objects = dict(self._objects)
        if changed is not None:
            objects[changed] = self._folder / "changed.o"
            self._compile(changed, objects[changed])
        extra: list[Path] = []
        if self._options == COUNTED:
            extra = [self._folder / "dump.c"]
            extra[0].write_text(_DUMP, encoding="utf-8")
        made = self._folder / ("usual.so" if changed is None else "changed.so")
        self._call("-shared", *objects.values(), *extra, "-o", made, "-lm")
        return made
