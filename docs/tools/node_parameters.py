"""Parameter classes of each node, from which the site makes its tables."""

from __future__ import annotations

import importlib
from typing import Any

from robot_dynamics.parameters import Description, describe

CONTROL = (
    "ros.control.controller_node:NodeParameters",
    "ros.control.scheduling:SchedulingParameters",
)
MODEL = (
    "ros.models.arm_model:ModelParameters",
    "control.arm.payload:PayloadParameters",
    "ros.models.imu_gravity:ImuParameters",
)
FOLLOWER = (*MODEL, "ros.models.arm_model:FollowParameters")
CLASSES = {
    "computed_torque_controller": (
        "control.arm.parameters:ArmParameters",
        "control.arm.actuators:ActuatorParameters",
        *FOLLOWER,
        "model.chain_parameters:MeasuredParameters",
        "control.arm.path_rules:PartialGoalParameters",
        "control.arm.path_rules:TorqueCheckParameters",
        "control.arm.path_rules:IdentifiedRangeParameters",
        "control.arm.laws:LawModules",
        "control.stop_memory:StopParameters",
        "ros.control.external_efforts:WrenchParameters",
        "ros.control.payload_estimation:PayloadEstimationParameters",
        *CONTROL,
        "control.arm.tolerances:ToleranceParameters",
    ),
    "trajectory_feedforward": (
        "control.arm.feedforward_parameters:FeedforwardParameters",
        "control.arm.actuators:ActuatorParameters",
        *FOLLOWER,
        "model.chain_parameters:MeasuredParameters",
        "control.arm.path_rules:PartialGoalParameters",
        "control.arm.path_rules:TorqueCheckParameters",
        "control.arm.path_rules:IdentifiedRangeParameters",
        "ros.control.controller_node:Autostart",
    ),
    "robot_model": (
        "ros.robot_model:TableParameters",
        "control.arm.actuators:ActuatorParameters",
        *MODEL,
    ),
    "contact_monitor": (
        "ros.contact_monitor:MonitorParameters",
        "control.arm.contact:ObserverParameters",
        "control.arm.actuators:ActuatorParameters",
        "ros.control.external_efforts:WrenchParameters",
        *FOLLOWER,
    ),
    "stewart_platform": (
        "ros.stewart_platform:MachineParameters",
        "control.stewart.parameters:StewartParameters",
        "control.stewart.parameters:PlatformPayloadParameters",
        "control.stop_memory:StopParameters",
        *CONTROL,
    ),
    "simulator": (
        "simulation.parameters:SimulatorParameters",
        "simulation.parameters:PlantParameters",
    ),
    "markers": ("view.parameters:MarkerParameters",),
    "web_view": ("view.parameters:WebViewParameters",),
}
"""Parameter classes of each node; a test compares them with the started node."""


def found(path: str) -> Any:
    """Object that ``module:name`` below the package names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"robot_dynamics.{module}"), name)


def node_parameters(node: str) -> dict[str, Description]:
    """The parameters that a node declares from its classes, by name."""
    return {known.name: known for path in CLASSES[node] for known in describe(found(path))}


def literal(value: object) -> str:
    """A parameter's value as a parameter file has it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(literal(element) for element in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    text = str(value)
    return text if "." in text else text.replace("e", ".0e")  # YAML takes 1e-09 for a text
