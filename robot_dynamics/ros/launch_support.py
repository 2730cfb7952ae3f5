"""What the launch files share: their arguments, each described once, and how nodes and files are started.

A launch file names its arguments and gives a function that gets their values as text:

    def generate_launch_description() -> LaunchDescription:
        return launch_support.describe(actions, "robot", "namespace", "on_exit")

    def actions(given: Given) -> list[Action]:
        return [launch_support.node("simulator", given)]

The values are read while the file is visited: event handlers run later, when the arguments of an included
file are out of scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from launch import Action, LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    Shutdown,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import EqualsSubstitution, LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from robot_dynamics.errors import ParameterError
from robot_dynamics.resources import PACKAGE, resource, share_directory

Given = Mapping[str, str]
"""Launch arguments with their values."""

RESPAWN_DELAY = 1.0
"""Seconds after which a node that has ended is started again, with ``on_exit:=respawn``."""
BOOLEAN = ("true", "false")


def robots() -> list[str]:
    """The arms that come with the package: one for every URDF in ``urdf/``."""
    return sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf"))


def _arguments() -> dict[str, dict[str, Any]]:
    return {
        "robot": {
            "default_value": "puma560",
            "choices": robots(),
            "description": "Arm of this package; 'description_file' names any other",
        },
        "description_file": {
            "default_value": "",
            "description": "URDF or xacro file of an arm of your own; it takes the place of 'robot'",
        },
        "description": {
            "default_value": "robot_state_publisher",
            "choices": ["robot_state_publisher", "parameter", "external"],
            "description": "How the description reaches the nodes: robot_state_publisher publishes it, and"
            " the frames; parameter hands it to the nodes that need it, without frames; external means that"
            " somebody else, such as the robot's driver, publishes it",
        },
        "plant": {
            "default_value": "simulator",
            "choices": ["simulator", "gazebo", "none"],
            "description": "What is controlled: simulator is this package's, on MuJoCo; gazebo starts Gazebo"
            " with ros2_control; none starts nothing, because a robot is there",
        },
        "rviz": {"default_value": "false", "choices": BOOLEAN, "description": "Show the robot in rviz"},
        "namespace": {"default_value": "", "description": "Namespace of every node and relative topic"},
        "frame_prefix": {
            "default_value": "",
            "description": "Put before every frame, such as 'left/', to tell several robots apart in tf",
        },
        "use_sim_time": {
            "default_value": "false",
            "choices": BOOLEAN,
            "description": "Take the time from /clock, which the simulator then publishes",
        },
        "controller_parameters": {
            "default_value": "",
            "description": "YAML file with parameters of the controller; empty: its defaults",
        },
        "simulator_parameters": {
            "default_value": "",
            "description": "YAML file with parameters of the simulator; empty: its defaults",
        },
        "on_exit": {
            "default_value": "shutdown",
            "choices": ["shutdown", "respawn"],
            "description": "When a node ends by itself: shutdown takes the whole launch down, respawn starts"
            " the node again",
        },
    }


def describe(actions: Callable[[Given], Iterable[Action]], *names: str, **defaults: Any) -> LaunchDescription:
    """A launch description that declares arguments and acts on their values.

    Args:
        actions: gets the values of the arguments by name, returns what to do.
        names: of the arguments, see :func:`declare`.
        defaults: other defaults than the usual ones.
    """

    def visit(context: LaunchContext) -> list[Action]:
        return list(actions({name: LaunchConfiguration(name).perform(context) for name in names}))

    return LaunchDescription([*declare(*names, **defaults), OpaqueFunction(function=visit)])


def declare(*names: str, **defaults: Any) -> list[DeclareLaunchArgument]:
    """Declarations of arguments that the launch files share, with other defaults where given."""
    known = _arguments()
    for name, default in defaults.items():
        known[name]["default_value"] = default
    return [DeclareLaunchArgument(name, **known[name]) for name in names]


def equals(name: str, value: str) -> EqualsSubstitution:
    """``true`` when the argument has the value: a default that depends on another argument."""
    return EqualsSubstitution(LaunchConfiguration(name), value)


def include(file: str, given: Given, *names: str, **values: str) -> GroupAction:
    """Another launch file of this package, with arguments passed on and further ones set.

    Args:
        file: name of the launch file without ``.launch.py``.
        given: the values at hand.
        names: the arguments that are passed on as they are.
        values: arguments that are set here.
    """
    arguments = {**{name: given[name] for name in names}, **values}
    source = PythonLaunchDescriptionSource(str(resource(f"launch/{file}.launch.py")))
    return GroupAction(
        [IncludeLaunchDescription(source, launch_arguments=arguments.items())], scoped=True, forwarding=False
    )


def node(
    executable: str,
    given: Given,
    parameters: Sequence[Any] = (),
    package: str = PACKAGE,
    **options: Any,
) -> Node:
    """A node in the given namespace, on the given time, that ends as declared by ``on_exit``.

    Args:
        executable: of the node.
        given: values of ``namespace``, ``use_sim_time`` and ``on_exit``.
        parameters: dictionaries and parameter files; the later ones win.
        package: where the executable is.
        options: further ones of ``launch_ros.actions.Node``.
    """
    sim_time = {"use_sim_time": given["use_sim_time"] == "true"}
    respawn = given["on_exit"] == "respawn"
    return Node(
        package=package,
        executable=executable,
        namespace=given["namespace"],
        parameters=[sim_time, *parameters],
        output="screen",
        respawn=respawn,
        respawn_delay=RESPAWN_DELAY,
        on_exit=None if respawn else Shutdown(reason=f"{executable} has ended"),
        **options,
    )


def parameter_files(*paths: str) -> list[ParameterFile]:
    """Parameter files from paths that may be empty.

    Raises:
        ParameterError: a file does not exist.
    """
    for path in paths:
        if path and not Path(path).is_file():
            raise ParameterError(f"the parameter file {path} does not exist")
    return [ParameterFile(path, allow_substs=True) for path in paths if path]


def description_text(given: Given) -> str:
    """URDF of the chosen robot as XML text; a xacro file is expanded.

    Raises:
        ParameterError: the file does not exist, or xacro does not understand it.
    """
    path = Path(given["description_file"] or resource(f"urdf/{given['robot']}.urdf"))
    if not path.is_file():
        raise ParameterError(f"argument 'description_file': {path} does not exist")
    return expand(path) if path.suffix == ".xacro" else path.read_text(encoding="utf-8")


def expand(path: Path, **arguments: str) -> str:
    """XML text of a xacro file.

    Raises:
        ParameterError: xacro is not installed, or does not understand the file.
    """
    try:
        import xacro
    except ImportError as error:
        raise ParameterError(f"{path.name} needs xacro, which is not installed") from error
    try:
        return str(xacro.process_file(str(path), mappings=dict(arguments)).toxml())
    except Exception as error:
        raise ParameterError(f"xacro does not understand {path}: {error}") from error


def description_parameter(text: str) -> dict[str, ParameterValue]:
    """The parameter ``robot_description``; an XML text must not be read as YAML."""
    return {"robot_description": ParameterValue(text, value_type=str)}


def initial_positions(robot: str) -> dict[str, float]:
    """Where the joints of one of the package's arms begin, the same in every plant [rad or m]."""
    with resource("config/initial_positions.yaml").open(encoding="utf-8") as file:
        return dict(yaml.safe_load(file).get(robot, {}))
