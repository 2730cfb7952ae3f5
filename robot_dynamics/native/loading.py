"""From a program to its kernel: compiled and cached, or as generated Python where there is no compiler."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from robot_dynamics.codegen.emit_lanes import lanes_source
from robot_dynamics.codegen.emit_python import python_module
from robot_dynamics.codegen.program import Program
from robot_dynamics.errors import BackendError
from robot_dynamics.inputs.arrays import one_of
from robot_dynamics.native.cache import cached, content
from robot_dynamics.native.fingerprint import source_fingerprint
from robot_dynamics.native.kernel import Kernel, PythonKernel
from robot_dynamics.native.library import load_library

_LOG = logging.getLogger(__name__)
BACKENDS = ("auto", "c", "python")


def check_backend(backend: str) -> None:
    """Refuse a backend that does not exist.

    Raises:
        BackendError: it does not; the message names those that do.
    """
    one_of("backend", backend, BACKENDS, BackendError)


def load_kernel(
    key: str,
    generator: str,
    program: Callable[[], Program],
    outputs: int,
    backend: str = "auto",
    shared: Collection[str] = (),
) -> Kernel:
    """The kernel of a program, from the cache where it has been made before.

    Args:
        key: identifies the program among all that ``generator`` makes.
        generator: the module that makes it; a change in it, or in what it imports, makes a new kernel.
        program: makes it, if it has to be made.
        outputs: their number.
        backend: "c" compiles, "python" does not, "auto" compiles where that works and otherwise says once, in
            the log, that the slow way is taken.
        shared: names of the inputs of which a batch has one row for all states.

    Raises:
        BackendError: ``backend="c"`` and the compiler fails.
    """
    key = f"{key} {source_fingerprint(generator, __name__)}"
    if backend != "python":
        try:
            return load_library(key, lambda: lanes_source(program(), shared), outputs)
        except BackendError as error:
            if backend == "c":
                raise
            _notice(str(error))
    return _python_kernel(key, program, outputs)


@cache
def _notice(reason: str) -> None:
    """Say once that the slow way is taken."""
    _LOG.warning("generated Python is used, with the results of compiled code but slower: %s", reason)


def _python_kernel(key: str, program: Callable[[], Program], outputs: int) -> PythonKernel:
    def text() -> str:
        return python_module([replace(program(), name="kernel")], [])

    def build(target: Path, _folder: Path) -> None:
        target.write_text(text(), encoding="utf-8")

    code: bytes | str
    try:
        path = cached(key, ".py", build)
        code, name = content(path), str(path)
    except BackendError as error:  # Python needs no file
        _LOG.warning("generated Python is not kept: %s", error)
        code, name = text(), "<generated>"
    names: dict[str, Any] = {}
    exec(compile(code, name, "exec"), names)
    return PythonKernel(names["kernel"], outputs)
