"""Parts of launch files: declared arguments, nodes, steps, other launch files.

A launch file names its arguments and gives a function that gets their values as text:

    def generate_launch_description() -> LaunchDescription:
        return describe(actions, "robot", *GRAPH)

    def actions(given: Given) -> list[Action]:
        return [node("simulator", given)]

The values are read while the file is visited: event handlers run later, when the arguments of an included
file are out of scope.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from launch import Action, LaunchContext, LaunchDescription, Substitution
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.resources import PACKAGE, resource
from robot_dynamics.ros.launching.arguments import ARGUMENTS, plain, refuse_near_misses, remappings
from robot_dynamics.ros.support.isolation import DEFAULT, TRANSPORTS, socket_variables

Given = Mapping[str, str]
"""Launch arguments with their values."""
WIDTH = 100
"""Columns of the arguments' descriptions in ``ros2 launch --show-args``."""
RESPAWN_DELAY = 1.0
"""Delay before a node that has ended is started again, with ``on_exit:=respawn`` [s]."""
END_TIMEOUT = 20.0
"""Time in which a node may stop its robot after Ctrl-C [s]; ``sigterm_timeout:=`` of launch changes it."""
MANAGER_TIMEOUT = 60.0
"""Longest wait for a controller manager, which is absent when Gazebo could not load it [s]."""
SWITCH_TIMEOUT = 10.0
"""Longest wait for the switch to a controller: a simulation that has just begun is slow [s]."""


class WhenArgument(Substitution):  # type: ignore[misc]
    """Default that depends on another argument: ``true`` when it has (``equal``) or has not a value."""

    def __init__(self, name: str, value: str, equal: bool = True) -> None:
        super().__init__()
        self._name, self._value, self._equal = name, value, equal

    def describe(self) -> str:
        """The default in ``ros2 launch --show-args``."""
        words = ("true", "false") if self._equal else ("false", "true")
        return f"'{words[0]}' with {self._name}:={self._value}, else '{words[1]}'"

    def perform(self, context: LaunchContext) -> str:
        """The value."""
        same = LaunchConfiguration(self._name).perform(context) == self._value
        return "true" if same == self._equal else "false"


def describe(
    actions: Callable[[Given], Iterable[Action]], *names: str, **defaults: str | Substitution
) -> LaunchDescription:
    """A launch description that declares arguments and acts on their values.

    Args:
        actions: function from the values by name to the actions.
        names: arguments in ``arguments.ARGUMENTS``.
        defaults: other defaults than there.
    """

    def visit(context: LaunchContext) -> list[Action]:
        refuse_near_misses(context.launch_configurations, names)
        return list(actions({name: plain(name, context.launch_configurations[name]) for name in names}))

    declared = []
    for name in names:
        text, default, choices = ARGUMENTS[name]
        # launch writes one line, however long, and appends the choices.
        lines = textwrap.fill(text, WIDTH, subsequent_indent=8 * " ") + ("\n       " if choices else "")
        default = defaults.get(name, default)
        declared.append(
            DeclareLaunchArgument(name, description=lines, default_value=default, choices=choices)
        )
    return LaunchDescription([*declared, OpaqueFunction(function=visit)])


def include(file: str, given: Given, *names: str, **values: str) -> GroupAction:
    """Another launch file of this package, with the named arguments passed on and further values."""
    arguments = {**{name: given[name] for name in names}, **values}
    return _scoped(resource(f"launch/{file}.launch.py"), arguments)


def include_from(package: str, file: str, given: Given, **values: str) -> GroupAction:
    """A launch file of another package, whose processes get the given transport."""
    check_package(package)
    variables = [SetEnvironmentVariable(*variable) for variable in transport(given).items()]
    return _scoped(Path(get_package_share_directory(package)) / "launch" / file, values, variables)


def _scoped(file: Path, arguments: Mapping[str, str], before: Sequence[Action] = ()) -> GroupAction:
    source = PythonLaunchDescriptionSource(str(file))
    included = IncludeLaunchDescription(source, launch_arguments=list(arguments.items()))
    return GroupAction([*before, included], scoped=True, forwarding=False)


def transport(given: Given) -> dict[str, str]:
    """Variables of a process for the argument ``transport``; none where the environment has chosen."""
    if given["transport"] == "sockets":
        return socket_variables(os.environ)
    # Nodes of this package would choose sockets by themselves.
    return {} if TRANSPORTS in os.environ else {TRANSPORTS: DEFAULT}


def step(executable: str, given: Given, package: str, **options: Any) -> Node:
    """A program that does one thing and ends, for :func:`in_turn`; further options of ``Node``."""
    check_package(package)
    return Node(
        package=package,
        executable=executable,
        namespace=given["namespace"],
        output="screen",
        additional_env=transport(given),
        **options,
    )


