"""``robot_dynamics set``: parameters at every running node of a robot at once."""

from __future__ import annotations

import argparse
from typing import Any

import yaml

from robot_dynamics.cli.chain_source import number_within
from robot_dynamics.cli.needs import need
from robot_dynamics.errors import ParameterError, RobotDynamicsError, quoted, shown
from robot_dynamics.inputs.documents import parse_yaml
from robot_dynamics.inputs.files import check_output, open_output


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "values",
        nargs="*",
        metavar="NAME=VALUE",
        help="parameters, such as payload_mass=1.5 'payload_center=[0, 0, 0.1]'"
        " robot_compensates_gravity=true, and any parameter that a node takes while it runs, such as"
        " mode=gravity_compensation kp=100",
    )
    parser.add_argument(
        "--save",
        metavar="FILE.yaml",
        help="parameter file with what the robot's nodes report afterwards, for --params-file",
    )
    parser.add_argument(
        "--simulator",
        action="store_true",
        help="set the simulator's own too: without, what the arm really carries stays as it is",
    )
    add_robot_arguments(parser, "set the parameters of every robot")


def add_robot_arguments(parser: argparse.ArgumentParser, every: str) -> None:
    """Declare which robot's nodes are meant and how long to look; ``every`` is the help of --all."""
    robots = parser.add_mutually_exclusive_group()
    robots.add_argument(
        "--namespace", help="namespace of the robot's nodes; needed where there are several robots"
    )
    robots.add_argument("--all", action="store_true", help=every)
    parser.add_argument(
        "--patience",
        type=number_within(0.0, 3600.0),
        default=5.0,
        metavar="SECONDS",
        help="longest search for a node [s] (default: %(default)s)",
    )


def robot_namespace(arguments: argparse.Namespace) -> str | None:
    """Namespace of the robot's nodes; None: of the only robot that there is."""
    given = "/" if arguments.all else arguments.namespace
    return None if given is None else "/" + given.strip("/")


def run(arguments: argparse.Namespace) -> int:
    """Set the parameters and print the nodes; returns the exit code."""
    if not arguments.values and arguments.save is None:
        raise ParameterError("nothing to do: give NAME=VALUE, or --save FILE.yaml")
    if arguments.save is not None:
        check_output(arguments.save)
    need("set", "rclpy")
    from robot_dynamics.ros.models.set_all_nodes import set_all_nodes

    wanted = dict(_assignment(text) for text in arguments.values)
    done = set_all_nodes(
        wanted,
        robot_namespace(arguments),
        arguments.simulator,
        arguments.patience,
        arguments.save is not None,
    )
    for owner, names in done.names.items():
        print(f"{owner}: {', '.join(f'{name} {wanted[name]}' for name in names)}")
    if arguments.save is not None:
        document = {owner: {"ros__parameters": values} for owner, values in done.reported.items()}
        with open_output(arguments.save) as stream:
            stream.write(yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=1000))
        print(shown(arguments.save))
    return 0


def _assignment(text: str) -> tuple[str, Any]:
    """Name and value; whole numbers are numbers with a decimal point to ROS."""
    name, given, value = text.partition("=")
    if not given or not name:
        raise RobotDynamicsError(f"{quoted(text)} must be NAME=VALUE")
    read = parse_yaml(f"value: {value}", quoted(text), RobotDynamicsError)["value"]
    return name, [_decimal(one) for one in read] if isinstance(read, list) else _decimal(read)


def _decimal(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
