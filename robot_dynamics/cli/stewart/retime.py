"""``robot_dynamics stewart retime``: slow a motion down to what the legs' speeds and forces permit."""

from __future__ import annotations

import argparse
import csv
import sys

import numpy as np

from robot_dynamics.cli.chain_source import number_within
from robot_dynamics.cli.machine_source import add_machine_and_motion, motion_table, one_input, platform_of
from robot_dynamics.cli.stewart.check import add_wrench_argument, wrench_of
from robot_dynamics.control.stewart.retiming import retime_motion
from robot_dynamics.errors import shown
from robot_dynamics.inputs.files import check_output, open_output
from robot_dynamics.stewart.motion_table import PLACE, QUATERNION, MotionTable


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Slow a motion down to what the legs' speeds and forces permit. Its poses stay; a motion that keeps"
        " its limits stays as it is. The result is verified at every moment, as stewart check does."
        " Exit code 0: the result keeps every limit; 1: it does not, with a line for each limit, or no timing"
        " makes the motion possible."
    )
    add_machine_and_motion(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.csv",
        required=True,
        help="file of the result: time, x, y, z, qx, qy, qz, qw",
    )
    parser.add_argument(
        "--fastest",
        action="store_true",
        help="use the fastest timing within the limits; default: only slow down",
    )
    parser.add_argument(
        "--margin",
        type=number_within(0.0, 0.99),
        default=0.0,
        metavar="SHARE",
        help="share of each speed and force limit that has to stay free (default: 0)",
    )
    add_wrench_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the motion and print what limits it."""
    wrench = wrench_of(arguments)
    one_input(arguments.machine, arguments.path)
    check_output(arguments.output)
    platform = platform_of(arguments.machine)
    table = motion_table(arguments.path, platform.machine, arguments)
    made = retime_motion(platform, table, wrench, arguments.fastest, arguments.margin)
    _write(arguments.output, made.table)
    for one in made.violations:
        time = float(made.table.time[0]) + one.time
        print(f"t = {time:.6g} s: {one.violation.message}", file=sys.stderr)
    before, after = (float(np.ptp(one.time)) for one in (table, made.table))
    verdict = "the result does not keep its limits" if made.violations else "every limit is kept"
    change = "stays as it is" if made.profile is None else f"{before:.3f} s become {after:.3f} s"
    print(f"{shown(arguments.path)}: {change}; {verdict}")
    print(shown(arguments.output))
    return 1 if made.violations else 0


def _write(path: str, table: MotionTable) -> None:
    rows = np.column_stack([table.time, table.position, table.orientation]).tolist()
    with open_output(path) as stream:
        csv.writer(stream, lineterminator="\n").writerow(["time", *PLACE, *QUATERNION])
        stream.write("".join(",".join(map(repr, row)) + "\n" for row in rows))
