"""The core's public header as text: its names and descriptions, and the declarations that cffi reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

CORE = "robot_dynamics.control.core"
HEADERS = (
    (CORE, "core.h"),
    ("robot_dynamics.stewart.native", "kinematics.h"),
    (f"{CORE}.platform", "platform.h"),
    (CORE, "loop.h"),
)
"""Public headers and their packages, each after those that it needs."""

_SECTION = re.compile(r"^/\* API \*/$(.*?)^/\* end of API \*/$", re.MULTILINE | re.DOTALL)
_ENUMERATOR = re.compile(r"\bRD_(\w+)\s*,?\s*(?:/\*\s*(.*?)\s*\*/)?", re.DOTALL)


@lru_cache
def text_of(package: str, name: str) -> str:
    """A file of the package as text."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def api_of(package: str, name: str) -> str:
    """Declarations of a header between its marks, without the preprocessor's."""
    return "\n".join(_SECTION.findall(text_of(package, name)))


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
