"""The retiming's library: built as the control core is, called through cffi."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from robot_dynamics.control.core.library import built, opened
from robot_dynamics.control.core.sources import api_of
from robot_dynamics.control.retiming.sources import FLAGS, PACKAGE, WIDE, retiming_source, wide
from robot_dynamics.native import prebuilt


@lru_cache(maxsize=1)
def ffi() -> Any:
    """The declarations of the library's header, for cffi."""
    import cffi  # reading the declarations takes longer than everything else that is imported here

    declared = cffi.FFI()
    declared.cdef(api_of(PACKAGE, "retime.h"))
    return declared


@lru_cache(maxsize=1)
def load_retiming() -> Any:
    """The library; its functions are those of :func:`ffi`.

    Raises:
        BackendError: there is no compiler, or it fails.
    """
    source = retiming_source()
    path = prebuilt.find(source, WIDE) if wide() else None
    return opened(ffi(), path or built(source, FLAGS))
