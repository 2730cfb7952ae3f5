"""Values are values: whatever the package hands out as a dataclass cannot be changed behind its back."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

import pytest

import robot_dynamics

PACKAGE = Path(robot_dynamics.__file__).parent
FILLED = {
    "codegen.limbs": {"_Vector"},
    "codegen.text": {"_Renderer"},
    "dynamics.generator.articulated_body": {"_Joint", "_Relation"},
    "dynamics.generator.mass_matrix": {"_Body", "_Column"},
    "dynamics.generator.recursion": {"RunLink", "_Walk"},
}
"""Filled while code is generated."""
TOOLS = {"benchmark", "papers"}
"""They measure and count, and hand out no values."""
OPTIONAL = {"rclpy", "mujoco", "viser", "matplotlib", "launch", "launch_ros", "pinocchio"}


def dataclasses_of(file: Path) -> list[type]:
    """The values that a module defines, none where a library that it needs is not installed."""
    if "@dataclass" not in file.read_text(encoding="utf-8"):
        return []
    name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        assert (error.name or "").partition(".")[0] in OPTIONAL, error
        return []
    filled = FILLED.get(name.partition(".")[2], set())
    own = [kind for kind in vars(module).values() if getattr(kind, "__module__", None) == name]
    kinds = [kind for kind in own if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    return [kind for kind in kinds if kind.__name__ not in filled]


def test_every_dataclass_refuses_other_values():
    files = [file for file in PACKAGE.rglob("*.py") if not TOOLS & set(file.relative_to(PACKAGE).parts)]
    kinds = [kind for file in sorted(files) for kind in dataclasses_of(file)]
    assert len(kinds) > 150
    for kind in kinds:
        assert kind.__dataclass_params__.frozen
        made = object.__new__(kind)
        for field in dataclasses.fields(kind):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(made, field.name, None)
