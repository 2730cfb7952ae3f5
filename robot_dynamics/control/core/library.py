"""The control core's library: built once, described by its public headers, called through cffi."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.control.core.sources import FLAGS as FLAGS
from robot_dynamics.control.core.sources import SOURCES as SOURCES
from robot_dynamics.control.core.sources import core_source, declarations, enumerators
from robot_dynamics.errors import BackendError
from robot_dynamics.native import prebuilt
from robot_dynamics.native.build_process import BUILDS
from robot_dynamics.native.cache import discard
from robot_dynamics.native.library import shared_library
from robot_dynamics.spatial import Array

MODES = tuple(name for name in enumerators("rd_arm_mode") if name != "called")
"""Laws of an arm that the core has, in the order of its enumeration."""
COMMANDS = tuple(name.removeprefix("command_") for name in enumerators("rd_command"))
"""Quantities that actuators take, in the order of the core's enumeration."""
SAFE_OUTPUTS = tuple(enumerators("rd_safe_output"))
"""Fail-safe outputs of the core, in the order of its enumeration."""


@lru_cache(maxsize=1)
def ffi() -> Any:
    """The declarations of the core's public headers, for cffi."""
    import cffi  # reading the declarations takes longer than everything else that is imported here

    declared = cffi.FFI()
    declared.cdef(declarations())
    return declared


@lru_cache(maxsize=1)
def load_core() -> Any:
    """The library of the control core and its loop; its functions are those of :func:`ffi`.

    Raises:
        BackendError: there is no compiler, or it fails.
    """
    return opened(ffi(), core_path())


def core_path() -> Path:
    """Path of the core's library, for what is linked with it.

    Raises:
        BackendError: there is no compiler, or it fails.
    """
    return built(core_source(), FLAGS)


def built(source: str, flags: Sequence[str]) -> Path:
    """Path of the library compiled from C, with these flags: the package's own, or one in the user's cache.

    Raises:
        BackendError: there is no compiler, or it fails.
    """
    installed = prebuilt.find(source, flags)
    if installed is not None:
        return installed
    compiled = partial(_compiled, source, tuple(flags))
    return BUILDS.made(compiled, compiled)


def opened(declared: Any, path: Path) -> Any:
    """A library with the functions that a ``cffi.FFI`` declares.

    Raises:
        BackendError: it cannot be loaded.
    """
    try:
        library = declared.dlopen(str(path))
        # cffi looks names up under a lock, for which a destructor in a garbage collection would wait forever.
        for name in dir(library):
            with contextlib.suppress(AttributeError):  # declared for a larger library
                getattr(library, name)
        return library
    except OSError as error:
        discard(path)
        raise BackendError(f"the compiled library {path} cannot be loaded: {error}") from error


def _compiled(source: str, flags: Sequence[str]) -> Path:
    return shared_library(source, lambda: source, flags)


def doubles(array: Array) -> Any:
    """A C-contiguous array of doubles as ``double *``; it lives as long as the result."""
    return ffi().from_buffer("double[]", array)


def array_at(pointer: Any, count: int) -> Array:
    """The numbers at a ``double *`` as an array that shares their memory."""
    return np.frombuffer(ffi().buffer(pointer, 8 * count), dtype=float)
