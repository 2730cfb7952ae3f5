"""``robot_dynamics stewart report``: workspace, envelopes and loads of a platform as one page."""

from __future__ import annotations

import argparse
from pathlib import Path

from robot_dynamics.cli.machine_source import add_motion_arguments, motion_table, one_input, platform_of
from robot_dynamics.cli.needs import need
from robot_dynamics.inputs.files import check_folder


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "machine", metavar="MACHINE.yaml", help="the platform; - reads it from standard input"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", default=Path("report"), help="default: %(default)s"
    )
    parser.add_argument(
        "--motion",
        metavar="PATH.csv",
        help="a motion with the columns time; x, y, z, or surge, sway, heave from home; qx, qy, qz, qw, or"
        " roll, pitch, yaw; - for standard input; default: a swing along each direction",
    )
    add_motion_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the page and its tables."""
    need("the report", "matplotlib", "jinja2")
    from robot_dynamics.report.sizing.page import study, write

    check_folder(arguments.output)
    one_input(arguments.machine, arguments.motion)
    platform = platform_of(arguments.machine)
    motion = None if arguments.motion is None else motion_table(arguments.motion, platform.machine, arguments)
    title = "" if arguments.motion is None else Path(arguments.motion).name
    found = study(platform, motion, title)
    for path in write(found, arguments.output):
        print(f"wrote {path}")
    for message in found.loads.messages:
        print(f"not within limits: {message}")
    return 0
