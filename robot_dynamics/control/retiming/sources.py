"""The retiming's C as text; the package's installation reads it, too."""

from __future__ import annotations

from robot_dynamics.control.core.sources import CORE
from robot_dynamics.native.compiler import cpu_identity
from robot_dynamics.native.prebuilt import joined_source

PACKAGE = "robot_dynamics.control.retiming"
SOURCES = (
    *("retime.h", "rate.h", "grid.c", "rows.c", "between.c"),
    *("rate.c", "rate_check.c", "rated.c", "profile.c"),
)
FLAGS = ("-std=gnu11", "-O3", "-fno-semantic-interposition", "-fno-math-errno")
"""Functions of the library call each other directly: the compiler may put them into their callers."""
WIDE = (*FLAGS, "-mavx2", "-mfma")
"""For processors with four numbers in a register: rows come in groups of four."""


def wide() -> bool:
    """True on processors for which ``WIDE`` compiles."""
    return {"avx2", "fma"} <= set(cpu_identity().split())


def retiming_source() -> str:
    """The library's files as one text."""
    return "\n".join([joined_source(CORE, ["friction.h"]), joined_source(PACKAGE, SOURCES)])
