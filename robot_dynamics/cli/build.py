"""``robot_dynamics build``: compile the control loops of this installation, so that no node has to."""

from __future__ import annotations

import argparse
import importlib
from importlib.util import find_spec
from pathlib import Path

from robot_dynamics.control.core.library import load_core
from robot_dynamics.control.retiming.library import load_retiming
from robot_dynamics.native import prebuilt


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=prebuilt.folder_of_libraries(),
        help="folder of the libraries (the package's)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Build, and print the result; returns the exit code."""
    with prebuilt.into(arguments.output):
        load_core()
        load_retiming()
        parts = ["the control core", "the retiming of paths"]
        if find_spec("rclpy") is not None:
            importlib.import_module("rclpy")  # the loop over rcl is compiled for the rcl that it loads
            hosts = importlib.import_module("robot_dynamics.ros.control.native.library")
            hosts.load_hosts()
            hosts.load_node()
            parts.append("the hosts of the control loop")
    print(f"{', '.join(parts)}: built in {arguments.output}")
    return 0
