"""A Stewart platform under control: a plant, the node that computes its leg forces, and rviz or a page."""

from launch import Action, LaunchDescription

from robot_dynamics.errors import ParameterError
from robot_dynamics.resources import resource
from robot_dynamics.ros.launching.actions import (
    Given,
    WhenArgument,
    check_package,
    describe,
    include,
    node,
    parameter_files,
    simulator,
)
from robot_dynamics.ros.launching.arguments import GRAPH, PLATFORM_IN_GAZEBO, WORLD
from robot_dynamics.ros.launching.descriptions import machine_path
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.sdf import home_lengths


def generate_launch_description() -> LaunchDescription:
    """Arguments: ``ros2 launch robot_dynamics stewart.launch.py -s``."""
    return describe(
        actions,
        *PLATFORM_IN_GAZEBO,
        *("plant", "command", "rviz", "web_view"),
        *("controller_parameters", "simulator_parameters", "web_view_parameters", "rviz_config"),
        *WORLD,
        *GRAPH,
        use_sim_time=WhenArgument("plant", "gazebo"),
    )


def actions(given: Given) -> list[Action]:
    """The parts that the arguments ask for."""
    which = {"machine": str(machine_path(given))}
    parts: list[Action] = []
    if given["plant"] == "gazebo" and given["command"] != "effort":
        raise ParameterError(f"argument 'command' is {given['command']}; legs in Gazebo take effort")
    # In Gazebo the position of a leg's joint counts from home, elsewhere it is the leg's length.
    zero = {}
    if given["plant"] == "gazebo":
        parts.append(include("gazebo_stewart", given, *PLATFORM_IN_GAZEBO, *WORLD, *GRAPH))
        zero = {"zero_lengths": home_lengths(load_machine(machine_path(given))).tolist()}
    if given["plant"] == "simulator":
        parts.append(simulator(given, [which, {"drives": given["command"]}]))
    parameters = [
        which,
        zero,
        {"command": given["command"]},
        *parameter_files(given["controller_parameters"]),
    ]
    parts.append(node("stewart_platform", given, parameters))
    if given["rviz"] == "true":
        check_package("rviz2")
        picture = given["rviz_config"] or str(resource("rviz/stewart_demo.rviz"))
        parts.append(include("rviz", given, *GRAPH, rviz_config=picture))
    if given["web_view"] == "true":
        page = [which, zero, *parameter_files(given["web_view_parameters"])]
        parts.append(node("web_view", given, page))
    return parts
