"""Libraries that are compiled when the package is installed, and not first on the robot.

They lie in the package, named by a digest of source and flags: another source is never taken for them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from robot_dynamics.errors import BackendError
from robot_dynamics.native.compiler import FLAGS, find_compiler

_ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "ROBOT_DYNAMICS_BUILT"
"""Environment variable that names another folder of libraries than the package's."""

_OWN_INCLUDE = re.compile(r'^#include ".*"$', re.MULTILINE)
_target: Path | None = None


def folder_of_libraries() -> Path:
    """Folder of the libraries that were built with the package."""
    return Path(os.environ.get(VARIABLE) or _ROOT / "robot_dynamics" / "built")


def text_of(package: str, name: str) -> str:
    """A file of one of this distribution's packages as text; the package is not imported."""
    return _ROOT.joinpath(*package.split("."), name).read_text(encoding="utf-8")


def joined_source(package: str, names: Sequence[str]) -> str:
    """Several C files of a package as one text, each ``#include "..."`` of another of them left out.

    Args:
        package: their package.
        names: of the files, headers first.
    """
    texts = [text_of(package, name) for name in names]
    return "\n".join(_OWN_INCLUDE.sub("", text) for text in texts)


def find(source: str, flags: Sequence[str]) -> Path | None:
    """The library of a source, where it was built with the package; within :func:`into` it is built now.

    Raises:
        BackendError: it has to be built, and there is no compiler or it fails.
    """
    name = _name(source, flags)
    if _target is not None:
        return build(source, flags, _target)
    path = folder_of_libraries() / name
    return path if path.is_file() else None


@contextlib.contextmanager
def into(folder: Path) -> Iterator[None]:
    """Build every library that is asked for within this context into a folder."""
    global _target
    before, _target = _target, folder
    try:
        yield
    finally:
        _target = before


def build(source: str, flags: Sequence[str], folder: Path) -> Path:
    """Compile a library into a folder, for every CPU of this architecture.

    Raises:
        BackendError: there is no compiler or it fails, or the folder cannot be written to.
    """
    path = folder / _name(source, flags)
    if path.is_file():
        return path
    compiler = find_compiler()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            made = Path(place) / path.name
            compiler.compile(source, made, Path(place), flags, portable=True)
            made.replace(path)
    except OSError as error:
        raise BackendError(f"compiled libraries cannot be stored in {folder}: {error}") from error
    return path


def _name(source: str, flags: Sequence[str]) -> str:
    text = "\n".join([platform.machine(), *FLAGS, *flags, source])
    return f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.so"
