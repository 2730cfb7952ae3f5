"""``robot_dynamics record``: joint states into a bag, for ``identify`` and for ROS's own tools."""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.needs import need
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.inputs.files import check_absent, check_output

LONGEST_TOPIC = 240
"""Longest topic name in DDS, the prefix of ROS included [characters]."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="folder of the bag, or CSV file of --waypoints; it must not exist yet",
    )
    parser.add_argument(
        "--storage",
        choices=("sqlite3", "mcap"),
        default="sqlite3",
        help="storage plugin of the bag (default: %(default)s)",
    )
    parser.add_argument(
        "--waypoints",
        action="store_true",
        help="write a CSV file with the places where the arm rests while it is moved by hand, for retime and"
        " play",
    )
    parser.add_argument(
        "--topic", default="joint_states", help="topic of type sensor_msgs/JointState (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Record until Ctrl-C; returns the exit code."""
    if len(arguments.topic) > LONGEST_TOPIC:
        length = len(arguments.topic)
        raise RobotDynamicsError(f"--topic has {length} characters; ROS allows {LONGEST_TOPIC}")
    remap = ["--ros-args", "-r", f"joint_states:={arguments.topic}"]
    remap = remap if arguments.topic != "joint_states" else []
    if arguments.waypoints:
        need("recording", "rclpy")
        from robot_dynamics.ros.recording.waypoints import record_waypoints

        check_absent(arguments.output)
        check_output(str(arguments.output))
        return record_waypoints(arguments.output, remap)
    need("recording", "rclpy", "rosbags")
    from robot_dynamics.ros.recording.bag import record

    return record(arguments.output, arguments.storage, remap)
