"""An arm under computed-torque control: description, plant, controller, and views of it if wanted."""

from launch import Action, LaunchDescription

from robot_dynamics.ros.launching import arm
from robot_dynamics.ros.launching.actions import Given, WhenArgument, describe, node, parameter_files


def generate_launch_description() -> LaunchDescription:
    """Arguments: ``ros2 launch robot_dynamics computed_torque.launch.py -s``."""
    return describe(
        actions, *arm.ARGUMENTS, "simulator_parameters", use_sim_time=WhenArgument("plant", "gazebo")
    )


def actions(given: Given) -> list[Action]:
    """The parts that the arguments ask for."""
    files = [
        *arm.drive_parameters(given),
        *arm.chain(given),
        *arm.profile(given),
        *parameter_files(given["controller_parameters"]),
    ]
    return [
        *arm.description_and_plant(given, controller="effort_controller"),
        node("computed_torque_controller", given, [*files, *arm.model(given)]),
        *arm.onlookers(given),
    ]
