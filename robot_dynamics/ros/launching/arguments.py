"""Arguments of the launch files: what each means, its default and its choices, in one place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.resources import share_directory

NODES = ("stewart_platform",)
"""Nodes whose parameter files have names like those of machines."""

BOOLEAN = ["true", "false", "True", "False"]
"""Both ways in which people write it; :func:`plain` makes one of them."""
ALIKE = 0.8
"""From this likeness on, a name that nobody declares is taken for a misspelt one."""


GRAPH = ("namespace", "use_sim_time", "on_exit", "remappings", "transport")
"""Arguments of every launch file that starts nodes of a machine."""
FRAMES = ("frame_prefix",)
"""Further ones where the nodes of an arm publish or show frames."""
WORLD = ("world", "gui", "gz_args", "gazebo")
"""Arguments of Gazebo."""
PLACE = ("spawn_pose", "entity")
"""Where a machine is put in Gazebo's world, and under which name."""
DESCRIPTION = "robot_description"
"""The topic of the description, where no remapping gives it another name."""
CHAIN = ("root", "tip")
"""Which joints of the description are the arm's."""
ARM = ("robot", "description_file", "initial_positions")
"""Which arm."""
ARM_IN_GAZEBO = (*ARM, "controllers")
"""Which arm, with controllers of ros2_control."""
PLATFORM_IN_GAZEBO = ("platform", "machine_file", "leg_controllers")
"""Which Stewart platform, with controllers of ros2_control."""


@dataclass(frozen=True)
class Argument:
    """A launch argument.

    Attributes:
        text: what it does.
        default: value when nobody sets it.
        choices: the legal values; None when any value will do.
    """

    text: str
    default: str = ""
    choices: list[str] | None = None


def robots() -> list[str]:
    """The arms that come with the package: one for every URDF in ``urdf/``."""
    return sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf"))


def platforms() -> list[str]:
    """The Stewart platforms that come with the package: every ``config/stewart_*.yaml`` but a node's own."""
    files = (share_directory() / "config").glob("stewart_*.yaml")
    return sorted(path.stem for path in files if path.stem not in NODES)


def plain(name: str, value: str) -> str:
    """The value of an argument as the launch files compare it."""
    return value.lower() if ARGUMENTS[name].choices is BOOLEAN else value


def refuse_near_misses(given: Iterable[str], declared: Sequence[str]) -> None:
    """Refuse a name that nobody declares and that is like one of ours.

    Others may come from a launch file that includes this one.

    Args:
        given: names of all arguments that are set.
        declared: names of those that the launch file has.

    Raises:
        ParameterError: names the argument, and the one that may be meant.
    """
    for name in sorted(set(given) - set(ARGUMENTS)):
        nearest = difflib.get_close_matches(name, declared, n=1, cutoff=ALIKE)
        if nearest:
            raise ParameterError(f"there is no argument '{name}'; '{nearest[0]}' may be meant")


def remappings(given: Mapping[str, str]) -> list[tuple[str, str]]:
    """The pairs in the argument ``remappings``.

    Raises:
        ParameterError: a word is no ``FROM:=TO``.
    """
    pairs = [word.partition(":=") for word in given.get("remappings", "").split()]
    for name, _, new in pairs:
        if not name or not new:
            raise ParameterError(
                f"argument 'remappings': {quoted(name or new)} must be FROM:=TO, with spaces between several"
            )
    return [(name, new) for name, _, new in pairs]


def description_topic(given: Mapping[str, str]) -> str:
    """Where ros2_control inside Gazebo, which gets no remappings of its own, finds the description."""
    return dict(remappings(given)).get(DESCRIPTION, DESCRIPTION)


