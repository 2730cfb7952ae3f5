"""Model-based feedforward for a stock joint_trajectory_controller, of a simulated arm or of a robot."""

from launch import Action, LaunchDescription

from robot_dynamics.ros.launching import arm
from robot_dynamics.ros.launching.actions import (
    Given,
    WhenArgument,
    describe,
    installed,
    node,
    parameter_files,
)


def generate_launch_description() -> LaunchDescription:
    """Arguments: ``ros2 launch robot_dynamics feedforward.launch.py -s``."""
    return describe(
        actions,
        *arm.ARGUMENTS,
        "simulator_parameters",
        plant="gazebo" if installed("ros_gz_sim") else "simulator",
        # By the wall's clock a simulator that gets no processor is behind its controller.
        use_sim_time=WhenArgument("plant", "none", equal=False),
    )


def actions(given: Given) -> list[Action]:
    """The parts that the arguments ask for."""
    files = [
        *arm.drive_parameters(given, arm.FOLLOWER),
        *arm.chain(given),
        *arm.profile(given),
        *parameter_files(given["controller_parameters"]),
    ]
    return [
        *arm.description_and_plant(given, controller=arm.FOLLOWER),
        node("trajectory_feedforward", given, [*files, *arm.model(given)]),
        *arm.onlookers(given, arm.FOLLOWER),
    ]
