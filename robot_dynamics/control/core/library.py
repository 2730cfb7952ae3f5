"""The control core's library: built once, described by its public headers, called through cffi."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.control.core.header import CORE, declarations, enumerators
from robot_dynamics.errors import BackendError
from robot_dynamics.native.build_process import BUILDS
from robot_dynamics.native.cache import discard
from robot_dynamics.native.library import joined_source, shared_library
from robot_dynamics.spatial import Array

SOURCES = (
    "friction.h", "core.h", "internal.h",
    "schedule.c", "law.c", "plausibility.c", "fading.c", "handover.c", "core.c",
)  # fmt: skip
PLATFORM = (
    ("robot_dynamics.stewart.native", ("kinematics.h", "kinematics.c")),
    (f"{CORE}.platform", ("platform.h", "pose.c", "forces.c", "bounds.c", "blind.c")),
)
# Without fused products a run is the same on every CPU.
FLAGS = ("-std=gnu11", "-ffp-contract=off")

MODES = tuple(name for name in enumerators("rd_arm_mode") if name != "called")
"""Laws of an arm that the core has, in the order of its enumeration."""
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
    """The library of the control core; its functions are those of :func:`ffi`.

    Raises:
        BackendError: there is no compiler, or it fails.
    """
    parts = [joined_source(CORE, SOURCES), *(joined_source(package, names) for package, names in PLATFORM)]
    path = _built("\n".join(parts), FLAGS)
    try:
        return ffi().dlopen(str(path))
    except OSError as error:
        discard(path)
        raise BackendError(f"the compiled library {path} cannot be loaded: {error}") from error


def _built(source: str, flags: Sequence[str]) -> Path:
    compiled = partial(_compiled, source, tuple(flags))
    return BUILDS.made(compiled, compiled)


def _compiled(source: str, flags: Sequence[str]) -> Path:
    return shared_library(source, lambda: source, flags)


def load(
    source: str,
    flags: Sequence[str],
    signatures: dict[str, tuple[Any, Sequence[Any]]],
    structures: Sequence[type[ctypes.Structure]] = (),
    sizes: str = "",
) -> ctypes.CDLL:
    """A compiled library with its functions declared.

    Args:
        source: C text.
        flags: of the compiler.
        signatures: result and arguments of each function.
        structures: as Python believes them to be.
        sizes: function that fills an array with the sizes that the compiler gives them.

    Raises:
        BackendError: it cannot be compiled or loaded, or the compiler lays out a structure differently.
    """
    path = _built(source, flags)
    try:
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in signatures.items():
            function: Callable[..., Any] = getattr(library, name)
            function.restype, function.argtypes = result, arguments  # type: ignore[attr-defined]
    except (OSError, AttributeError) as error:
        discard(path)
        raise BackendError(f"the compiled library {path} cannot be loaded: {error}") from error
    real = (ctypes.c_size_t * len(structures))()
    if structures:
        getattr(library, sizes)(real)
    if list(real) != [ctypes.sizeof(structure) for structure in structures]:
        raise BackendError("this compiler lays out the structures of the control core in another way")
    return library


def address(array: Array) -> int:
    """Where the numbers of a C-contiguous array of doubles are; they live as long as the array."""
    assert array.dtype == np.float64 and array.flags.c_contiguous
    return int(array.ctypes.data)


def doubles(array: Array) -> Any:
    """A C-contiguous array of doubles as ``double *``; it lives as long as the result."""
    return ffi().from_buffer("double[]", array)


def array_at(pointer: Any, count: int) -> Array:
    """The numbers at a ``double *`` as an array that shares their memory."""
    return np.frombuffer(ffi().buffer(pointer, 8 * count), dtype=float)
