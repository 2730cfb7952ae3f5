"""``robot_dynamics call``: a service at every running node of a robot, without ROS's tools."""

from __future__ import annotations

import argparse

from robot_dynamics.cli.needs import need
from robot_dynamics.cli.set import add_robot_arguments, robot_namespace


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "service",
        help="name of the service, such as hold, reset_fault, park, unpark, emergency_stop or"
        " estimate_payload",
    )
    add_robot_arguments(parser, "call the service at every robot")


def run(arguments: argparse.Namespace) -> int:
    """Call the service and print the answers; returns 1 where a node refuses."""
    need("call", "rclpy")
    from robot_dynamics.ros.models.set_all_nodes import call_all_nodes

    service, namespace = arguments.service.removeprefix("~/"), robot_namespace(arguments)
    answers = call_all_nodes(service, namespace, arguments.patience)
    for owner, answer in answers.items():
        print(f"{owner}: {'' if answer.success else 'refused: '}{answer.message or 'done'}")
    return 0 if all(answer.success for answer in answers.values()) else 1
