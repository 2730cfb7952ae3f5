"""An arm in Gazebo that takes efforts by ros2_control: the plant that can stand in for the simulator."""

from launch import Action, LaunchDescription

from robot_dynamics.ros.launching.actions import (
    Given,
    check_package,
    describe,
    in_turn,
    include,
    spawner,
    step,
)
from robot_dynamics.ros.launching.arguments import ARM_IN_GAZEBO, FRAMES, GRAPH, PLACE, WORLD, remappings
from robot_dynamics.ros.launching.descriptions import (
    controllers_path,
    placed,
    plain_description,
    robot_name,
    world_path,
)


def generate_launch_description() -> LaunchDescription:
    """Arguments: ``ros2 launch robot_dynamics gazebo_arm.launch.py -s``."""
    names = (*ARM_IN_GAZEBO, "controller", *WORLD, *PLACE, *GRAPH, *FRAMES)
    return describe(actions, *names, use_sim_time="true")


def actions(given: Given) -> list[Action]:
    """The description and the world at once; the arm, and then its controllers, in turn."""
    controllers = str(controllers_path(given))
    where = ["-topic", "robot_description", *placed(given, robot_name(plain_description(given)))]
    create = step("create", given, "ros_gz_sim", arguments=where, remappings=remappings(given))
    check_package("ros_gz_bridge")
    world_path(given)
    return [
        # First, because it refuses what Gazebo cannot have.
        include("description", given, *ARM_IN_GAZEBO, *GRAPH, *FRAMES, hardware="gazebo"),
        include("gazebo_world", given, *WORLD, "on_exit", "transport"),
        *in_turn(
            create,
            spawner("joint_state_broadcaster", given, controllers),
            spawner(given["controller"], given, controllers),
        ),
    ]
