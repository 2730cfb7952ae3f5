"""``robot_dynamics view``: a robot's description, moving in a browser with its torques."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from robot_dynamics.cli import streams
from robot_dynamics.cli.chain_source import (
    add_gravity_argument,
    add_part_arguments,
    description_file,
    ends_of,
    number_within,
    semantics_of,
    whole_number,
)
from robot_dynamics.cli.demo import ProgressLine
from robot_dynamics.cli.machine_source import is_machine, piped, platform_of
from robot_dynamics.cli.needs import need
from robot_dynamics.errors import ParameterError, escaped, quoted, shown
from robot_dynamics.inputs.files import check_output, is_regular, open_output

if TYPE_CHECKING:
    from robot_dynamics.model.srdf import SemanticDescription
    from robot_dynamics.ros.live.session import Exhibit

INTERRUPTED = 130
"""Exit code of a tour without a result."""
MOST_SAID = 3
"""Lines about what cannot be drawn; the page counts the rest."""
HEAVIEST = 1e9
"""Largest payload [kg]."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "Controller, simulator and page run in a ROS domain of their own, on this machine only: no real\n"
        "robot can hear them."
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        type=description_file,
        help="URDF or xacro of an arm, YAML of a Stewart platform, the name of a shipped robot, such as"
        " puma560, or the topic of a running one, such as /robot_description; - reads standard input",
    )
    parser.add_argument("arguments", nargs="*", metavar="NAME:=VALUE", help="arguments of the xacro")
    add_part_arguments(parser)
    parser.add_argument("--pose", metavar="NAME", help="pose of the semantic description to begin in")
    parser.add_argument(
        "--payload",
        type=number_within(0.0, HEAVIEST),
        default=0.0,
        metavar="KG",
        help="mass at the tip, or at every tip [kg]",
    )
    add_gravity_argument(parser)
    parser.add_argument(
        "--parameters",
        type=Path,
        metavar="FILE",
        help="ROS parameters of controller and simulator (YAML); - reads standard input",
    )
    parser.add_argument(
        "--port", type=whole_number, help="port of the web view (default: the first free one from 8080 on)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--realtime", action="store_true", help="run by the wall clock instead of in lockstep"
    )
    parser.add_argument("--tour", action="store_true", help="move every joint gently through its range")
    parser.add_argument(
        "--exit",
        action="store_true",
        help="make the tour, then end; exit code 0 for success, else 1",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the result of the tour; needs --tour"
    )


def run(arguments: argparse.Namespace) -> int:
    """Show the robot until Ctrl-C, or until the tour is over."""
    need("view", "rclpy", "mujoco", "viser")
    from robot_dynamics.ros.live.session import SessionOptions, show

    _check(arguments)
    progress = ProgressLine()
    options = SessionOptions(
        port=arguments.port,
        realtime=arguments.realtime,
        tour=arguments.tour or arguments.exit,
        leave=arguments.exit,
        browser=not arguments.no_browser,
        parameters=arguments.parameters,
    )
    given = piped(arguments.file)
    with ExitStack() as stack:
        if options.parameters == Path("-"):  # the nodes read a file
            options = replace(options, parameters=_kept(streams.read_input(), "parameters.yaml", stack))
        if is_machine(arguments.file, given):
            exhibit = _stewart(arguments, given, stack)
        else:
            exhibit = _arm(arguments, given, progress)
        try:
            verdict = show(exhibit, options, progress.say, progress)
        except KeyboardInterrupt:
            progress.clear()
            return INTERRUPTED if options.leave else 0
    if verdict is None:
        return 0
    progress.clear()
    if arguments.json is not None:
        with open_output(arguments.json) as stream:
            stream.write(json.dumps(verdict.report(), indent=2, ensure_ascii=False) + "\n")
    largest = max(verdict.worst_tracking_error.values())
    print(f"tour: {verdict.failure or f'every joint moved, largest error {largest:.1e}'}")
    return 1 if verdict.failure else 0


def _check(arguments: argparse.Namespace) -> None:
    for argument in arguments.arguments:
        if ":=" not in argument:
            raise ParameterError(f"{argument!r} is not NAME:=VALUE")
    if arguments.port is not None and not 1 <= arguments.port <= 65535:
        raise ParameterError(f"port {arguments.port}: must be 1 to 65535")
    if arguments.file == "-" == str(arguments.parameters):
        raise ParameterError("FILE and --parameters cannot both be read from standard input")
    if arguments.parameters not in (None, Path("-")) and not is_regular(arguments.parameters):
        raise ParameterError(f"no such parameter file: {escaped(str(arguments.parameters), kept='')}")
    if arguments.json is not None and not (arguments.tour or arguments.exit):
        raise ParameterError("--json writes the verdict of a tour: add --tour or --exit")
    if arguments.json is not None:
        check_output(arguments.json)


def _arm(arguments: argparse.Namespace, text: bytes | None, progress: ProgressLine) -> Exhibit:
    from robot_dynamics.ros.live.arm import ArmExhibit
    from robot_dynamics.view.mesh_files import unreadable
    from robot_dynamics.view.robot_geometry import read_robot
    from robot_dynamics.view.subject import ArmOptions, arm_subject, description_text

    path = Path(arguments.file)
    values = dict(argument.split(":=", 1) for argument in arguments.arguments)
    folder = "" if arguments.file == "-" else str(path.resolve().parent)
    description = description_text(path, values, text)
    semantics = semantics_of(arguments)
    root, tip, tips = ends_of(arguments, description.encode())
    options = ArmOptions(
        root=root,
        tip=tip,
        locked=dict(arguments.lock),
        payload=arguments.payload,
        gravity=tuple(arguments.gravity),
        tips=tips,
        folder=Path(folder) if folder else None,
        pose=None if arguments.pose is None else _pose(arguments.pose, semantics),
        touching=frozenset() if semantics is None else semantics.touching,
    )
    subject = arm_subject(description, options)
    for note in subject.notes:
        progress.say(f"{subject.chain.name}: {note}")
    geometry = read_robot(subject.text, Path(folder) if folder else None, unreadable)
    for line in geometry.skipped[:MOST_SAID]:
        progress.say(f"{subject.chain.name}: {line}")
    return ArmExhibit(subject, options, geometry, folder)


def _pose(name: str, semantics: SemanticDescription | None) -> tuple[str, Mapping[str, float]]:
    if semantics is None:
        raise ParameterError(f"--pose {quoted(name)} needs --srdf FILE, which defines the poses")
    if name not in semantics.states:
        raise ParameterError(
            f"{semantics.label}: no pose {quoted(name)}; there are {shown(*semantics.states) or 'none'}"
        )
    return name, semantics.states[name]


def _stewart(arguments: argparse.Namespace, text: bytes | None, stack: ExitStack) -> Exhibit:
    from robot_dynamics.ros.live.stewart import StewartExhibit

    if (
        arguments.arguments
        or arguments.tip
        or arguments.tips
        or arguments.root
        or arguments.lock
        or arguments.payload
        or arguments.srdf
        or arguments.group
        or arguments.pose
    ):
        raise ParameterError("a Stewart platform has no chain to choose and no xacro arguments")
    platform = platform_of(arguments.file, text)
    # The nodes read a file.
    file = Path(arguments.file) if text is None else _kept(text, "machine.yaml", stack)
    return StewartExhibit(platform, str(file.resolve()))


def _kept(data: bytes, name: str, stack: ExitStack) -> Path:
    """A file of that name with the data, in a folder that goes with the stack."""
    file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="robot_dynamics_")), name)
    file.write_bytes(data)
    return file
