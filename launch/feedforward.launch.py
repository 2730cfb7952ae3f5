"""Model-based feedforward for a stock joint_trajectory_controller, in Gazebo or on a robot that runs one."""

from launch import Action, LaunchDescription

from robot_dynamics.ros.launching import arm
from robot_dynamics.ros.launching.actions import node, parameter_files
from robot_dynamics.ros.launching.declared import Given, describe, equals


def generate_launch_description() -> LaunchDescription:
    """The arguments are told by ``ros2 launch robot_dynamics feedforward.launch.py -s``."""
    return describe(
        actions,
        *arm.ARGUMENTS,
        # This package's simulator has no joint_trajectory_controller.
        choices={"plant": ["gazebo", "none"]},
        plant="gazebo",
        use_sim_time=equals("plant", "gazebo"),
    )


def actions(given: Given) -> list[Action]:
    """The parts that the arguments ask for."""
    files = [
        *arm.drive_parameters(given),
        *arm.chain(given),
        *parameter_files(given["controller_parameters"]),
    ]
    return [
        *arm.description_and_plant(given, controller="joint_trajectory_controller"),
        node("trajectory_feedforward", given, [*files, *arm.model(given)]),
        *arm.onlookers(given),
    ]
