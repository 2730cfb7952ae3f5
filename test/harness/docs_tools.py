"""Modules of docs/tools, which are no package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

TOOLS = Path(__file__).resolve().parents[2] / "docs/tools"


def tool(name: str) -> ModuleType:
    """The module ``name``; it finds those beside it."""
    if str(TOOLS) not in sys.path:
        sys.path.append(str(TOOLS))
    return importlib.import_module(name)
