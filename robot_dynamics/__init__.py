"""Dynamics of serial arms and Stewart platforms: models from URDF, generated code, computed-torque control.

The public names are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
    from robot_dynamics.errors import RobotDynamicsError
    from robot_dynamics.model.dh import dh_parameters
    from robot_dynamics.model.load import load_urdf

_HOME = {
    "CompiledDynamics": "robot_dynamics.dynamics.compiled",
    "RobotDynamicsError": "robot_dynamics.errors",
    "compile_dynamics": "robot_dynamics.dynamics.compiled",
    "dh_parameters": "robot_dynamics.model.dh",
    "load_urdf": "robot_dynamics.model.load",
}

__all__ = ["CompiledDynamics", "RobotDynamicsError", "compile_dynamics", "dh_parameters", "load_urdf"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
