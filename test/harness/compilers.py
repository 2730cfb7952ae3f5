"""The compilers that tests call: the system's, or where it has none those of the wheel ``ziglang``."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib.util import find_spec


def _words(name: str) -> tuple[str, ...]:
    if shutil.which(name) is None and find_spec("ziglang") is not None:
        return sys.executable, "-m", "ziglang", name
    return (name,)


CC, CXX = _words("cc"), _words("c++")
FOR_CMAKE = {} if CC == ("cc",) else {"CC": shlex.join(CC), "CXX": shlex.join(CXX)}
"""Environment in which CMake finds them."""
