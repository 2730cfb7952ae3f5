"""Stewart platforms for the launch files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.files import exists, is_regular
from robot_dynamics.resources import resource
from robot_dynamics.ros.launching.descriptions import effort_joints
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.machine import Machine

CONTROLLER = "leg_effort_controller"


def machine_path(given: Mapping[str, str]) -> Path:
    """The YAML file that ``machine_file`` or ``platform`` names.

    Raises:
        ParameterError: it does not exist.
    """
    path = Path(given["machine_file"] or resource(f"config/{given['platform']}.yaml"))
    if not is_regular(path):
        lacks = "is no regular file" if exists(path) else "does not exist"
        raise ParameterError(f"argument 'machine_file': {path} {lacks}")
    return path.resolve()


def machine(given: Mapping[str, str]) -> Machine:
    """The platform that ``machine_file`` or ``platform`` names.

    Raises:
        ModelError: its file is faulty.
    """
    return load_machine(machine_path(given))


def leg_controllers(given: Mapping[str, str], platform: Machine) -> str:
    """Path of the YAML file of ros2_control's controllers for the legs.

    Raises:
        ParameterError: it does not exist, or its joints are not the legs of the platform in their order.
    """
    path = Path(given["leg_controllers"] or resource("config/leg_controllers.yaml"))
    if not path.is_file():
        raise ParameterError(f"argument 'leg_controllers': {path} does not exist")
    joints = effort_joints(path, CONTROLLER)
    if joints != list(platform.leg_names):
        raise ParameterError(
            f"the joints of {CONTROLLER} in {path} are {', '.join(joints)}; the legs of {platform.name} are"
            f" {', '.join(platform.leg_names)}"
        )
    return str(path.resolve())
