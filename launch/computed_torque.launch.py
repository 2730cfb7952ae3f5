"""An arm under computed-torque control: its description, a plant, the controller, and rviz if wanted."""

from launch import Action, LaunchDescription

from robot_dynamics.errors import ParameterError
from robot_dynamics.resources import resource
from robot_dynamics.ros.launching.actions import (
    Given,
    describe,
    description_parameter,
    equals,
    include,
    node,
    parameter_files,
)
from robot_dynamics.ros.launching.descriptions import (
    drives,
    initial_positions,
    plain_description,
    robot_name,
)

ROBOT = ("robot", "description_file", "initial_positions")
GRAPH = ("namespace", "frame_prefix", "use_sim_time", "on_exit")
GAZEBO = ("controllers", "gui", "world")


def generate_launch_description() -> LaunchDescription:
    """The arguments are told by ``ros2 launch robot_dynamics computed_torque.launch.py -s``."""
    return describe(
        actions,
        *("robot", "plant", "rviz"),
        *("description_file", "description", "initial_positions"),
        *("controller_parameters", "simulator_parameters"),
        *GAZEBO,
        "rviz_config",
        *GRAPH,
        use_sim_time=equals("plant", "gazebo"),
    )


def actions(given: Given) -> list[Action]:
    """The parts that the arguments ask for."""
    parts: list[Action] = []
    model = []
    if given["plant"] == "gazebo":
        if given["description"] != "robot_state_publisher":
            raise ParameterError("plant:=gazebo needs description:=robot_state_publisher")
        parts.append(include("gazebo_arm", given, *ROBOT, *GAZEBO, *GRAPH))
    elif given["description"] == "robot_state_publisher":
        parts.append(include("description", given, *ROBOT, *GRAPH))
    elif given["description"] == "parameter":
        model = [description_parameter(plain_description(given))]
    if given["plant"] == "simulator":
        parts.append(simulator(given, model))
    usual = resource("config/computed_torque_controller.yaml")
    files = parameter_files(usual, drives(given), given["controller_parameters"])
    parts.append(node("computed_torque_controller", given, [*files, *model]))
    if given["rviz"] == "true":
        parts.append(include("rviz", given, "robot", "rviz_config", "namespace", "use_sim_time", "on_exit"))
    return parts


def simulator(given: Given, model: list[dict]) -> Action:
    """The simulated arm; with ``use_sim_time`` it is the one that publishes the time."""
    role = {
        "publish_clock": given["use_sim_time"] == "true",
        "publish_description": given["description"] == "parameter",
    }
    usual = parameter_files(resource("config/simulator.yaml"), drives(given))
    own = parameter_files(given["simulator_parameters"])
    # It makes the time: it must not wait for it.
    return node("simulator", {**given, "use_sim_time": "false"}, [*usual, start(given), *own, role, *model])


def start(given: Given) -> dict:
    """Where the simulated joints begin, as parameters."""
    if given["description"] == "external":
        return {}
    initial = initial_positions(robot_name(plain_description(given)), given["initial_positions"])
    if not initial:
        return {}
    return {"initial_joints": list(initial), "initial_positions": list(initial.values())}
