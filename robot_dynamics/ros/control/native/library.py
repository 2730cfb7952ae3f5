"""The loop over rcl, compiled against the headers that belong to the rcl in use."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from robot_dynamics.control.core import library as core
from robot_dynamics.control.core.header import CORE
from robot_dynamics.errors import BackendError
from robot_dynamics.native.library import joined_source
from robot_dynamics.ros.control.native import codec

_CORE_SOURCES = (*core.SOURCES, "loop.h", "record.c", "sim_time.c", "loop.c")
_NODE_SOURCES = (*codec.SOURCES, "node.h", "outlet.c", "node_time.c", "node.c")
_LIBRARIES = ("librcl.so", "librcutils.so")


class GivenState(ctypes.Structure):
    """``rd_given_state`` of node.h."""

    _fields_: ClassVar = [
        ("session", ctypes.c_void_p),
        ("stamp", ctypes.c_int64),
        ("position", ctypes.c_void_p),
        ("velocity", ctypes.c_void_p),
    ]


class Record(ctypes.Structure):
    """``rd_record`` of loop.h."""

    _fields_: ClassVar = [
        *((name, ctypes.c_int64) for name in ("stamp", "arrived", "left")),
        *(
            (name, ctypes.c_double)
            for name in ("time", "age", "discontinuity_size", "discontinuity_more")
        ),
        *((name, ctypes.c_int32) for name in ("kind", "phase", "discontinuity", "back")),
    ]  # fmt: skip


class Status(ctypes.Structure):
    """``struct rd_node_status`` of node.h."""

    _fields_: ClassVar = [
        *((name, ctypes.c_uint64) for name in ("states", "answered", "foreign_lost")),
        ("last_state", ctypes.c_int64),
        ("session", ctypes.c_void_p),
        ("safe", ctypes.c_void_p),
        ("asked", ctypes.c_uint32),
        ("done", ctypes.c_uint32),
        *(
            (name, ctypes.c_int32)
            for name in ("active", "halting", "failed", "priority_error", "cpu_error")
        ),
    ]  # fmt: skip


_POINTER, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_SIGNATURES: dict[str, tuple[Any, Sequence[Any]]] = {
    **codec.SIGNATURES,
    "rd_node_sizes": (None, [ctypes.POINTER(_SIZE)]),
    "rd_node_start": (
        _POINTER,
        [*(_POINTER,) * 7, _INT, _INT, _INT, _INT, ctypes.c_char_p, _SIZE],
    ),
    "rd_node_ask_to_stop": (None, [_POINTER]),
    "rd_node_stop": (None, [_POINTER]),
    "rd_node_loop": (_POINTER, [_POINTER]),
    "rd_node_give": (None, [_POINTER, _POINTER]),
    "rd_node_given_pending": (_INT, [_POINTER]),
    "rd_node_seen": (None, [_POINTER, ctypes.c_int64]),
    "rd_node_foreign": (_SIZE, [_POINTER, _POINTER]),
    "rd_node_status": (None, [_POINTER, ctypes.POINTER(Status)]),
    "rd_loop_offer": (None, [_POINTER, _POINTER]),
    "rd_loop_request": (None, [_POINTER, _INT]),
    "rd_session_new": (_POINTER, [_POINTER, _SIZE]),
    "rd_session_free": (None, [_POINTER]),
    "rd_session_attach": (None, [_POINTER, _POINTER]),
    "rd_session_seconds": (ctypes.c_double, [_POINTER, ctypes.c_int64]),
    "rd_session_epoch": (ctypes.c_int64, [_POINTER]),
    "rd_session_read_many": (_SIZE, [_POINTER, _POINTER, _SIZE]),
    "rd_session_lost": (ctypes.c_uint64, [_POINTER]),
    "rd_session_record_size": (_SIZE, [_POINTER]),
    "rd_outlet_new": (
        _POINTER,
        [ctypes.c_uint32, *(ctypes.c_char_p, _SIZE, _SIZE) * 2],
    ),
    "rd_outlet_free": (None, [_POINTER]),
    "rd_outlet_tell_state": (None, [_POINTER, ctypes.c_uint32, _SIZE, _SIZE, _POINTER]),
    "rd_outlet_know": (None, [_POINTER, ctypes.c_uint, _POINTER]),
}


@lru_cache(maxsize=1)
def load_node() -> ctypes.CDLL:
    """The library of the loop over rcl.

    Raises:
        BackendError: there is no compiler or it fails, or rcl or its headers are not found.
    """
    loaded = [loaded_library(name) for name in _LIBRARIES]
    includes = [f"-isystem{folder}" for folder in sorted(_headers(loaded[0]).iterdir()) if folder.is_dir()]
    flags = [*core.FLAGS, "-pthread", *includes, "-Wl,--no-as-needed", *map(str, loaded)]
    source = f"#define _GNU_SOURCE\n{joined_source(CORE, _CORE_SOURCES)}"
    source = f"{source}\n{joined_source(codec.PACKAGE, _NODE_SOURCES)}"
    # The headers are part of what is compiled: their version stands in the package beside them.
    version = _headers(loaded[0]).parent / "share" / "rcl" / "package.xml"
    about = version.read_text(encoding="utf-8") if version.is_file() else ""
    comment = about.replace("*/", "* /")
    return core.load(
        f"/* {comment} */\n{source}", flags, _SIGNATURES, (GivenState, Record, Status), "rd_node_sizes"
    )


def loaded_library(name: str) -> Path:
    """Where a library is that this process has loaded; another copy of it would have another state."""
    try:
        with Path("/proc/self/maps").open(encoding="utf-8") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                if path.endswith(f"/{name}"):
                    return Path(f"/{path}")
    except OSError as error:
        raise BackendError(f"the libraries of this process cannot be listed: {error}") from error
    raise BackendError(f"{name} is not loaded in this process")


def _headers(library: Path) -> Path:
    """The folder of the headers that came with rcl."""
    for prefix in library.parents:
        if (prefix / "include" / "rcl" / "rcl" / "rcl.h").is_file():
            return prefix / "include"
    raise BackendError(f"no headers of rcl beside {library}: looked for include/rcl/rcl/rcl.h")
