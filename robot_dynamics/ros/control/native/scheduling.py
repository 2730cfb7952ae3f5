"""What the operating system does for a process that must not be late."""

from __future__ import annotations

import ctypes
import os

_MCL_CURRENT, _MCL_FUTURE = 1, 2


def lock_memory() -> str:
    """Keep all pages of this process in memory, from now on; why that is not permitted, else empty."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.mlockall(_MCL_CURRENT | _MCL_FUTURE) == 0:
        return ""
    return os.strerror(ctypes.get_errno())
