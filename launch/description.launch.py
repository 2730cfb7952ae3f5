"""The robot's description on the topic ``robot_description``, and its frames, by robot_state_publisher."""

from launch import Action, LaunchDescription

from robot_dynamics.ros import launch_support as support


def generate_launch_description() -> LaunchDescription:
    """See ``ros2 launch robot_dynamics description.launch.py -s``."""
    return support.describe(
        actions, "robot", "description_file", "namespace", "frame_prefix", "use_sim_time", "on_exit"
    )


def actions(given: support.Given) -> list[Action]:
    """One node."""
    parameters = [
        support.description_parameter(support.description_text(given)),
        {"frame_prefix": given["frame_prefix"]},
    ]
    return [support.node("robot_state_publisher", given, parameters, package="robot_state_publisher")]
