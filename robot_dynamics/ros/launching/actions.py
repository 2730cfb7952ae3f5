"""How launch files declare their arguments and start nodes, steps and other launch files.

A launch file names its arguments and gives a function that gets their values as text:

    def generate_launch_description() -> LaunchDescription:
        return describe(actions, "robot", "namespace", "on_exit")

    def actions(given: Given) -> list[Action]:
        return [node("simulator", given)]

The values are read while the file is visited: event handlers run later, when the arguments of an included
file are out of scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from launch import Action, LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import EqualsSubstitution, LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.resources import PACKAGE, resource
from robot_dynamics.ros.launching.arguments import ARGUMENTS, plain, refuse_near_misses

Given = Mapping[str, str]
"""Launch arguments with their values."""

RESPAWN_DELAY = 1.0
"""Seconds after which a node that has ended is started again, with ``on_exit:=respawn``."""
MANAGER_TIMEOUT = 60.0
"""Seconds of patience for a controller manager, which is not there at all when Gazebo could not load it."""
SWITCH_TIMEOUT = 10.0
"""Seconds of patience for the switch to a controller: a simulation that has just begun is slow."""


def describe(
    actions: Callable[[Given], Iterable[Action]],
    *names: str,
    choices: Mapping[str, list[str]] | None = None,
    **defaults: Any,
) -> LaunchDescription:
    """A launch description that declares arguments and acts on their values.

    Args:
        actions: gets the values of the arguments by name, returns what to do.
        names: of the arguments, as in ``arguments.ARGUMENTS``.
        choices: other choices than the usual ones.
        defaults: other defaults than the usual ones.
    """
    chosen = choices or {}

    def visit(context: LaunchContext) -> list[Action]:
        refuse_near_misses(context.launch_configurations, names)
        given = {name: plain(name, LaunchConfiguration(name).perform(context)) for name in names}
        return list(actions(given))

    declared = [
        DeclareLaunchArgument(
            name,
            description=ARGUMENTS[name].text,
            default_value=defaults.get(name, ARGUMENTS[name].default),
            choices=chosen.get(name, ARGUMENTS[name].choices),
        )
        for name in names
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=visit)])


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
    return _scoped(resource(f"launch/{file}.launch.py"), arguments)


def include_from(package: str, file: str, **values: str) -> GroupAction:
    """A launch file of another package."""
    check_package(package)
    return _scoped(Path(get_package_share_directory(package)) / "launch" / file, values)


def _scoped(file: Path, arguments: Mapping[str, str]) -> GroupAction:
    source = PythonLaunchDescriptionSource(str(file))
    included = IncludeLaunchDescription(source, launch_arguments=list(arguments.items()))
    return GroupAction([included], scoped=True, forwarding=False)


def node(
    executable: str,
    given: Given,
    parameters: Sequence[Any] = (),
    package: str = PACKAGE,
    may_close: bool = False,
    **options: Any,
) -> Node:
    """A node in the given namespace, on the given time, that ends as declared by ``on_exit``.

    Args:
        executable: of the node.
        given: values of ``namespace``, ``use_sim_time`` and ``on_exit``.
        parameters: dictionaries and parameter files; the later ones win.
        package: where the executable is.
        may_close: the node's clean end is the user's wish, as with a window, and has no consequence; nor has
            any other end with ``on_exit:=respawn``.
        options: further ones of ``launch_ros.actions.Node``.
    """
    check_package(package)
    lasting = given["on_exit"] == "respawn"
    respawn = lasting and not may_close

    def end(event: ProcessExited, context: LaunchContext) -> list[Action] | None:
        if context.is_shutdown or (may_close and (lasting or event.returncode == 0)):
            return None
        return _shutdown(executable, event)

    return Node(
        package=package,
        executable=executable,
        namespace=given["namespace"],
        parameters=[{"use_sim_time": given["use_sim_time"] == "true"}, *parameters],
        output="screen",
        respawn=respawn,
        respawn_delay=RESPAWN_DELAY,
        on_exit=None if respawn else end,
        **options,
    )


def check_package(package: str) -> None:
    """Refuse before anything runs: what launch itself finds missing later can leave started nodes behind.

    Raises:
        ParameterError: the package is not installed.
    """
    try:
        get_package_prefix(package)
    except LookupError as error:
        raise ParameterError(f"the package {package} is not installed; these arguments need it") from error


def simulator(given: Given, plant: Sequence[Any]) -> Node:
    """This package's simulator; with ``use_sim_time`` it is the one that publishes the time.

    Args:
        given: values as for :func:`node`, and of ``simulator_parameters``, which win over ``plant``.
        plant: parameters that tell what is simulated.
    """
    clock = {"publish_clock": given["use_sim_time"] == "true"}
    own = parameter_files(given["simulator_parameters"])
    # It makes the time: it must not wait for it.
    return node("simulator", {**given, "use_sim_time": "false"}, [clock, *plant, *own])


def step(executable: str, given: Given, package: str, **options: Any) -> Node:
    """A program that does one thing and ends, for :func:`in_turn`; options as for :func:`node`."""
    check_package(package)
    return Node(
        package=package, executable=executable, namespace=given["namespace"], output="screen", **options
    )


def spawner(controller: str, given: Given, parameters: str) -> Node:
    """The step that loads, configures and activates a controller of ros2_control.

    Args:
        controller: its name.
        given: value of ``namespace``.
        parameters: path of the controllers' YAML file.
    """
    timeouts = [
        *("--controller-manager-timeout", f"{MANAGER_TIMEOUT:g}"),
        *("--switch-timeout", f"{SWITCH_TIMEOUT:g}"),
    ]
    manager = ["--controller-manager", "controller_manager"]
    arguments = [controller, *manager, "--param-file", parameters, *timeouts]
    return step("spawner", given, "controller_manager", arguments=arguments, name=f"{controller}_spawner")


def in_turn(*steps: Node) -> list[Action]:
    """Steps of which each begins when the one before has ended well; a failure takes the launch down."""
    handlers = [
        RegisterEventHandler(OnProcessExit(target_action=done, on_exit=_after(done, following)))
        for done, following in zip(steps, [*steps[1:], None], strict=True)
    ]
    return [*handlers, steps[0]]


def _after(
    done: Node, following: Node | None
) -> Callable[[ProcessExited, LaunchContext], list[Action] | None]:
    def handle(event: ProcessExited, context: LaunchContext) -> list[Action] | None:
        if context.is_shutdown:
            return None
        if event.returncode != 0:
            return _shutdown(done.node_executable, event)
        return [following] if following else None

    return handle


def _shutdown(program: str, event: ProcessExited) -> list[Action]:
    """Take the launch down; what has failed makes ``ros2 launch`` fail too.

    Raises:
        RobotDynamicsError: the program has failed; launch logs it, stops everything and returns 1.
    """
    if event.returncode != 0:
        raise RobotDynamicsError(
            f"{program} has ended with exit code {event.returncode}: the launch goes down"
        )
    reason = f"{program} has ended"
    return [LogInfo(msg=f"{reason}: the launch goes down"), Shutdown(reason=reason)]


def parameter_files(*paths: str | Path) -> list[ParameterFile]:
    """Parameter files from paths that may be empty.

    Raises:
        ParameterError: a file does not exist.
    """
    given = [Path(path) for path in paths if str(path)]
    for path in given:
        if not path.is_file():
            raise ParameterError(f"the parameter file {path} does not exist")
    return [ParameterFile(str(path)) for path in given]


def description_parameter(text: str) -> dict[str, ParameterValue]:
    """The parameter ``robot_description``."""
    return text_parameter("robot_description", text)


def text_parameter(name: str, text: str) -> dict[str, ParameterValue]:
    """A parameter with an XML text, which must not be read as YAML."""
    return {name: ParameterValue(text, value_type=str)}
