"""How launch files start nodes, steps and other launch files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from launch import Action, LaunchContext
from launch.actions import (
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.resources import PACKAGE, resource
from robot_dynamics.ros.launching.arguments import remappings
from robot_dynamics.ros.launching.declared import Given
from robot_dynamics.ros.support.isolation import DEFAULT, TRANSPORTS, socket_variables

RESPAWN_DELAY = 1.0
"""Seconds after which a node that has ended is started again, with ``on_exit:=respawn``."""
MANAGER_TIMEOUT = 60.0
"""Seconds of patience for a controller manager, which is not there at all when Gazebo could not load it."""
SWITCH_TIMEOUT = 10.0
"""Seconds of patience for the switch to a controller: a simulation that has just begun is slow."""


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
        given: values of ``namespace``, ``use_sim_time``, ``on_exit`` and ``transport``.
        parameters: dictionaries and parameter files; the later ones win.
        package: where the executable is.
        may_close: the node's clean end is the user's wish, as with a window, and has no consequence; nor has
            any other end with ``on_exit:=respawn``.
        options: further ones of ``launch_ros.actions.Node``.
    """
    check_package(package)
    options.setdefault("remappings", []).extend(remappings(given))
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
        additional_env=transport(given),
        on_exit=None if respawn else end,
        **options,
    )


def installed(package: str) -> bool:
    """Whether a ROS package is there."""
    try:
        get_package_prefix(package)
    except LookupError:
        return False
    return True


def check_package(package: str) -> None:
    """Refuse before anything runs: what launch itself finds missing later can leave started nodes behind.

    Raises:
        ParameterError: the package is not installed.
    """
    if not installed(package):
        raise ParameterError(f"the package {package} is not installed; these arguments need it")


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
        package=package,
        executable=executable,
        namespace=given["namespace"],
        output="screen",
        additional_env=transport(given),
        **options,
    )


def end_with(process: str, failed: Callable[[int], bool]) -> RegisterEventHandler:
    """Let the launch fail when a process of an included launch file has failed, which may hide that.

    Args:
        process: its name there.
        failed: whether an exit code is a failure.

    Raises:
        RobotDynamicsError: it has; launch logs it, stops everything and returns 1.
    """

    def handle(event: ProcessExited, context: LaunchContext) -> None:
        ours = re.fullmatch(rf"{process}-\d+", event.process_name)
        if ours and not context.is_shutdown and failed(event.returncode):
            raise RobotDynamicsError(
                f"{process} has ended with exit code {event.returncode}: the launch goes down"
            )

    return RegisterEventHandler(OnProcessExit(on_exit=handle))


def spawner(controller: str, given: Given, parameters: str) -> Node:
    """The step that loads, configures and activates a controller of ros2_control.

    Args:
        controller: its name.
        given: values of ``namespace`` and ``transport``.
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
