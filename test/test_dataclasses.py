"""Values of the package do not change under those who hold them."""

import dataclasses
import importlib
import inspect
from pathlib import Path

import pytest

import robot_dynamics

PACKAGE = Path(robot_dynamics.__file__).parent
ROOMS = ("codegen", "control", "identification", "inputs", "model", "stewart")
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for room in ROOMS
    for path in (PACKAGE / room).rglob("*.py")
)
CHANGING = {"_Renderer", "_Vector"}
"""Those that are built up piece by piece."""


def dataclasses_of(module):
    """The classes of values that a module defines."""
    kinds = [kind for kind in vars(module).values() if getattr(kind, "__module__", None) == module.__name__]
    values = [kind for kind in kinds if inspect.isclass(kind) and dataclasses.is_dataclass(kind)]
    return [kind for kind in values if kind.__name__ not in CHANGING]


def test_a_dataclass_refuses_other_values():
    kinds = [kind for name in MODULES for kind in dataclasses_of(importlib.import_module(name))]
    assert len(kinds) > 150
    for kind in kinds:
        made = object.__new__(kind)
        for field in dataclasses.fields(kind):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(made, field.name, None)
