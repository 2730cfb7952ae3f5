"""Stewart platforms' YAML files in subcommands that also take a robot's description."""

from __future__ import annotations

import argparse
import hashlib
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robot_dynamics.cli import streams
from robot_dynamics.cli.chain_source import description_file, number, shipped
from robot_dynamics.errors import ParameterError, StewartModelWarning, quoted, shown
from robot_dynamics.inputs.files import decoded, read_bytes, write_files
from robot_dynamics.inputs.tables import text_lines
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.motion_table import (
    SI,
    TURNS,
    MotionTable,
    MotionUnits,
    looks_like_millimetres,
    looks_like_offsets,
    parse_motion,
    read_motion,
)
from robot_dynamics.stewart.platform import StewartPlatform, load

SUFFIXES = (".yaml", ".yml")
PLATFORM = "file of the platform, or the name of a shipped one, such as stewart_demo"
"""Help text of an argument that is read by :func:`platform_of`."""


def is_machine(path: str, text: bytes | None = None) -> bool:
    """Return whether a file name, or the text of standard input for "-", is a platform's YAML."""
    if path == "-":
        begin = (text or b"").lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        return begin not in (b"", b"<")
    return Path(path).suffix.lower() in SUFFIXES


def piped(path: str) -> bytes | None:
    """Text of standard input, where ``path`` is "-"."""
    return streams.read_input() if path == "-" else None


def refuse_chain_options(arguments: argparse.Namespace) -> None:
    """ParameterError where options were given that only an arm has."""
    given = {
        "--root": arguments.root,
        "--tip": arguments.tip,
        "--lock": arguments.lock,
        "--gravity": tuple(arguments.gravity) != (0.0, 0.0, -9.81),
        **{f"--{name}": getattr(arguments, name, None) for name in ("quantity", "wrench", "friction")},
    }
    for option, value in given.items():
        if value not in (None, False) and value != []:
            raise ParameterError(f"{option} is for an arm; {shown(arguments.urdf)} is a Stewart platform")


def platform_of(path: str, text: bytes | None = None) -> StewartPlatform:
    """The machine; warnings about its file go to standard error.

    Args:
        path: of the YAML file, or name of a shipped platform; "-" for standard input.
        text: what came from there, where it has been read already.
    """
    source: Path | str = Path(description_file(path))
    if path == "-":
        source = decoded(streams.read_input() if text is None else text, "standard input") + "\n"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StewartModelWarning)
        platform = load(source)
    for warning in caught:
        streams.note(f"robot_dynamics: warning: {warning.message}")
    return platform


def add_machine_and_motion(parser: argparse.ArgumentParser) -> None:
    """Declare a machine's file, and a motion of it as absolute poses or offsets from home."""
    parser.add_argument("machine", metavar="MACHINE.yaml", help=f"{PLATFORM}; - reads standard input")
    add_motion(parser)


def add_motion(parser: argparse.ArgumentParser) -> None:
    """Declare a motion of a platform, with the meaning of its columns."""
    parser.add_argument(
        "path",
        metavar="PATH.csv",
        help="poses: columns time; x, y, z, or surge, sway, heave from home; qx, qy, qz, qw, or roll, pitch,"
        " yaw; or the name of a shipped motion, such as stewart_demo_motion; - reads standard input",
    )
    add_motion_arguments(parser)


def add_motion_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how the columns of a motion's CSV file are meant."""
    parser.add_argument(
        "--from-home", action="store_true", help="positions and orientations are offsets from home"
    )
    parser.add_argument("--millimetres", action="store_true", help="positions are in mm; default: m")
    parser.add_argument(
        "--degrees", action="store_true", help="roll, pitch, yaw are in degrees; default: rad"
    )
    parser.add_argument(
        "--low-pass",
        type=number,
        metavar="HZ",
        help="cut-off frequency of the zero-phase low-pass filter of the motion [Hz]; default: no filter",
    )


def motion_table(
    path: str, machine: Machine | None = None, options: argparse.Namespace | None = None
) -> MotionTable:
    """The motion of a CSV file, of a name, or of standard input for "-"; notes go to standard error.

    Args:
        path: of the file, or name of a shipped motion.
        machine: has the home pose; None where only absolute poses are usable.
        options: those of :func:`add_motion_arguments`; None: the defaults.

    Raises:
        ParameterError: the poses are offsets from home, and there is no machine.
    """
    units, cutoff = SI, None
    if options is not None:
        length, angle = 1e-3 if options.millimetres else 1.0, TURNS["deg"] if options.degrees else 1.0
        units, cutoff = MotionUnits(length, angle, options.from_home), options.low_pass
    if path != "-":
        table = read_motion(shipped(path, f"config/{path}.csv"), units)
    else:
        table = parse_motion(text_lines(streams.opened_input(), "standard input"), "standard input", units)
    if table.ignored:
        names = ", ".join(map(shown, table.ignored[:10]))
        streams.note(f"robot_dynamics: note: columns left aside: {names}")
    if machine is None and table.from_home:
        raise ParameterError("the motion is given from home: name the machine's file with --machine")
    if machine is not None:
        if looks_like_millimetres(table, machine):
            farthest = float(np.linalg.norm(table.position, axis=1).max())
            streams.note(
                f"robot_dynamics: note: the motion goes {farthest:.3g} m far: are its positions in"
                " millimetres? Then add --millimetres"
            )
        elif looks_like_offsets(table, machine):
            home = ", ".join(f"{value:g}" for value in machine.home_position)
            streams.note(
                "robot_dynamics: note: the motion begins far from home, which is at"
                f" ({home}) m: are its poses offsets from home? Then add --from-home"
            )
        table = table.placed(machine)
    if cutoff is not None:
        return table.low_passed(cutoff)
    note(table.hints())
    return table


