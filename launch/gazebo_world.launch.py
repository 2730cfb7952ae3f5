"""Gazebo with an empty world, and its time on ``/clock``."""

import shlex

from launch import Action, LaunchDescription

from robot_dynamics.resources import resource
from robot_dynamics.ros.launching.actions import Given, describe, include_from, node
from robot_dynamics.ros.launching.arguments import WORLD

CLOCK = "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"


def generate_launch_description() -> LaunchDescription:
    """The arguments are told by ``ros2 launch robot_dynamics gazebo_world.launch.py -s``."""
    return describe(actions, *WORLD, "on_exit")


def actions(given: Given) -> list[Action]:
    """The server, which runs at once, its window if wanted, and the bridge of the time."""
    server = "" if given["gui"] == "true" else "-s "
    world = shlex.quote(given["world"] or str(resource("urdf/world.sdf")))
    # ros_gz_sim starts Gazebo by a shell, which would get launch's signals in its place and leave it running.
    by_itself = {"launch-prefix": "exec"}
    gazebo = include_from(
        "ros_gz_sim", "gz_sim.launch.py", gz_args=f"-r {server}{world}", on_exit_shutdown="true", **by_itself
    )
    # It brings the time: it must not wait for it.
    outside = {**given, "namespace": "", "use_sim_time": "false"}
    bridge = node(
        "parameter_bridge", outside, package="ros_gz_bridge", name="clock_bridge", arguments=[CLOCK]
    )
    return [gazebo, bridge]
