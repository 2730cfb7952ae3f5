"""``robot_dynamics sdf``: a Stewart platform as an SDF model for Gazebo."""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.machine_source import platform_of
from robot_dynamics.stewart.sdf import Controllers, actuator_description, sdf


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "machine", metavar="MACHINE.yaml", help="file of the platform; - reads standard input"
    )
    parser.add_argument(
        "--controllers", metavar="FILE.yaml", help="drive the legs by gz_ros2_control with these controllers"
    )
    parser.add_argument("--namespace", default="", help="namespace of the controllers; default: none")
    parser.add_argument(
        "--actuators",
        action="store_true",
        help="print the actuators' URDF for ros2_control instead",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the model."""
    machine = platform_of(arguments.machine).machine
    if arguments.actuators:
        print(actuator_description(machine), end="")
        return 0
    controllers = None
    if arguments.controllers:
        path = str(Path(arguments.controllers).resolve())
        controllers = Controllers(path, arguments.namespace)
    print(sdf(machine, controllers), end="")
    return 0
