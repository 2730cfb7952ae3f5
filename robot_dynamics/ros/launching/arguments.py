"""Arguments of the launch files: meaning, default and choices of each, and what their values name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.model.driver_profile import driver_names
from robot_dynamics.resources import share_directory

NODES = ("stewart_platform",)
"""Nodes whose parameter files have names like those of platforms."""
BOOLEAN = ["true", "false", "True", "False"]
"""Both spellings; :func:`plain` makes one of them."""
ALIKE = 0.8
"""From this likeness on, an unknown name counts as a misspelt one."""
DESCRIPTION = "robot_description"
"""Topic of the description, unless a remapping gives it another name."""

GRAPH = ("namespace", "use_sim_time", "on_exit", "remappings", "transport")
"""Arguments of every launch file that starts nodes of a robot."""
FRAMES = ("frame_prefix",)
WORLD = ("world", "gui", "gz_args", "gazebo")
PLACE = ("spawn_pose", "entity")
CHAIN = ("root", "tip", "tips")
ARM = ("robot", "description_file", "initial_positions")
ARM_IN_GAZEBO = (*ARM, "controllers")
PLATFORM_IN_GAZEBO = ("platform", "machine_file", "leg_controllers")


class LaunchArgument(NamedTuple):
    """Description, default and legal values of a launch argument; without choices any value is legal."""

    text: str
    default: str = ""
    choices: list[str] | None = None


def robots() -> list[str]:
    """The arms of the package: one for every URDF in ``urdf/``."""
    return sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf"))


def platforms() -> list[str]:
    """The Stewart platforms of the package: every ``config/stewart_*.yaml`` but a node's own."""
    files = (share_directory() / "config").glob("stewart_*.yaml")
    return sorted(path.stem for path in files if path.stem not in NODES)


def plain(name: str, value: str) -> str:
    """The value of an argument as the launch files compare it."""
    return value.lower() if ARGUMENTS[name].choices is BOOLEAN else value


def refuse_near_misses(given: Iterable[str], declared: Sequence[str]) -> None:
    """Raise ParameterError for a name that is not declared but like one that is.

    Other names pass: they may belong to a launch file that includes this one.
    """
    for name in sorted(set(given) - set(ARGUMENTS)):
        for nearest in difflib.get_close_matches(name, declared, n=1, cutoff=ALIKE):
            raise ParameterError(f"there is no argument '{name}': did you mean '{nearest}'?")


def remappings(given: Mapping[str, str]) -> list[tuple[str, str]]:
    """The pairs in the argument ``remappings``; ParameterError for a word that is not ``FROM:=TO``."""
    pairs = [word.partition(":=") for word in given.get("remappings", "").split()]
    for name, _, new in pairs:
        if not name or not new:
            raise ParameterError(
                f"argument 'remappings': {quoted(name or new)} must be FROM:=TO, with spaces between several"
            )
    return [(name, new) for name, _, new in pairs]


def description_topic(given: Mapping[str, str]) -> str:
    """Topic of the description for ros2_control inside Gazebo, which gets no remappings of its own."""
    return dict(remappings(given)).get(DESCRIPTION, DESCRIPTION)


