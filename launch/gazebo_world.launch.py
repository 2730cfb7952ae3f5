"""Gazebo with an empty world, and its time on ``/clock``."""

import shlex

from launch import Action, LaunchDescription

from robot_dynamics.ros.launching.actions import Given, describe, end_with, include_from, node
from robot_dynamics.ros.launching.arguments import WORLD
from robot_dynamics.ros.launching.descriptions import world_path

CLOCK = "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"


def generate_launch_description() -> LaunchDescription:
    """Arguments: ``ros2 launch robot_dynamics gazebo_world.launch.py -s``."""
    return describe(actions, *WORLD, "on_exit", "transport")


def actions(given: Given) -> list[Action]:
    """The server, which runs at once, its window if wanted, and the bridge of the time."""
    if given["gazebo"] == "running":
        return []
    window = given["gui"] == "true"
    words = ["-r", *([] if window else ["-s"]), *shlex.split(given["gz_args"]), world_path(given)]
    # ros_gz_sim starts Gazebo by a shell, which would get launch's signals in its place and leave it running.
    by_itself = {"launch-prefix": "exec"}
    arguments = {"gz_args": shlex.join(words), "on_exit_shutdown": "true", **by_itself}
    gazebo = include_from("ros_gz_sim", "gz_sim.launch.py", given, **arguments)
    # Its launch file calls every end a good one; without a window nobody can have closed it.
    failure = end_with("gazebo", lambda code: code != 0 or not window)
    # It brings the time: it must not wait for it.
    outside = {**given, "namespace": "", "use_sim_time": "false"}
    bridge = node(
        "parameter_bridge", outside, package="ros_gz_bridge", name="clock_bridge", arguments=[CLOCK]
    )
    return [failure, gazebo, bridge]
