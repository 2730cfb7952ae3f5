"""The parameters of the generated controller, as generate_parameter_library reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from robot_dynamics.control.arm import guiding
from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.path_rules import IdentifiedRangeParameters
from robot_dynamics.control.arm.payload import PayloadParameters, TipPayloadParameters
from robot_dynamics.control.core.library import MODES
from robot_dynamics.errors import ParameterError, shown
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.model.driver_profile import WITHOUT_FEEDBACK, DriverProfile
from robot_dynamics.parameters import Description, describe, parameter, validate
from robot_dynamics.spatial import Array

CONTROLLER = "computed_torque_controller"
"""Node whose parameters of a file count beside those of all nodes."""
# No node plans in front of this controller, and the frame is chosen when the package is generated.
ABSENT = ("front_timeout", "cartesian_frame")
"""Parameters of the node that the controller lacks."""
# Validation of lists beside the bounds of their elements.
_LENGTHS: dict[str, dict[str, Any]] = {
    "joints": {"unique<>": None},
    "command_interfaces": {"unique<>": None, "subset_of<>": [["position", "velocity", "effort"]]},
    "kp": {"not_empty<>": None},
    "kv": {"not_empty<>": None},
    "joint_stiffness": {"not_empty<>": None},
    "joint_damping": {"not_empty<>": None},
    "joint_error_clip": {"not_empty<>": None},
    "nullspace_stiffness": {"not_empty<>": None},
    "payload_center": {"fixed_size<>": [3]},
    "payload_inertia": {"fixed_size<>": [6]},
    "gravity": {"fixed_size<>": [3]},
    "guide_axes": {"unique<>": None, "subset_of<>": [list(guiding.AXES)]},
}
_TYPES = {bool: "bool", int: "int", float: "double", str: "string"}


@dataclass(frozen=True)
class FollowingParameters:
    """Parameters of the controller in ros2_control beside those of the node."""

    joints: tuple[str, ...] = parameter(
        (),
        "Names of the joints' interfaces, in the order of the model, where they differ from the model's;"
        " empty: the model's",
        read_only=True,
    )
    command_interfaces: tuple[str, ...] = parameter(
        ("effort",),
        "Command interfaces of every joint: effort, and position and velocity for drives with a loop of their"
        " own, which then get the reference; the effort has no gains then",
        read_only=True,
    )
    reference_leads: bool = parameter(
        True,
        "Time of the reference of a controller in front: true for its next period, as"
        " joint_trajectory_controller sends it; false for the present one",
    )
    reference_timeout: float = parameter(
        0.1,
        "Maximum age of a reference from the topic; after it the arm holds where it is",
        unit="s",
        minimum=1e-3,
        maximum=60.0,
    )
    max_reference_step: float = parameter(
        0.1,
        "Maximum step of a reference, from the last one or from where the arm holds; after a longer one the"
        " arm holds where it is until a reference is that near again",
        unit="rad or m",
        minimum=1e-6,
        maximum=1e6,
    )
    state_publish_rate: float = parameter(
        50.0, "Rate of ~/controller_state", unit="Hz", minimum=0.1, maximum=50.0
    )
    check_description: bool = parameter(
        True,
        "Comparison of the robot description with the model when the controller is configured; other joints"
        " or masses are refused",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class ReferenceOfMeasuredJoints:
    """Parameters of the controller in ros2_control where another controller moves joints of the robot."""

    measured_reference: str = parameter(
        "",
        "Topic (control_msgs/JointTrajectoryControllerState) of a controller of the measured joints, whose"
        " reference gives their acceleration; empty: zero acceleration",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)


def payload_names(tips: Sequence[str]) -> tuple[str, ...]:
    """Names of the tips of a robot in its parameters, which are members of structures in C++; none of one.

    Raises:
        ParameterError: two names are the same but for what such names cannot have.
    """
    if len(tips) < 2:
        return ()
    names = tuple(re.sub(r"^(?=\d)|\W", "_", tip, flags=re.ASCII) for tip in tips)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(
            f"several tips would have the parameter payload.{twice[0]}.mass: {', '.join(tips)}"
        )
    return names


def descriptions(
    gravity: Array,
    driver: DriverProfile | None = None,
    tips: Sequence[str] = (),
    measured: Sequence[str] = (),
) -> list[Description]:
    """Every parameter of the controller of a robot under ``gravity`` (3,) [m/s²], on a driver.

    Args:
        gravity: default of the parameter.
        driver: profile of the driver that gets the efforts.
        tips: of the robot; each of several has a payload of its own.
        measured: joints that another controller moves.
    """
    names = payload_names(tips)
    classes = (
        FollowingParameters,
        *((ReferenceOfMeasuredJoints,) if measured else ()),
        ArmParameters,
        ActuatorParameters,
        *(() if names else (PayloadParameters,)),
    )
    # The interfaces that are claimed follow from it, and hardware may lack effort states.
    defaults: dict[str, Any] = {"observed_efforts": "command"}
    if driver is not None:
        defaults["command_interfaces"] = driver.command.interfaces
        if driver.command.drive_loop:
            defaults["mode"] = WITHOUT_FEEDBACK[0]
    known = [
        _claiming(replace(about, default=defaults.get(about.name, about.default)))
        for cls in classes
        for about in describe(cls)
        if about.name not in ABSENT
    ]
    loads = [
        replace(about, name=f"payload.{name}.{about.name}")
        for name in names
        for about in describe(TipPayloadParameters)
    ]
    weight = Description(
        name="gravity",
        type=float,
        array=True,
        default=tuple(float(value) for value in gravity),
        text="Gravity vector in the root frame: x, y, z; zeros for a robot that compensates its own weight",
        unit="m/s²",
        minimum=-100.0,
        maximum=100.0,
        choices=(),
        read_only=False,
    )
    return [*known, *loads, weight]


def _claiming(about: Description) -> Description:
    if about.name != "observed_efforts":
        return about
    text = about.text.partition("; driver")[0]
    return replace(about, text=text, read_only=True, choices=tuple(c for c in about.choices if c != "driver"))


def given_parameters(path: str) -> dict[str, Any]:
    """Parameters for the controller in a ROS 2 parameter file: those of all nodes, then its own.

    Raises:
        ParameterError: no such file, or it has none.
    """
    document = read_yaml(path, "parameter file", ParameterError)
    found: dict[str, Any] = {}
    for node in ("/**", *(key for key in document if str(key).rsplit("/", 1)[-1] == CONTROLLER)):
        section = document.get(node, {})
        values = section.get("ros__parameters") if isinstance(section, dict) else None
        if node in document and not isinstance(values, dict):
            raise ParameterError(f"{shown(path)}: {shown(node)} has no ros__parameters")
        found |= values or {}
    if not found:
        raise ParameterError(f"{shown(path)} has no parameters of '/**' or {CONTROLLER}")
    # The controller of the package follows references and plans nothing, so it warns of no ranges.
    planned = {about.name for about in describe(IdentifiedRangeParameters)}
    return {name: value for name, value in as_parameters(found).items() if name not in planned}


def as_parameters(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Values of a YAML mapping as parameters have them."""
    return {str(name): tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def parameter_file(parameters: Sequence[Description], package: str) -> str:
    """The YAML from which generate_parameter_library makes ``package::Params``."""
    entries: dict[str, Any] = {}
    for about in parameters:
        *outer, name = about.name.split(".")
        place = entries
        for part in outer:
            place = place.setdefault(part, {})
        place[name] = _entry(about)
    return str(yaml.safe_dump({package: entries}, sort_keys=False, allow_unicode=True, width=110))


def _entry(about: Description) -> dict[str, Any]:
    unit = f" [{about.unit}]" if about.unit else ""
    default = list(about.default) if about.array else about.default
    entry: dict[str, Any] = {
        "type": _TYPES[about.type] + ("_array" if about.array else ""),
        "default_value": default,
        "description": about.text.replace('"', "'") + unit,
    }
    if about.read_only:
        entry["read_only"] = True
    of_a_tip, _, name = about.name.rpartition(".")
    validation = {**_LENGTHS.get(f"payload_{name}" if of_a_tip else name, {}), **_range(about)}
    if validation:
        entry["validation"] = validation
    return entry


def _range(about: Description) -> dict[str, Any]:
    """The validation of choices and bounds; NaN passes these bounds, so settings.hpp checks for it."""
    choices = MODES if about.name == "mode" else about.choices
    if choices:
        return {"one_of<>": [list(choices)]}
    if about.minimum is not None and about.maximum is not None:
        kind = "element_bounds<>" if about.array else "bounds<>"
        return {kind: [float(about.minimum), float(about.maximum)]}
    if about.minimum is not None:
        return {"lower_element_bounds<>" if about.array else "gt_eq<>": [float(about.minimum)]}
    return {}
