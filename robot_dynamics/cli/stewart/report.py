"""``robot_dynamics stewart report``: workspace, envelopes and loads of a platform as one page."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robot_dynamics.cli.chain_source import number
from robot_dynamics.cli.demo import ProgressLine
from robot_dynamics.cli.machine_source import add_motion_arguments, motion_table, one_input, platform_of
from robot_dynamics.cli.needs import need
from robot_dynamics.errors import ParameterError, quoted, shown
from robot_dynamics.inputs.files import check_folder
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "machine", metavar="MACHINE.yaml", help="file of the platform; - reads standard input"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        default=Path("report"),
        help="folder of the page (default: %(default)s)",
    )
    parser.add_argument(
        "--motion",
        metavar="PATH.csv",
        help="motion with the columns time; x, y, z, or surge, sway, heave from home; qx, qy, qz, qw, or"
        " roll, pitch, yaw; - for standard input; default: a swing along each direction",
    )
    add_motion_arguments(parser)
    parser.add_argument(
        "--box",
        type=number,
        nargs=6,
        metavar=("X", "Y", "Z", "ROLL", "PITCH", "YAW"),
        help="proportions of the largest box around home: half sizes [m, degrees]; default: the reach",
    )
    parser.add_argument(
        "--payload",
        action="append",
        nargs=5,
        default=[],
        metavar=("NAME", "KG", "X", "Y", "Z"),
        help="load case, repeatable: mass on the platform and its place in the platform's frame [kg, m]",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the page and its tables."""
    need("the report", "matplotlib", "jinja2")
    from robot_dynamics.report.sizing.losses import loss_lines
    from robot_dynamics.report.sizing.page import study, write
    from robot_dynamics.report.sizing.verdict import verdict

    check_folder(arguments.output)
    one_input(arguments.machine, arguments.motion)
    platform = platform_of(arguments.machine)
    motion = None if arguments.motion is None else motion_table(arguments.motion, platform.machine, arguments)
    title = "" if arguments.motion is None else Path(arguments.motion).name
    progress = ProgressLine()
    found = study(
        platform, motion, title, _payloads(arguments.payload), _proportions(arguments.box), progress
    )
    progress("pictures", 0.95)
    paths = write(found, arguments.output)
    progress.clear()
    for path in paths:
        print(f"wrote {path}")
    for line in loss_lines(found.losses):
        print(line)
    for case in found.cases:
        for message in case.loads.messages:
            print(f"not within limits{f' with the load {shown(case.name)}' if case.name else ''}: {message}")
    print(verdict(platform.machine, found.cases)[1])
    return 0


def _payloads(given: list[list[str]]) -> dict[str, RigidBody]:
    """Point masses by the names of their load cases."""
    found: dict[str, RigidBody] = {}
    for name, *texts in given:
        try:
            mass, *place = (number(text) for text in texts)
        except (argparse.ArgumentTypeError, ValueError):
            raise ParameterError(f"--payload {quoted(name)}: {quoted(texts)} must be four numbers") from None
        if not (0.0 <= mass < 1e9 and np.isfinite(place).all()):
            raise ParameterError(f"--payload {quoted(name)}: the mass is {mass:g} kg; it must be 0 or more")
        if name in found or not name.isprintable() or not name.strip():
            raise ParameterError(f"--payload {quoted(name)}: give each load case a name of its own")
        found[name] = RigidBody(mass, np.array(place), np.zeros((3, 3)))
    return found


def _proportions(given: list[float] | None) -> Array | None:
    """Half sizes of a box [m, rad]."""
    if given is None:
        return None
    half = np.array(given)
    if not (np.isfinite(half).all() and half.min() >= 0.0 < half.max() <= 1e3):
        raise ParameterError(f"--box {given} must be six half sizes from 0 on, one of them above 0")
    half[3:] = np.radians(half[3:])
    return half
