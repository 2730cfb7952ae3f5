"""Shared parts of an arm's launch files: arguments, description, plant, and the nodes of views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from launch import Action

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.driver_profile import load_driver
from robot_dynamics.resources import resource
from robot_dynamics.ros.launching.actions import (
    Given,
    check_package,
    description_parameter,
    in_turn,
    include,
    node,
    parameter_files,
    simulator,
    spawner,
)
from robot_dynamics.ros.launching.arguments import ARM, ARM_IN_GAZEBO, CHAIN, FRAMES, GRAPH, PLACE, WORLD
from robot_dynamics.ros.launching.descriptions import (
    TOPIC_PACKAGE,
    controllers_path,
    drives,
    initial_positions,
    plain_description,
    robot_name,
    tilted_gravity,
)
from robot_dynamics.simulation.parameters import JOINT_STATE

FOLLOWER = "joint_trajectory_controller"
"""The controller of ros2_control that follows trajectories."""
ARGUMENTS = (
    *(*ARM_IN_GAZEBO, "plant", "rviz", "web_view", "robot_model", "description", "controller_parameters"),
    *("rviz_config", "web_view_parameters", "driver", *CHAIN, *WORLD, *PLACE, *GRAPH, *FRAMES),
)
"""Arguments of a launch file that controls an arm."""


def description_and_plant(given: Given, controller: str) -> list[Action]:
    """The source of the description and the plant, as the arguments ask for them.

    Args:
        given: values of :data:`ARGUMENTS`; of ``simulator_parameters`` where the simulator is a choice.
        controller: of ros2_control, which takes the commands; the simulator needs none for efforts.
    """
    if simulated_by_ros2_control(given, controller) and given["description"] != "robot_state_publisher":
        raise ParameterError(f"plant:={given['plant']} needs description:=robot_state_publisher")
    if given["plant"] == "gazebo":
        passed = (*ARM_IN_GAZEBO, *WORLD, *PLACE, *GRAPH, *FRAMES)
        return [include("gazebo_arm", given, *passed, controller=controller)]
    plant = [*drive_parameters(given, controller), _start(given), *chain(given), *model(given)]
    if simulated_by_ros2_control(given, controller):
        return _simulator_behind_ros2_control(given, controller, plant)
    parts: list[Action] = []
    if given["description"] == "robot_state_publisher":
        parts.append(include("description", given, *ARM, *GRAPH, *FRAMES))
    if given["plant"] == "simulator":
        publishes = {"publish_description": given["description"] == "parameter"}
        parts.append(simulator(given, [*plant, publishes]))
    return parts


def _simulator_behind_ros2_control(given: Given, controller: str, plant: Sequence[Any]) -> list[Action]:
    """The simulator as hardware of a controller manager of its own."""
    check_package(TOPIC_PACKAGE)
    controllers = str(controllers_path(given))
    settings = parameter_files(controllers, resource("config/simulator_manager.yaml"))
    return [
        include("description", given, *ARM_IN_GAZEBO, *GRAPH, *FRAMES, hardware="topics"),
        simulator(given, [*plant, {"command_message": JOINT_STATE}]),
        node("ros2_control_node", given, settings, package="controller_manager"),
        *in_turn(spawner(controller, given, controllers)),
    ]


def model(given: Given) -> list[dict[str, Any]]:
    """The description as a parameter, for nodes that do not get it from the topic."""
    return [description_parameter(plain_description(given))] if given["description"] == "parameter" else []


def profile(given: Given) -> list[dict[str, Any]]:
    """The driver profile, for the nodes that compute efforts; it is read before any of them starts."""
    if not given["driver"]:
        return []
    load_driver(given["driver"])
    return [{"driver": given["driver"]}]


def chain(given: Given) -> list[dict[str, Any]]:
    """Root, tips and gravity, for the nodes that compute with the arm's model."""
    chosen: dict[str, Any] = {name: given[name] for name in CHAIN if given[name]}
    if "tips" in chosen:
        chosen["tips"] = given["tips"].split()
    return [{**chosen, **(tilted_gravity(given) if given["plant"] == "gazebo" else {})}]


def drive_parameters(given: Given, controller: str = "effort_controller") -> list[Any]:
    """Parameter file of the drives; none with ros2_control, whose gains are for an arm without rotors."""
    return [] if simulated_by_ros2_control(given, controller) else parameter_files(drives(given))


def simulated_by_ros2_control(given: Given, controller: str) -> bool:
    """Return whether a controller of ros2_control stands between the nodes and a simulated arm."""
    return given["plant"] == "gazebo" or (given["plant"], controller) == ("simulator", FOLLOWER)


def onlookers(given: Given, controller: str = "effort_controller") -> list[Action]:
    """The nodes that send no commands by themselves, where the arguments ask for them."""
    parts: list[Action] = []
    if given["robot_model"] == "true":
        parts.append(
            node(
                "robot_model",
                given,
                [*drive_parameters(given, controller), *chain(given), *profile(given), *model(given)],
            )
        )
    if given["rviz"] == "true":
        check_package("rviz2")
        parts.append(node("markers", given, [{"frame_prefix": given["frame_prefix"]}, *model(given)]))
        parts.append(include("rviz", given, "robot", "rviz_config", *GRAPH, *FRAMES))
    if given["web_view"] == "true":
        parts.append(node("web_view", given, [*parameter_files(given["web_view_parameters"]), *model(given)]))
    return parts


def _start(given: Given) -> dict[str, Any]:
    """Initial positions of the simulated joints, as parameters."""
    if given["description"] == "external":
        return {}
    initial = initial_positions(robot_name(plain_description(given)), given["initial_positions"])
    if not initial:
        return {}
    return {"initial_joints": list(initial), "initial_positions": list(initial.values())}
