"""Joint states and commands as bytes, decoded and encoded in C: see cdr.h."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from robot_dynamics.control.core.library import FLAGS, load
from robot_dynamics.native.library import joined_source

PACKAGE = "robot_dynamics.ros.control.native"
SOURCES = ("cdr.h", "cdr.c", "cdr_trajectory.c")


class Layout(ctypes.Structure):
    """``rd_layout`` of cdr.h."""

    _fields_: ClassVar = [
        ("names", ctypes.c_uint32),
        ("lengths", ctypes.c_void_p),
        ("text", ctypes.c_char_p),
        ("places", ctypes.c_void_p),
    ]


class State(ctypes.Structure):
    """``rd_joint_state`` of cdr.h."""

    _fields_: ClassVar = [
        ("stamp", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("position", "velocity", "effort")),
    ]


_SIZE = ctypes.POINTER(ctypes.c_size_t)
SIGNATURES: dict[str, tuple[Any, Sequence[Any]]] = {
    "rd_cdr_read_joint_state": (
        ctypes.c_int,
        [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(State)],
    ),
    "rd_cdr_pick": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p]),
    "rd_cdr_read_points": (
        ctypes.c_int,
        [
            ctypes.c_char_p,
            *(ctypes.c_size_t,) * 2,
            *(ctypes.c_uint32,) * 2,
            *(ctypes.c_void_p,) * 3,
        ],
    ),
    "rd_cdr_write_joint_state": (
        ctypes.c_size_t,
        [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_char_p, _SIZE],
    ),
    "rd_cdr_write_moving_joint_state": (
        ctypes.c_size_t,
        [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_char_p, _SIZE],
    ),
    "rd_cdr_write_float64_array": (
        ctypes.c_size_t,
        [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, _SIZE],
    ),
    "rd_cdr_set_stamp": (None, [ctypes.c_char_p, ctypes.c_int64]),
}
"""Result and arguments of each function."""


@lru_cache(maxsize=1)
def load_codec() -> ctypes.CDLL:
    """The codec alone, as tests use it.

    Raises:
        BackendError: there is no compiler, or it fails.
    """
    return load(joined_source(PACKAGE, SOURCES), FLAGS, SIGNATURES)
