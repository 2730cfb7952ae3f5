"""``robot_dynamics generate``: a customised model as source code."""

from __future__ import annotations

import argparse
import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.cli.chain_source import (
    add_chain_arguments,
    add_gravity_argument,
    chain_of,
    description_file,
)
from robot_dynamics.cli.machine_source import is_machine, maintainer, note, piped, write_code
from robot_dynamics.controllers.cell import is_cell, read_cell
from robot_dynamics.controllers.package import ControllerPackage, Member
from robot_dynamics.controllers.parameters import given_parameters
from robot_dynamics.controllers.robot import GeneratedRobot
from robot_dynamics.dynamics.export import EXPORTED, LICENSE, Export, identifier
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.languages import LANGUAGES, language_named
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.errors import ModelError, ParameterError, quoted, shown
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.inputs.files import check_folder, read_bytes, write_files
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.driver_profile import driver_names, load_driver
from robot_dynamics.model.selection import ALL


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "For the YAML of a Stewart platform in place of a URDF: inverse kinematics with limits, forward"
        " kinematics, Jacobian, condition number, and exact actuator forces, with a payload as an argument,"
        " as C. Options: --output, --name, --cmake, --license. With --ros2-control (--output, --name,"
        " --maintainer): a ROS 2 package with a controller for leg drives that close the loop."
        " A YAML with the key robots is a cell: with --ros2-control (--output, --name, --maintainer) one"
        " package for all its robots."
    )
    add_chain_arguments(parser)
    parser.add_argument(
        "--language",
        choices=tuple(LANGUAGES),
        default="c",
        help="language of the source (default: %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", default=Path(), help="folder for the files; default: here"
    )
    parser.add_argument(
        "--quantity",
        action="append",
        choices=[*QUANTITIES, "all"],
        metavar="NAME",
        help=f"function to write, repeatable: {', '.join(QUANTITIES)} or all; default: {', '.join(EXPORTED)}",
    )
    parser.add_argument(
        "--wrench", action="store_true", help="inverse and forward dynamics take a tip wrench"
    )
    add_gravity_argument(parser)
    parser.add_argument(
        "--frame",
        metavar="LINK",
        help="moving link whose frame kinematic quantities are about, and with --ros2-control"
        " cartesian_impedance; default: the tip",
    )
    parser.add_argument(
        "--frames",
        metavar="LINK,...",
        help="moving links whose poses forward_kinematics gives at once, one matrix after the other",
    )
    parser.add_argument(
        "--axes",
        choices=("tip", "root"),
        help="axes of Jacobian and its rate: the frame's own or the root's",
    )
    parser.add_argument(
        "--objective",
        choices=[objective.option for objective in Objective],
        default=Objective.TIME.option,
        help="cost that the generator minimises: "
        + "; ".join(f"{objective.option}: {objective.value}" for objective in Objective)
        + "; default: %(default)s",
    )
    parser.add_argument(
        "--cmake",
        action="store_true",
        help="with --language c: a CMake package, where gravity, payload and friction are arguments of the"
        " functions; it has a C++ example and checks for ctest",
    )
    parser.add_argument(
        "--friction",
        action="store_true",
        help="with --language casadi: inverse and forward dynamics contain the friction of the description",
    )
    parser.add_argument(
        "--license",
        default=LICENSE,
        metavar="SPDX",
        help="licence that the files of a CMake package name; default: %(default)s, the only one with"
        " --ros2-control",
    )
    parser.add_argument(
        "--name",
        help="start of the file and function names; default: the robot's name. With --ros2-control the name"
        " of the package; default: the output folder's",
    )
    parser.add_argument(
        "--ros2-control",
        action="store_true",
        help="write a ROS 2 package (Jazzy and later): a chainable ros2_control controller and an"
        " inverse_dynamics_solver plugin of this robot",
    )
    parser.add_argument(
        "--parameters",
        metavar="FILE.yaml",
        help="with --ros2-control: parameter file whose values go into controllers.yaml, such as"
        " friction.yaml of identify",
    )
    parser.add_argument(
        "--maintainer",
        metavar="'NAME <ADDRESS>'",
        help="with --ros2-control: maintainer that package.xml names",
    )
    parser.add_argument(
        "--measured-joints",
        metavar="JOINTS",
        help="with --ros2-control: joints of the robot that another controller moves, separated by commas, or"
        " all for every joint outside the chain; the model takes their state",
    )
    parser.add_argument(
        "--driver",
        metavar="NAME",
        help="with --ros2-control: profile of the driver that gets the efforts"
        f" ({', '.join(driver_names())}), or the path of one (.yaml). It sets the default gravity and the"
        " update rate",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the files and say how to use them."""
    check_folder(arguments.output)
    given = piped(arguments.urdf)
    if not re.fullmatch(r"[\w.+() -]+", arguments.license, re.ASCII):
        raise ParameterError(f"--license {quoted(arguments.license)} is no SPDX expression")
    if given is None and is_machine(arguments.urdf) and is_cell(read_yaml(arguments.urdf, "machine file")):
        return _write_cell(arguments)
    if is_machine(arguments.urdf, given):
        return write_code(arguments, given)
    text = read_bytes(arguments.urdf, "URDF file", _unreadable) if given is None else given
    measured = arguments.measured_joints
    names = measured if measured in (None, ALL) else measured.split(",")
    chain = chain_of(arguments, text, measured=names)
    if not np.isfinite(arguments.gravity).all():
        raise ParameterError(f"gravity is {arguments.gravity}; expected three finite numbers")
    if arguments.cmake and arguments.language != "c":
        raise ParameterError(f"--cmake makes a package of C, not of {arguments.language}")
    if arguments.friction and arguments.language != "casadi":
        raise ParameterError("--friction is for --language casadi; in a CMake package it is an argument")
    origin = "standard input" if given is not None else Path(arguments.urdf).name
    source = f"{origin}, SHA-256 {hashlib.sha256(text).hexdigest()}"
    if arguments.driver and not arguments.ros2_control:
        raise ParameterError("--driver has a meaning only with --ros2-control")
    for name in ("parameters", "maintainer", "measured_joints"):
        if getattr(arguments, name) is not None and not arguments.ros2_control:
            option = name.replace("_", "-")
            raise ParameterError(f"--{option} has a meaning only with --ros2-control")
    if arguments.ros2_control:
        return _write_controllers(arguments, chain, text, source)
    wanted = arguments.quantity or EXPORTED
    export = Export(
        chain=chain,
        gravity=np.array(arguments.gravity, dtype=float),
        quantities=tuple(QUANTITIES if "all" in wanted else dict.fromkeys(wanted)),
        wrench=arguments.wrench,
        name=identifier(arguments.name or chain.name),
        cmake=arguments.cmake,
        friction=arguments.friction,
        options=_options(arguments),
        license=arguments.license,
        objective=next(o for o in Objective if o.option == arguments.objective),
        source=source,
    )
    language = language_named(arguments.language)
    paths = write_files(arguments.output, language.files(export))
    for path in paths:
        print(f"wrote {path}")
    print(language.usage(export, str(paths[0])))
    return 0


def _write_controllers(arguments: argparse.Namespace, chain: KinematicChain, text: bytes, source: str) -> int:
    """Write the ros2_control package of one robot."""

    def member(name: str) -> list[Member]:
        robot = GeneratedRobot(
            name=name,
            chain=chain,
            gravity=np.array(arguments.gravity, dtype=float),
            urdf=text,
            source=source,
            driver=load_driver(arguments.driver) if arguments.driver else None,
            frame=arguments.frame,
        )
        given = {} if arguments.parameters is None else given_parameters(arguments.parameters)
        return [Member(robot, parameters=given)]

    return _write_package(arguments, member)


def _refuse_other_outputs(arguments: argparse.Namespace) -> None:
    """ParameterError for options that choose what is written."""
    for name in ("quantity", "wrench", "cmake"):
        if getattr(arguments, name):
            raise ParameterError(f"--{name} has no meaning with --ros2-control, which writes a whole package")
    if arguments.license != LICENSE:
        raise ParameterError(
            f"--license {quoted(arguments.license)} cannot be with --ros2-control: the package contains the"
            f" control core of robot_dynamics, whose licence is {LICENSE}"
        )


def _write_cell(arguments: argparse.Namespace) -> int:
    """Write the ros2_control package of several robots."""
    if not arguments.ros2_control:
        raise ParameterError(
            f"{shown(arguments.urdf)} names robots, which makes a package: add --ros2-control"
        )
    of_one = (
        "root",
        "tip",
        "tips",
        "lock",
        "measured_joints",
        "srdf",
        "group",
        "driver",
        "parameters",
        "frame",
        "frames",
        "axes",
    )
    given = [name for name in of_one if getattr(arguments, name)]
    if tuple(arguments.gravity) != (0.0, 0.0, -9.81):
        given.append("gravity")
    if given:
        option = given[0].replace("_", "-")
        raise ParameterError(f"--{option} is for one robot; give it in {shown(arguments.urdf)}")
    return _write_package(arguments, lambda package: read_cell(arguments.urdf, package, description_file))


def _write_package(arguments: argparse.Namespace, members: Callable[[str], Sequence[Member]]) -> int:
    """Write the package of the robots that ``members`` makes for its name."""
    _refuse_other_outputs(arguments)
    output = Path(arguments.output)
    name = arguments.name or output.resolve().name
    given = {} if arguments.maintainer is None else {"maintainer": maintainer(arguments.maintainer)}
    package = ControllerPackage(name, members(name), **given)
    for path in write_files(output, package.files()):
        print(f"wrote {path}")
    print(f"build with: colcon build --packages-select {package.name}; {output}/README.md says the rest")
    if package.own_hardware:
        of = ", ".join(filter(None, package.own_hardware))
        note(
            [
                f"the description {f'of {of} ' if of else ''}has a ros2_control tag of its own: the launch"
                " file starts that hardware, and no simulation"
            ]
        )
    return 0


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Options for the quantities that take them, as far as they were given."""
    if arguments.frame and arguments.frames:
        raise ParameterError("give --frame or --frames, not both")
    frames = arguments.frames.split(",") if arguments.frames else None
    given = {"frame": arguments.frame, "frames": frames, "axes": arguments.axes}
    return {name: value for name, value in given.items() if value is not None}


def _unreadable(reason: str) -> ModelError:
    return ModelError(f"cannot read the robot: {reason}")