ARGUMENTS = {
    "robot": Argument(
        "Arm of this package; 'description_file' names any other", default="puma560", choices=robots()
    ),
    "description_file": Argument("URDF or xacro file of another arm, which takes the place of 'robot'"),
    "description": Argument(
        "How the description reaches the nodes: robot_state_publisher publishes it, and the frames; parameter"
        " hands it to the nodes that need it, and there are no frames; external: somebody else publishes it,"
        " such as the robot's driver",
        default="robot_state_publisher",
        choices=["robot_state_publisher", "parameter", "external"],
    ),
    "platform": Argument(
        "Stewart platform of this package; 'machine_file' names any other",
        default="stewart_demo",
        choices=platforms(),
    ),
    "machine_file": Argument("YAML file of another platform, which takes the place of 'platform'"),
    "leg_controllers": Argument(
        "YAML file with the controllers of ros2_control for the legs; empty: config/leg_controllers.yaml"
    ),
    "hardware": Argument(
        "What the description says of ros2_control: none leaves it as it is, gazebo adds joints that take"
        " efforts in Gazebo, topics puts this package's simulator in the place of all hardware",
        default="none",
        choices=["none", "gazebo", "topics"],
    ),
    "plant": Argument(
        "What is controlled: simulator is this package's, on MuJoCo; gazebo is Gazebo with ros2_control; none"
        " starts nothing, because a robot is there",
        default="simulator",
        choices=["simulator", "gazebo", "none"],
    ),
    "controller": Argument(
        "Controller of ros2_control that takes the commands",
        default="effort_controller",
        choices=["effort_controller", "joint_trajectory_controller"],
    ),
    "controllers": Argument(
        "YAML file with the controllers of ros2_control; empty: config/<robot>_controllers.yaml"
    ),
    "initial_positions": Argument(
        "YAML file that tells where the joints begin; empty: config/initial_positions.yaml"
    ),
    "gazebo": Argument(
        "start begins Gazebo; running adds the machine to a Gazebo that runs already, as a second arm",
        default="start",
        choices=["start", "running"],
    ),
    "gz_args": Argument("Further arguments of 'gz sim', such as '--physics-engine NAME' or '-v 4'"),
    "spawn_pose": Argument(
        "Where the machine is put in Gazebo's world: x y z [m] roll pitch yaw [rad] as six numbers; the"
        " controller of an arm that is tilted so is told where down is",
        default="0 0 0 0 0 0",
    ),
    "entity": Argument("Name of the machine in Gazebo's world; empty: the one in its description"),
    "root": Argument("Root link of the controlled chain; empty: the root of the description"),
    "tip": Argument("Tip link of the controlled chain; empty: the only possible one"),
    "remappings": Argument(
        "Other names for topics and services of the nodes that are started, as FROM:=TO with spaces between"
    ),
    "gui": Argument("Show Gazebo's window; false runs the server alone", default="true", choices=BOOLEAN),
    "world": Argument("SDF file of Gazebo's world; empty: urdf/world.sdf"),
    "rviz": Argument("Show the robot and what loads it in rviz", default="false", choices=BOOLEAN),
    "rviz_config": Argument("Configuration file of rviz; empty: the one in rviz/ for the robot"),
    "robot_model": Argument(
        "Tell people and programs the DH table, the links' masses and what is odd about the description",
        default="false",
        choices=BOOLEAN,
    ),
    "web_view": Argument("Show the robot in a browser, on this machine", default="false", choices=BOOLEAN),
    "web_view_parameters": Argument("YAML file with parameters of the web view, over its defaults"),
    "namespace": Argument("Namespace of every node and of every relative topic"),
    "frame_prefix": Argument("Put before every frame, such as 'left/', to tell several robots apart in tf"),
    "use_sim_time": Argument(
        "Take the time from /clock; the plant publishes it then", default="false", choices=BOOLEAN
    ),
    "controller_parameters": Argument("YAML file with parameters of the controller, over its defaults"),
    "simulator_parameters": Argument("YAML file with parameters of the simulator, over its defaults"),
    "transport": Argument(
        "Transport of Fast DDS: sockets only, or default, which adds shared memory on one host. A profile or"
        " FASTDDS_BUILTIN_TRANSPORTS in the environment, or another middleware, wins",
        default="sockets",
        choices=["sockets", "default"],
    ),
    "on_exit": Argument(
        "When a node ends by itself: shutdown takes the whole launch down, respawn starts the node again;"
        " Gazebo's end always takes the launch down",
        default="shutdown",
        choices=["shutdown", "respawn"],
    ),
}
