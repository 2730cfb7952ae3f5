"""The C of the hosts: codec and messages, and the thread over rcl where rcl has headers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.control.core import library as core
from robot_dynamics.control.core.sources import CORE, api_of
from robot_dynamics.errors import BackendError
from robot_dynamics.native.prebuilt import joined_source

PACKAGE = "robot_dynamics.ros.control.native"
_CORE_HEADERS = ("friction.h", "core.h", "internal.h", "loop.h")
_HEADERS = ("cdr.h", "host.h", "ownership.h", "node.h", "listener.h", "watchdog.h")
_HOST = (
    *("cdr.h", "cdr.c", "cdr_trajectory.c", "host.h", "messages.c", "host.c"),
    *("ownership.h", "ownership.c"),
)
_NODE = ("node.h", "listener.h", "listener.c", "node.c", "watchdog.h", "watchdog.c")
_RCL = ("librcl.so", "librcutils.so")
_NUMPY = {"int64_t": np.int64, "uint64_t": np.uint64, "int32_t": np.int32, "double": np.float64}


@lru_cache(maxsize=1)
def ffi() -> Any:
    """The declarations of the hosts' headers, for cffi, with the types of the core's."""
    import cffi

    declared = cffi.FFI()
    declared.include(core.ffi())
    declared.cdef("\n".join(api_of(PACKAGE, name) for name in _HEADERS))
    return declared


@lru_cache(maxsize=1)
def load_hosts() -> Any:
    """The library of codec and messages, without rcl; it is linked with the core's.

    Raises:
        BackendError: there is no compiler, or it fails.
    """
    return core.opened(ffi(), core.built(_source(_HOST), _flags()))


@lru_cache(maxsize=1)
def load_node() -> Any:
    """The same with the thread over rcl, compiled against the headers that belong to the rcl in use.

    Raises:
        BackendError: there is no compiler or it fails, or rcl or its headers are not found.
    """
    libraries = [*(loaded_library(name) for name in _RCL), _middleware()]
    headers = _headers(libraries[0])
    includes = [f"-isystem{folder}" for folder in sorted(headers.iterdir()) if folder.is_dir()]
    # The headers are part of what is compiled: their version stands in the package beside them.
    version = headers.parent / "share" / "rcl" / "package.xml"
    about = version.read_text(encoding="utf-8") if version.is_file() else ""
    comment = about.replace("*/", "* /")
    source = f"/* {comment} */\n{_source((*_HOST, *_NODE))}"
    return core.opened(ffi(), core.built(source, [*_flags(libraries), "-pthread", *includes]))


def _source(names: Sequence[str]) -> str:
    parts = joined_source(CORE, _CORE_HEADERS), joined_source(PACKAGE, names)
    return "\n".join(("#define _GNU_SOURCE", *parts))


def _flags(libraries: Sequence[Path] = ()) -> list[str]:
    """Flags of the compiler, which link with the core and these libraries."""
    keep = ["-Wl,--no-as-needed"] if sys.platform.startswith("linux") else []
    return [*core.FLAGS, *keep, str(core.core_path()), *map(str, libraries)]


def row_type(structure: str, arrays: Mapping[str, tuple[int, ...]]) -> np.dtype[np.void]:
    """The numpy type of a C structure with arrays of doubles behind it.

    Args:
        structure: its name.
        arrays: shape of each array by name, in their order.
    """
    head = _format(ffi().typeof(structure))
    return np.dtype([("head", head), *((name, float, shape) for name, shape in arrays.items())])


def _format(kind: Any) -> Any:
    """The numpy type of a C type."""
    if kind.kind != "struct":
        return _NUMPY[kind.cname]
    return np.dtype(
        {
            "names": [name for name, _ in kind.fields],
            "formats": [_format(field.type) for _, field in kind.fields],
            "offsets": [field.offset for _, field in kind.fields],
            "itemsize": ffi().sizeof(kind),
        }
    )


def loaded_library(name: str) -> Path:
    """Path of a library that this process has loaded; another copy of it would have another state."""
    try:
        with Path("/proc/self/maps").open(encoding="utf-8") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                if path.endswith(f"/{name}"):
                    return Path(f"/{path}")
    except OSError as error:
        raise BackendError(f"the libraries of this process cannot be listed: {error}") from error
    raise BackendError(f"{name} is not loaded in this process")


def _middleware() -> Path:
    """Path of the library with the functions of rmw that rcl itself calls."""
    try:
        return loaded_library("librmw_implementation.so")
    except BackendError:
        from rclpy.utilities import get_rmw_implementation_identifier

        return loaded_library(f"lib{get_rmw_implementation_identifier()}.so")


def _headers(library: Path) -> Path:
    """The folder of the headers that came with rcl."""
    for prefix in library.parents:
        if (prefix / "include" / "rcl" / "rcl" / "rcl.h").is_file():
            return prefix / "include"
    raise BackendError(f"no headers of rcl beside {library}: looked for include/rcl/rcl/rcl.h")