def note(hints: Sequence[str]) -> None:
    """Print remarks on a motion on standard error."""
    for hint in hints:
        streams.note(f"robot_dynamics: note: {hint}")


def forces_along(arguments: argparse.Namespace, text: bytes | None) -> tuple[list[str], Array]:
    """Columns and values (N, 7) of the actuator forces for the motion of ``arguments.states``.

    Args:
        arguments: with the machine's file and its motion.
        text: of the machine, where it came from standard input.
    """
    from robot_dynamics.control.stewart.recorded import RecordedMotion
    from robot_dynamics.stewart.compiled import pack
    from robot_dynamics.stewart.orientation import quaternion_from_rotation

    refuse_chain_options(arguments)
    platform = platform_of(arguments.urdf, text)
    table = motion_table(arguments.states, platform.machine)
    if len(table.time) == 1:
        motion: Motion = platform.motion(table.position, table.orientation)
    else:
        motion = RecordedMotion(table).at(table.time)
        streams.note("robot_dynamics: note: velocities and accelerations follow from the smoothest curve")
    for violation in platform.inverse_dynamics_of(motion, on_violation="report").violations[:10]:
        streams.note(f"robot_dynamics: note: {violation.message}")
    forces = platform.compile(arguments.backend).actuator_forces(
        pack(motion.position, quaternion_from_rotation(motion.rotation), *motion[2:])
    )
    columns = ["time", *(f"{shown(name)}.effort" for name in platform.machine.leg_names)]
    return columns, np.column_stack([table.time, forces])


def one_input(machine: str | None, motion: str | None) -> None:
    """ParameterError where two things were to come from standard input."""
    if machine == "-" == motion:
        raise ParameterError("machine and motion cannot both be read from standard input")


def _write_leg_package(arguments: argparse.Namespace, machine: Machine, source: str) -> int:
    """Write the ros2_control package of the leg drives."""
    from robot_dynamics.controllers.leg_package import LegPackage

    if arguments.cmake:
        raise ParameterError("--cmake has no meaning with --ros2-control, which writes a whole package")
    output = Path(arguments.output)
    given = {} if arguments.maintainer is None else {"maintainer": maintainer(arguments.maintainer)}
    package = LegPackage(arguments.name or output.resolve().name, machine, source, **given)
    for path in write_files(output, package.files()):
        print(f"wrote {path}")
    print(f"build with: colcon build --packages-select {package.name}; {output}/README.md says the rest")
    return 0


def maintainer(text: str) -> tuple[str, str]:
    """Name and address of a maintainer.

    Raises:
        ParameterError: the text is not 'NAME <ADDRESS>'.
    """
    match = re.fullmatch(r"\s*([^<>]*[^<>\s])\s*<([^<>@\s]+@[^<>@\s]+)>\s*", text)
    if match is None:
        raise ParameterError(f"--maintainer {quoted(text)} is not 'NAME <ADDRESS>'")
    return match[1], match[2]


def write_code(arguments: argparse.Namespace, text: bytes | None) -> int:
    """Write the machine's kinematics and forces as C; ``text`` is what came from standard input."""
    from robot_dynamics.dynamics.export import identifier
    from robot_dynamics.stewart.cmake_package import package_files
    from robot_dynamics.stewart.export import c_files

    refuse_chain_options(arguments)
    for option in ("driver", "parameters"):
        if getattr(arguments, option) is not None:
            raise ParameterError(f"--{option} is for an arm; {shown(arguments.urdf)} is a Stewart platform")
    if arguments.language != "c":
        raise ParameterError(f"--language {arguments.language}: a machine is written as c")
    platform = platform_of(arguments.urdf, text)
    data = read_bytes(arguments.urdf, "machine file") if text is None else text
    origin = "standard input" if arguments.urdf == "-" else Path(arguments.urdf).name
    source = f"{origin}, SHA-256 {hashlib.sha256(data).hexdigest()}"
    if arguments.ros2_control:
        return _write_leg_package(arguments, platform.machine, source)
    name = identifier(arguments.name or platform.machine.name)
    if arguments.cmake:
        texts = package_files(platform.machine, name, source, arguments.license)
    else:
        texts = c_files(platform.machine, name, source)
    paths = write_files(arguments.output, texts)
    for path in paths:
        print(f"wrote {path}")
    if arguments.cmake:
        steps = "cmake -B build && cmake --build build && ctest --test-dir build"
        print(f"build with: {steps}, in {arguments.output}")
        return 0
    sources = " ".join(str(path) for path in paths if path.suffix == ".c")
    print(f"compile with: cc -O2 -c {sources} (and link with -lm)")
    return 0
