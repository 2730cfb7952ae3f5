"""The robot's description on the topic ``robot_description``, and its frames, by robot_state_publisher."""

from launch import Action, LaunchDescription

from robot_dynamics.ros.launching.actions import Given, describe, description_parameter, node
from robot_dynamics.ros.launching.arguments import ARM_IN_GAZEBO, FRAMES, GRAPH
from robot_dynamics.ros.launching.descriptions import (
    gazebo_description,
    plain_description,
    topic_description,
)

TEXTS = {"none": plain_description, "gazebo": gazebo_description, "topics": topic_description}


def generate_launch_description() -> LaunchDescription:
    """Arguments: ``ros2 launch robot_dynamics description.launch.py -s``."""
    return describe(actions, *ARM_IN_GAZEBO, "hardware", *GRAPH, *FRAMES)


def actions(given: Given) -> list[Action]:
    """One node."""
    text = TEXTS[given["hardware"]](given)
    parameters = [description_parameter(text), {"frame_prefix": given["frame_prefix"]}]
    return [node("robot_state_publisher", given, parameters, package="robot_state_publisher")]