ARGUMENTS = {
    "robot": LaunchArgument("Arm of this package; 'description_file' names any other", "puma560", robots()),
    "description_file": LaunchArgument("URDF or xacro file of another arm, in place of 'robot'"),
    "description": LaunchArgument(
        "Source of the description for the nodes: robot_state_publisher publishes it, and the frames;"
        " parameter hands it to the nodes that need it, without frames; external: the robot's driver or"
        " another program publishes it",
        "robot_state_publisher",
        ["robot_state_publisher", "parameter", "external"],
    ),
    "platform": LaunchArgument(
        "Stewart platform of this package; 'machine_file' names any other", "stewart_demo", platforms()
    ),
    "machine_file": LaunchArgument("YAML file of another platform, in place of 'platform'"),
    "command": LaunchArgument(
        "Command to the legs' actuators: effort are forces; position or velocity are setpoints of drives that"
        " close the loop, not in Gazebo",
        "effort",
        ["effort", "velocity", "position"],
    ),
    "leg_controllers": LaunchArgument(
        "YAML file with the controllers of ros2_control for the legs; empty: config/leg_controllers.yaml"
    ),
    "hardware": LaunchArgument(
        "ros2_control block of the description: none leaves it as it is, gazebo adds joints that take efforts"
        " in Gazebo, topics puts this package's simulator in the place of all hardware",
        "none",
        ["none", "gazebo", "topics"],
    ),
    "plant": LaunchArgument(
        "Controlled system: simulator is this package's, on MuJoCo; gazebo is Gazebo with ros2_control; none"
        " starts nothing, for a real robot",
        "simulator",
        ["simulator", "gazebo", "none"],
    ),
    "controller": LaunchArgument(
        "Controller of ros2_control that takes the commands",
        "effort_controller",
        ["effort_controller", "joint_trajectory_controller"],
    ),
    "controllers": LaunchArgument(
        "YAML file with the controllers of ros2_control; empty: config/<robot>_controllers.yaml"
    ),
    "initial_positions": LaunchArgument(
        "YAML file with the initial joint positions; empty: config/initial_positions.yaml"
    ),
    "gazebo": LaunchArgument(
        "Gazebo itself: start begins it; running adds the robot to a Gazebo that runs already",
        "start",
        ["start", "running"],
    ),
    "gz_args": LaunchArgument("Further arguments of 'gz sim', such as '--physics-engine NAME' or '-v 4'"),
    "spawn_pose": LaunchArgument(
        "Pose of the robot in Gazebo's world: x y z [m] roll pitch yaw [rad] as six numbers; the controller"
        " of a tilted arm gets its gravity from it",
        "0 0 0 0 0 0",
    ),
    "entity": LaunchArgument("Name of the robot in Gazebo's world; empty: the one in its description"),
    "driver": LaunchArgument(
        "Driver profile that states what efforts mean on the robot: "
        + ", ".join(driver_names())
        + ", or the path of a .yaml file; empty: none"
    ),
    "root": LaunchArgument("Root link of the controlled chain; empty: the root of the description"),
    "tip": LaunchArgument(
        "Tip link of the controlled chain; empty: the end of the arm; a robot with several arms needs a name"
    ),
    "tips": LaunchArgument(
        "Tip links of a tree, with spaces between several, in place of 'tip'; all: the whole robot;"
        " empty: one chain"
    ),
    "remappings": LaunchArgument(
        "Other names for topics and services of the nodes, as FROM:=TO with spaces between several"
    ),
    "gui": LaunchArgument("Window of Gazebo; false runs the server alone", "true", BOOLEAN),
    "world": LaunchArgument("SDF file of Gazebo's world; empty: urdf/world.sdf"),
    "rviz": LaunchArgument("Window of rviz with the robot, its joint torques and weights", "false", BOOLEAN),
    "rviz_config": LaunchArgument("Configuration file of rviz; empty: the one in rviz/ for the robot"),
    "robot_model": LaunchArgument(
        "Node that reports the DH table, the links' masses and checks of the description", "false", BOOLEAN
    ),
    "web_view": LaunchArgument("Web view of the robot, on this host", "false", BOOLEAN),
    "web_view_parameters": LaunchArgument("YAML file with parameters of the web view, over its defaults"),
    "namespace": LaunchArgument("Namespace of every node and of every relative topic"),
    "frame_prefix": LaunchArgument(
        "Prefix of every frame, such as 'left/', to distinguish several robots in tf"
    ),
    "use_sim_time": LaunchArgument("Time from /clock, which the plant publishes then", "false", BOOLEAN),
    "controller_parameters": LaunchArgument("YAML file with parameters of the controller, over its defaults"),
    "simulator_parameters": LaunchArgument("YAML file with parameters of the simulator, over its defaults"),
    "transport": LaunchArgument(
        "Transport of Fast DDS: sockets only, or default, which adds shared memory on one host. A profile or"
        " FASTDDS_BUILTIN_TRANSPORTS in the environment, or another middleware, wins",
        "sockets",
        ["sockets", "default"],
    ),
    "on_exit": LaunchArgument(
        "Action when a node ends by itself: shutdown takes the whole launch down, respawn starts the node"
        " again; Gazebo's end always takes the launch down",
        "shutdown",
        ["shutdown", "respawn"],
    ),
}