def node(
    executable: str,
    given: Given,
    parameters: Sequence[Any] = (),
    package: str = PACKAGE,
    may_close: bool = False,
    **options: Any,
) -> Node:
    """A node in the given namespace, on the given time, that ends as ``on_exit`` says.

    Args:
        executable: of the node.
        given: values of ``GRAPH``.
        parameters: dictionaries and parameter files; the later ones win.
        package: of the executable.
        may_close: the node's clean end is the user's wish, as with a window, and has no consequence; nor has
            any other end with ``on_exit:=respawn``.
        options: further ones of ``launch_ros.actions.Node``.
    """
    options.setdefault("remappings", []).extend(remappings(given))
    options.setdefault("sigterm_timeout", LaunchConfiguration("sigterm_timeout", default=str(END_TIMEOUT)))
    lasting = given["on_exit"] == "respawn"
    respawn = lasting and not may_close

    def end(event: ProcessExited, context: LaunchContext) -> list[Action] | None:
        if context.is_shutdown or (may_close and (lasting or event.returncode == 0)):
            return None
        return _shutdown(executable, event.returncode)

    return step(
        executable,
        given,
        package,
        parameters=[{"use_sim_time": given["use_sim_time"] == "true"}, *parameters],
        respawn=respawn,
        respawn_delay=RESPAWN_DELAY,
        on_exit=None if respawn else end,
        **options,
    )


def simulator(given: Given, plant: Sequence[Any]) -> Node:
    """This package's simulator, which publishes the time with ``use_sim_time``.

    Args:
        given: values of ``GRAPH`` and of ``simulator_parameters``, which win over ``plant``.
        plant: parameters of the simulated robot.
    """
    clock = {"publish_clock": given["use_sim_time"] == "true"}
    own = parameter_files(given["simulator_parameters"])
    # It makes the time: it must not wait for it.
    return node("simulator", {**given, "use_sim_time": "false"}, [clock, *plant, *own])


def spawner(controller: str, given: Given, parameters: str) -> Node:
    """The step that loads, configures and activates a controller; ``parameters`` is a YAML file."""
    words = ["--controller-manager", "controller_manager", "--param-file", parameters]
    words += [
        "--controller-manager-timeout",
        f"{MANAGER_TIMEOUT:g}",
        "--switch-timeout",
        f"{SWITCH_TIMEOUT:g}",
    ]
    name = f"{controller}_spawner"
    return step("spawner", given, "controller_manager", arguments=[controller, *words], name=name)


def in_turn(*steps: Node) -> list[Action]:
    """Steps of which each begins when the one before has ended well; a failure takes the launch down."""

    def after(done: Node, following: list[Node]) -> RegisterEventHandler:
        def handle(event: ProcessExited, context: LaunchContext) -> list[Action] | None:
            if context.is_shutdown:
                return None
            return following if event.returncode == 0 else _shutdown(done.node_executable, event.returncode)

        return RegisterEventHandler(OnProcessExit(target_action=done, on_exit=handle))

    return [*(after(done, list(steps[k + 1 : k + 2])) for k, done in enumerate(steps)), steps[0]]


def end_with(process: str, failed: Callable[[int], bool]) -> RegisterEventHandler:
    """Let the launch fail when a process of an included launch file, which may hide that, has failed.

    Args:
        process: its name there.
        failed: whether an exit code is a failure.
    """

    def handle(event: ProcessExited, context: LaunchContext) -> None:
        ours = re.fullmatch(rf"{process}-\d+", event.process_name)
        if ours and not context.is_shutdown and failed(event.returncode):
            raise _failure(process, event.returncode)

    return RegisterEventHandler(OnProcessExit(on_exit=handle))


def _shutdown(program: str, code: int) -> list[Action]:
    """Take the launch down; a program that has failed makes ``ros2 launch`` fail too."""
    if code != 0:
        raise _failure(program, code)
    reason = f"{program} has ended"
    return [LogInfo(msg=f"{reason}: the launch goes down"), Shutdown(reason=reason)]


def _failure(program: str, code: int) -> RobotDynamicsError:
    """launch logs it, stops everything and returns 1."""
    return RobotDynamicsError(f"{program} has ended with exit code {code}: the launch goes down")


def installed(package: str) -> bool:
    """Return whether a ROS package is installed."""
    try:
        get_package_prefix(package)
    except LookupError:
        return False
    return True


def check_package(package: str) -> None:
    """Raise ParameterError for a package that is not installed, before launch has started any node."""
    if not installed(package):
        raise ParameterError(f"the package {package} is not installed; these arguments need it")


def parameter_files(*paths: str | Path) -> list[ParameterFile]:
    """Parameter files from paths that may be empty; ParameterError for one that does not exist."""
    given = [Path(path) for path in paths if str(path)]
    for path in given:
        if not path.is_file():
            raise ParameterError(f"the parameter file {path} does not exist")
    return [ParameterFile(str(path)) for path in given]


def text_parameter(name: str, text: str) -> dict[str, ParameterValue]:
    """A parameter with an XML text, which must not be read as YAML."""
    return {name: ParameterValue(text, value_type=str)}


def description_parameter(text: str) -> dict[str, ParameterValue]:
    """The parameter ``robot_description``."""
    return text_parameter("robot_description", text)
