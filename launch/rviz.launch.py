"""rviz with the robot, its frames and the markers of this package's nodes."""

from launch import Action, LaunchDescription

from robot_dynamics.resources import resource
from robot_dynamics.ros.launching.actions import Given, describe, node
from robot_dynamics.ros.launching.arguments import FRAMES, GRAPH
from robot_dynamics.ros.launching.descriptions import with_frame_prefix


def generate_launch_description() -> LaunchDescription:
    """Arguments: ``ros2 launch robot_dynamics rviz.launch.py -s``."""
    return describe(actions, "robot", "rviz_config", *GRAPH, *FRAMES)


def actions(given: Given) -> list[Action]:
    """One window; closing it has no consequence."""
    path = given["rviz_config"] or str(resource(f"rviz/{given['robot']}.rviz"))
    configuration = with_frame_prefix(path, given["frame_prefix"])
    return [node("rviz2", given, package="rviz2", may_close=True, arguments=["-d", configuration])]
