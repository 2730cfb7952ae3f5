"""The C sources of the control core, compiled and cached as the models' kernels are."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from robot_dynamics.errors import BackendError
from robot_dynamics.native.build_process import BUILDS
from robot_dynamics.native.cache import discard
from robot_dynamics.native.library import joined_source, shared_library
from robot_dynamics.spatial import Array

PACKAGE = "robot_dynamics.control.core"
SOURCES = (
    "friction.h",
    "core.h",
    "schedule.c",
    "law.c",
    "plausibility.c",
    "fading.c",
    "handover.c",
    "core.c",
)
# Without fused products the C core rounds as its Python twin does.
FLAGS = ("-std=gnu11", "-ffp-contract=off")

MODES = ("computed_torque", "feedforward", "gravity_compensation", "pd")
"""Laws of the core, in the order of its enumeration."""
SAFE_OUTPUTS = ("gravity_fade", "zero", "settle")
"""Safe outputs of the core, in the order of its enumeration."""


class Settings(ctypes.Structure):
    """``rd_settings`` of core.h."""

    _fields_: ClassVar = [
        *((name, ctypes.c_uint64) for name in ("number", "model", "law")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                "machine", "inverse_dynamics", "platform", "gravity", "payload", "rotor_inertia", "friction",
                "limits", "velocity_bounds", "effort_steps", "kp", "kv",
            )
        ),
        *(
            (name, ctypes.c_double)
            for name in (
                "control_period", "state_timeout", "safe_fade_time", "model_change_time", "front_timeout",
                "state_jump", "stamp_step", "brake_from", "brake_fade",
            )
        ),
        *((name, ctypes.c_int32) for name in ("driven", "mode", "looks_ahead", "safe_output", "brakes")),
    ]  # fmt: skip


class Plan(ctypes.Structure):
    """``rd_plan`` of core.h."""

    _fields_: ClassVar = [
        ("number", ctypes.c_uint64),
        ("epoch", ctypes.c_uint64),
        ("continues", ctypes.c_uint64),
        ("knots", ctypes.c_size_t),
        ("times", ctypes.c_void_p),
        ("coefficients", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


class Snapshot(ctypes.Structure):
    """The head of ``rd_snapshot`` of core.h."""

    _fields_: ClassVar = [
        *(
            (name, ctypes.c_uint64)
            for name in (
                "epoch",
                "current",
                "next",
                "finished",
                "considered",
                "oldest_settings",
                "oldest_plan",
                "beyond",
            )
        ),
        *((name, ctypes.c_double) for name in ("time", "period", "late")),
        *((name, ctypes.c_int32) for name in ("phase", "verdict")),
    ]


class Results(ctypes.Structure):
    """``rd_results`` of core.h."""

    _fields_: ClassVar = [
        *(
            (name, ctypes.POINTER(ctypes.c_double))
            for name in ("effort", "unlimited", "position", "velocity", "acceleration")
        ),
        ("discontinuity_size", ctypes.c_double),
        ("discontinuity_more", ctypes.c_double),
        ("discontinuity", ctypes.c_int32),
        ("phase", ctypes.c_int32),
    ]


_POINTER, _DOUBLE, _INT = ctypes.c_void_p, ctypes.c_double, ctypes.c_int
SIGNATURES: dict[str, tuple[Any, Sequence[Any]]] = {
    "rd_sizes": (None, [ctypes.POINTER(ctypes.c_size_t)]),
    "rd_core_new": (_POINTER, [_INT, _POINTER]),
    "rd_core_free": (None, [_POINTER]),
    "rd_core_update": (_INT, [_POINTER, _DOUBLE, _POINTER, _POINTER]),
    "rd_core_observe": (None, [_POINTER, _POINTER]),
    "rd_core_lost_states": (None, [_POINTER, ctypes.c_double]),
    "rd_core_hold": (None, [_POINTER]),
    "rd_core_safe_command": (None, [_POINTER, ctypes.c_double]),
    "rd_core_results": (None, [_POINTER, ctypes.POINTER(Results)]),
    "rd_core_offer_settings": (None, [_POINTER, _POINTER]),
    "rd_core_offer_plan": (None, [_POINTER, _POINTER]),
    "rd_core_succeed": (None, [_POINTER, _POINTER]),
    "rd_core_snapshot": (None, [_POINTER, _POINTER]),
    "rd_core_snapshot_size": (ctypes.c_size_t, [_POINTER]),
}
"""Result and arguments of each function of the core."""


@lru_cache(maxsize=1)
def load_core() -> ctypes.CDLL:
    """The library of the control core.

    Raises:
        BackendError: there is no compiler, or it fails.
    """
    return load(joined_source(PACKAGE, SOURCES), FLAGS, SIGNATURES, (Settings, Plan, Snapshot, Results))


def machine_address(library: ctypes.CDLL, name: str) -> int:
    """Where a library has the functions of a machine, e.g. ``rd_arm``."""
    return ctypes.addressof(ctypes.c_char.in_dll(library, name))


def _compiled(source: str, flags: Sequence[str]) -> Path:
    return shared_library(source, lambda: source, flags)


def load(
    source: str,
    flags: Sequence[str],
    signatures: dict[str, tuple[Any, Sequence[Any]]],
    structures: Sequence[type[ctypes.Structure]] = (),
    sizes: str = "rd_sizes",
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
    compiled = partial(_compiled, source, tuple(flags))
    path = BUILDS.made(compiled, compiled)
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
