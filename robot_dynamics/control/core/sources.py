"""The core's C as text: its source, the names and descriptions in its header, the declarations for cffi.

Nothing here needs more than Python: the package's installation reads it, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from robot_dynamics.native.prebuilt import joined_source, text_of

CORE = "robot_dynamics.control.core"
SOURCES = (
    "friction.h", "core.h", "extremes.h", "internal.h", "measured.h", "laws.h", "cholesky.h", "six.h",
    "springs.h",
    "schedule.c", "stopping.c", "open_loop_descent.c", "limiting.c", "impedance.c", "task_impedance.c",
    "measured.c", "law.c", "velocity.c", "plausibility.c", "crossfade.c", "setpoints.c", "rejoining.c",
    "mailbox.c", "oscillation.c", "gains.c", "observer.c", "guiding.c", "retreat.c", "protective_stop.c",
    "supervision.c", "thresholds.c", "spring_rates.c", "springs.c",
    "core.c",
)  # fmt: skip
PLATFORM = (
    ("robot_dynamics.stewart.native", ("kinematics.h", "kinematics.c")),
    (f"{CORE}.platform", ("platform.h", "pose.c", "forces.c", "open_loop_descent.c", "platform.c")),
)
LOOP = ("loop.h", "ring_buffer.c", "sim_time.c", "loop.c")
# Without fused products a run is the same on every CPU. Nobody else replaces the core's functions, which may
# therefore stand in one another. Vectors of six numbers would cost more than they save.
FLAGS = (
    "-std=gnu11", "-ffp-contract=off", "-O3", "-fno-semantic-interposition", "-fno-tree-vectorize",
)  # fmt: skip
HEADERS = (
    (CORE, "core.h"),
    ("robot_dynamics.stewart.native", "kinematics.h"),
    (f"{CORE}.platform", "platform.h"),
    (CORE, "loop.h"),
)
"""Public headers and their packages, each after those that it needs."""

_SECTION = re.compile(r"^/\* API \*/$(.*?)^/\* end of API \*/$", re.MULTILINE | re.DOTALL)
_ENUMERATOR = re.compile(r"\bRD_(\w+)\s*,?\s*(?:/\*\s*(.*?)\s*\*/)?", re.DOTALL)


def core_source() -> str:
    """The core's files as one text."""
    parts = ((CORE, SOURCES), *PLATFORM, (CORE, LOOP))
    return "\n".join(joined_source(package, names) for package, names in parts)


def api_of(package: str, name: str) -> str:
    """Declarations of a header between its marks, without the preprocessor's."""
    return "\n".join(_SECTION.findall(text_of(package, name)))


@lru_cache
def declarations() -> str:
    """Declarations of the public headers."""
    return "\n".join(api_of(*place) for place in HEADERS)


@lru_cache
def enumerators(name: str) -> Mapping[str, str]:
    """Names of an enumeration in its order, without their prefix and in lower case, and what they stand for.

    Args:
        name: of the enumeration, e.g. ``rd_arm_mode``.
    """
    body = re.search(rf"\benum {name} \{{(.*?)\}};", declarations(), re.DOTALL)
    assert body is not None, f"no enumeration {name} in the core's headers"
    found = _ENUMERATOR.findall(body[1])
    return {member.lower(): re.sub(r"\s+", " ", about) for member, about in found}
