"""Dynamics of serial arms and Stewart platforms: models from URDF, generated code, computed-torque control.

Everything that a user of the library needs is here by name; ``dir(robot_dynamics)`` lists it:

    import robot_dynamics as rd

    chain = rd.load_urdf("urdf/puma560.urdf")
    table = rd.dh_parameters(chain)
    tau = rd.compile_dynamics(chain).inverse_dynamics(q, qd, qdd)

Each name is loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics import errors as errors
    from robot_dynamics import stewart as stewart
    from robot_dynamics.control.arm.actuators import ActuatedArm as ActuatedArm
    from robot_dynamics.control.arm.actuators import ActuatorParameters as ActuatorParameters
    from robot_dynamics.control.arm.contact import ContactParameters as ContactParameters
    from robot_dynamics.control.arm.contact import MomentumObserver as MomentumObserver
    from robot_dynamics.control.arm.controller import ArmController as ArmController
    from robot_dynamics.control.arm.laws import arm_law as arm_law
    from robot_dynamics.control.arm.parameters import ArmParameters as ArmParameters
    from robot_dynamics.control.retiming.limits import PathLimits as PathLimits
    from robot_dynamics.control.retiming.retime import retime as retime
    from robot_dynamics.control.stewart.controller import StewartController as StewartController
    from robot_dynamics.control.stewart.parameters import StewartParameters as StewartParameters
    from robot_dynamics.control.stewart.trajectory import PoseWaypoint as PoseWaypoint
    from robot_dynamics.control.waypoints import Waypoint as Waypoint
    from robot_dynamics.dynamics import equations as equations
    from robot_dynamics.dynamics import formulations as formulations
    from robot_dynamics.dynamics.array_dynamics import ArrayDynamics as ArrayDynamics
    from robot_dynamics.dynamics.compiled import CompiledDynamics as CompiledDynamics
    from robot_dynamics.dynamics.compiled import compile_dynamics as compile_dynamics
    from robot_dynamics.dynamics.serial_model import SerialModel as SerialModel
    from robot_dynamics.errors import BackendError as BackendError
    from robot_dynamics.errors import ConversionError as ConversionError
    from robot_dynamics.errors import LimitError as LimitError
    from robot_dynamics.errors import LimitWarning as LimitWarning
    from robot_dynamics.errors import LogError as LogError
    from robot_dynamics.errors import ModelError as ModelError
    from robot_dynamics.errors import ModelWarning as ModelWarning
    from robot_dynamics.errors import ParameterError as ParameterError
    from robot_dynamics.errors import RobotDynamicsError as RobotDynamicsError
    from robot_dynamics.errors import SingularityError as SingularityError
    from robot_dynamics.errors import StateError as StateError
    from robot_dynamics.errors import StewartModelWarning as StewartModelWarning
    from robot_dynamics.errors import StoppingError as StoppingError
    from robot_dynamics.errors import TrajectoryError as TrajectoryError
    from robot_dynamics.errors import WrongTypeError as WrongTypeError
    from robot_dynamics.model.chain import KinematicChain as KinematicChain
    from robot_dynamics.model.dh import dh_parameters as dh_parameters
    from robot_dynamics.model.dh_table import DHTable as DHTable
    from robot_dynamics.model.load import load_urdf as load_urdf
    from robot_dynamics.stewart.platform import StewartPlatform as StewartPlatform
    from robot_dynamics.stewart.platform import load as load_stewart  # noqa: F401

__version__ = "0.1.0"

_ERRORS = (
    "BackendError",
    "ConversionError",
    "LimitError",
    "LimitWarning",
    "LogError",
    "ModelError",
    "ModelWarning",
    "ParameterError",
    "RobotDynamicsError",
    "SingularityError",
    "StateError",
    "StewartModelWarning",
    "StoppingError",
    "TrajectoryError",
    "WrongTypeError",
)

# The public name and where it is: a module, or a module and the name in it.
_HOME = {
    **{name: ("robot_dynamics.errors", name) for name in _ERRORS},
    "ActuatedArm": ("robot_dynamics.control.arm.actuators", "ActuatedArm"),
    "ActuatorParameters": ("robot_dynamics.control.arm.actuators", "ActuatorParameters"),
    "ArmController": ("robot_dynamics.control.arm.controller", "ArmController"),
    "ArmParameters": ("robot_dynamics.control.arm.parameters", "ArmParameters"),
    "ContactParameters": ("robot_dynamics.control.arm.contact", "ContactParameters"),
    "MomentumObserver": ("robot_dynamics.control.arm.contact", "MomentumObserver"),
    "PathLimits": ("robot_dynamics.control.retiming.limits", "PathLimits"),
    "PoseWaypoint": ("robot_dynamics.control.stewart.trajectory", "PoseWaypoint"),
    "StewartController": ("robot_dynamics.control.stewart.controller", "StewartController"),
    "StewartParameters": ("robot_dynamics.control.stewart.parameters", "StewartParameters"),
    "Waypoint": ("robot_dynamics.control.waypoints", "Waypoint"),
    "ArrayDynamics": ("robot_dynamics.dynamics.array_dynamics", "ArrayDynamics"),
    "CompiledDynamics": ("robot_dynamics.dynamics.compiled", "CompiledDynamics"),
    "DHTable": ("robot_dynamics.model.dh_table", "DHTable"),
    "KinematicChain": ("robot_dynamics.model.chain", "KinematicChain"),
    "SerialModel": ("robot_dynamics.dynamics.serial_model", "SerialModel"),
    "StewartPlatform": ("robot_dynamics.stewart.platform", "StewartPlatform"),
    "arm_law": ("robot_dynamics.control.arm.laws", "arm_law"),
    "compile_dynamics": ("robot_dynamics.dynamics.compiled", "compile_dynamics"),
    "dh_parameters": ("robot_dynamics.model.dh", "dh_parameters"),
    "equations": ("robot_dynamics.dynamics.equations", None),
    "errors": ("robot_dynamics.errors", None),
    "formulations": ("robot_dynamics.dynamics.formulations", None),
    "load_stewart": ("robot_dynamics.stewart.platform", "load"),
    "load_urdf": ("robot_dynamics.model.load", "load_urdf"),
    "retime": ("robot_dynamics.control.retiming.retime", "retime"),
    "stewart": ("robot_dynamics.stewart", None),
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOME[name]
    loaded = importlib.import_module(module)
    return loaded if attribute is None else getattr(loaded, attribute)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
