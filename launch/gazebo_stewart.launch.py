"""A Stewart platform in Gazebo whose legs take forces by ros2_control."""

from launch import Action, LaunchDescription

from robot_dynamics.ros.launching.actions import (
    Given,
    check_package,
    describe,
    description_parameter,
    in_turn,
    include,
    node,
    spawner,
    step,
    text_parameter,
)
from robot_dynamics.ros.launching.arguments import GRAPH, PLATFORM_IN_GAZEBO, WORLD, description_topic
from robot_dynamics.ros.launching.descriptions import leg_controllers, machine_path, world_path
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.sdf import Controllers, actuator_description, sdf


def generate_launch_description() -> LaunchDescription:
    """Arguments: ``ros2 launch robot_dynamics gazebo_stewart.launch.py -s``."""
    return describe(actions, *PLATFORM_IN_GAZEBO, *WORLD, *GRAPH, use_sim_time="true")


def actions(given: Given) -> list[Action]:
    """The actuators' description and the world at once; the machine, and then its controllers, in turn."""
    platform = load_machine(machine_path(given))
    controllers = leg_controllers(given, platform)
    model = sdf(platform, Controllers(controllers, given["namespace"], description_topic(given)))
    actuators = node(
        "robot_state_publisher",
        given,
        [description_parameter(actuator_description(platform))],
        package="robot_state_publisher",
        # The description tells the actuators alone; where the legs are, stewart_platform tells.
        remappings=[("/tf", "actuator_tf"), ("/tf_static", "actuator_tf_static")],
    )
    create = step(
        "create", given, "ros_gz_sim", parameters=[text_parameter("string", model), {"name": platform.name}]
    )
    check_package("ros_gz_bridge")
    world_path(given)
    return [
        actuators,
        include("gazebo_world", given, *WORLD, "on_exit", "transport"),
        *in_turn(
            create,
            spawner("joint_state_broadcaster", given, controllers),
            spawner("leg_effort_controller", given, controllers),
        ),
    ]
