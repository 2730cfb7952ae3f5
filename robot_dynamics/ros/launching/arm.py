"""What the launch files of an arm share: arguments, description, plant, and the nodes that look on."""

from __future__ import annotations

from typing import Any

from launch import Action

from robot_dynamics.errors import ParameterError
from robot_dynamics.ros.launching.actions import (
    check_package,
    description_parameter,
    include,
    node,
    parameter_files,
    simulator,
)
from robot_dynamics.ros.launching.arguments import ARM, ARM_IN_GAZEBO, CHAIN, FRAMES, GRAPH, PLACE, WORLD
from robot_dynamics.ros.launching.declared import Given
from robot_dynamics.ros.launching.descriptions import (
    drives,
    initial_positions,
    plain_description,
    robot_name,
)
from robot_dynamics.ros.launching.gazebo import tilted_gravity

ARGUMENTS = (
    *ARM_IN_GAZEBO,
    *("plant", "rviz", "web_view", "robot_model"),
    *("description", "controller_parameters", "rviz_config", "web_view_parameters"),
    *CHAIN,
    *WORLD,
    *PLACE,
    *GRAPH,
    *FRAMES,
)
"""Names of the arguments of a launch file that puts an arm under control."""


def description_and_plant(given: Given, controller: str) -> list[Action]:
    """Who publishes the description, and what is controlled, whichever of them the arguments ask for.

    Args:
        given: values of :data:`ARGUMENTS`; of ``simulator_parameters`` where the simulator is a choice.
        controller: of ros2_control, which takes the commands in Gazebo.

    Raises:
        ParameterError: the arguments contradict each other, or name files that do not exist.
    """
    if given["plant"] == "gazebo":
        if given["description"] != "robot_state_publisher":
            raise ParameterError("plant:=gazebo needs description:=robot_state_publisher")
        passed = (*ARM_IN_GAZEBO, *WORLD, *PLACE, *GRAPH, *FRAMES)
        return [include("gazebo_arm", given, *passed, controller=controller)]
    parts: list[Action] = []
    if given["description"] == "robot_state_publisher":
        parts.append(include("description", given, *ARM, *GRAPH, *FRAMES))
    if given["plant"] == "simulator":
        publishes = {"publish_description": given["description"] == "parameter"}
        parts.append(
            simulator(
                given, [*drive_parameters(given), _start(given), publishes, *chain(given), *model(given)]
            )
        )
    return parts


def model(given: Given) -> list[dict[str, Any]]:
    """The description as a parameter, for nodes that do not get it from the topic."""
    return [description_parameter(plain_description(given))] if given["description"] == "parameter" else []


def chain(given: Given) -> list[dict[str, Any]]:
    """Which joints are the arm's and where down is, for the nodes that compute with its model."""
    chosen: dict[str, Any] = {name: given[name] for name in CHAIN if given[name]}
    return [{**chosen, **(tilted_gravity(given) if given["plant"] == "gazebo" else {})}]


def drive_parameters(given: Given) -> list[Any]:
    """What no description says of one of the package's own arms, as a parameter file."""
    return parameter_files(drives(given))


def onlookers(given: Given) -> list[Action]:
    """The nodes that command nothing by themselves, where the arguments ask for them."""
    parts: list[Action] = []
    if given["robot_model"] == "true":
        parts.append(node("robot_model", given, [*drive_parameters(given), *chain(given), *model(given)]))
    if given["rviz"] == "true":
        check_package("rviz2")
        parts.append(node("markers", given, [{"frame_prefix": given["frame_prefix"]}, *model(given)]))
        parts.append(include("rviz", given, "robot", "rviz_config", *GRAPH, *FRAMES))
    if given["web_view"] == "true":
        parts.append(node("web_view", given, [*parameter_files(given["web_view_parameters"]), *model(given)]))
    return parts


def _start(given: Given) -> dict[str, Any]:
    """Where the simulated joints begin, as parameters."""
    if given["description"] == "external":
        return {}
    initial = initial_positions(robot_name(plain_description(given)), given["initial_positions"])
    if not initial:
        return {}
    return {"initial_joints": list(initial), "initial_positions": list(initial.values())}
