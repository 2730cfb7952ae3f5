"""The follower of a generated controller as a library of its own, beside the core's."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import cffi
from inner_core import FOLDER, inner

from robot_dynamics.control.core import library
from robot_dynamics.control.core.sources import CORE, FLAGS, SOURCES
from robot_dynamics.native.library import shared_library
from robot_dynamics.native.prebuilt import joined_source

_BODY = re.compile(r'extern "C" \{\s*#endif\s*(.*?)#ifdef __cplusplus', re.DOTALL)


def source_path() -> Path:
    """The source that is compiled."""
    return FOLDER / "follower.c"


@lru_cache(maxsize=1)
def follower() -> tuple[Any, Any]:
    """cffi's declarations of the follower and of the core from within, and the follower's library."""
    core, _ = inner()
    found = _BODY.search((FOLDER / "follower.h").read_text(encoding="utf-8"))
    assert found is not None
    declared = cffi.FFI()
    declared.include(core)
    declared.cdef(found[1].replace("RD_RECORD_ARRAYS + 2", "9"))
    headers = joined_source(CORE, [name for name in SOURCES if name.endswith(".h")])
    beside = joined_source(CORE, ["loop.h", "follower.h"])
    body = re.sub(r'#include "[^"]*"', "", source_path().read_text(encoding="utf-8"))
    text = "\n".join([headers, beside, body])
    path = shared_library(text, lambda: text, (*FLAGS, "-Wl,--no-as-needed", str(library.core_path())))
    return declared, declared.dlopen(str(path))
