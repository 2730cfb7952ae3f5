"""Model-based feedforward for a stock joint_trajectory_controller, in Gazebo or on a robot that runs one."""

from launch import Action, LaunchDescription

from robot_dynamics.ros.launching.actions import (
    Given,
    describe,
    description_parameter,
    equals,
    include,
    node,
    parameter_files,
)
from robot_dynamics.ros.launching.descriptions import drives, plain_description

ROBOT = ("robot", "description_file", "initial_positions")
GRAPH = ("namespace", "frame_prefix", "use_sim_time", "on_exit")
GAZEBO = ("controllers", "gui", "world")


def generate_launch_description() -> LaunchDescription:
    """The arguments are told by ``ros2 launch robot_dynamics feedforward.launch.py -s``."""
    return describe(
        actions,
        *("robot", "plant", "rviz"),
        *("description_file", "description", "initial_positions", "controller_parameters"),
        *GAZEBO,
        "rviz_config",
        *GRAPH,
        # This package's simulator has no joint_trajectory_controller.
        choices={"plant": ["gazebo", "none"]},
        plant="gazebo",
        use_sim_time=equals("plant", "gazebo"),
    )


def actions(given: Given) -> list[Action]:
    """The parts that the arguments ask for."""
    parts: list[Action] = []
    model = []
    if given["plant"] == "gazebo":
        controller = "joint_trajectory_controller"
        parts.append(include("gazebo_arm", given, *ROBOT, *GAZEBO, *GRAPH, controller=controller))
    elif given["description"] == "robot_state_publisher":
        parts.append(include("description", given, *ROBOT, *GRAPH))
    elif given["description"] == "parameter":
        model = [description_parameter(plain_description(given))]
    files = parameter_files(drives(given), given["controller_parameters"])
    parts.append(node("trajectory_feedforward", given, [*files, *model]))
    if given["rviz"] == "true":
        parts.append(include("rviz", given, "robot", "rviz_config", "namespace", "use_sim_time", "on_exit"))
    return parts
