"""``robot_dynamics call``: a service at every running node of a robot, without ROS's tools."""

from __future__ import annotations

import argparse

from robot_dynamics.cli.chain_source import number_within
from robot_dynamics.cli.needs import need


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "service", help="such as hold, reset_fault, park, unpark, emergency_stop or estimate_payload"
    )
    robots = parser.add_mutually_exclusive_group()
    robots.add_argument(
        "--namespace", help="namespace of the robot's nodes; needed where there are several robots"
    )
    robots.add_argument("--all", action="store_true", help="call the service at every robot")
    parser.add_argument(
        "--patience",
        type=number_within(0.0, 3600.0),
        default=5.0,
        metavar="SECONDS",
        help="longest search for a node [s] (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Call the service and print the answers; returns 1 where a node refuses."""
    need("call", "rclpy")
    from robot_dynamics.ros.models.set_all_nodes import call_all_nodes

    given = "/" if arguments.all else arguments.namespace
    namespace = None if given is None else "/" + given.strip("/")
    answers = call_all_nodes(arguments.service.removeprefix("~/"), namespace, arguments.patience)
    for owner, answer in answers.items():
        print(f"{owner}: {'' if answer.success else 'refused: '}{answer.message or 'done'}")
    return 0 if all(answer.success for answer in answers.values()) else 1
