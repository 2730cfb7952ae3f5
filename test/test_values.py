"""Values are values: whatever the package hands out as a dataclass cannot be changed behind its back."""

from __future__ import annotations

import ast
import dataclasses
import importlib
from pathlib import Path

import robot_dynamics

PACKAGE = Path(robot_dynamics.__file__).parent
FILLED = {"Member"}
"""Filled while code is generated."""
TOOLS = {"benchmark", "papers"}
"""They measure and count, and hand out no values."""
OPTIONAL = {"rclpy", "mujoco", "viser", "matplotlib", "launch", "launch_ros", "pinocchio"}


def dataclasses_of(file: Path) -> list[str]:
    """Names of the classes at a module's top that are decorated as dataclasses."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]


def test_every_public_dataclass_is_frozen():
    files = [file for file in PACKAGE.rglob("*.py") if not TOOLS & set(file.relative_to(PACKAGE).parts)]
    checked, changeable = 0, []
    for file in sorted(files):
        public = [
            known for known in dataclasses_of(file) if not known.startswith("_") and known not in FILLED
        ]
        if not public:
            continue
        name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            assert (error.name or "").partition(".")[0] in OPTIONAL, error
            continue
        for cls in (getattr(module, known) for known in public):
            assert dataclasses.is_dataclass(cls)
            checked += 1
            if not cls.__dataclass_params__.frozen:
                changeable.append(cls)
    assert changeable == [] and checked > 100
