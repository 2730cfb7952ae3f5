"""``robot_dynamics stewart check``: check that a platform can follow a motion within its limits."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from robot_dynamics.cli.chain_source import number
from robot_dynamics.cli.machine_source import (
    add_machine_and_motion,
    motion_table,
    note,
    one_input,
    platform_of,
)
from robot_dynamics.control.stewart.as_streamed import as_streamed
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.control.stewart.retiming import followed
from robot_dynamics.control.stewart.trajectory import trajectory_violations
from robot_dynamics.errors import ParameterError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.motion_table import MotionTable

RATE = 60.0
"""Rate of a stream where none is given [Hz]."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Whether a machine can follow a motion, at every moment of it: strokes, leg speeds, forces, joint"
        " angles and distance from singular poses, on the same curve through the poses that the node"
        " stewart_platform follows, from rest to rest. Exit code 0: it can; 1: a line for each limit that is"
        " not kept, with time, leg, value and limit."
    )
    add_machine_and_motion(parser)
    add_wrench_argument(parser)
    parser.add_argument(
        "--as-streamed",
        type=number,
        nargs="?",
        const=RATE,
        metavar="HZ",
        help=f"simulate the motion as a stream of poses ({RATE:g} Hz) through filter, limits and governor of"
        " the node with its default parameters: deviations, and the limit behind the largest one",
    )


def add_wrench_argument(parser: argparse.ArgumentParser) -> None:
    """Declare what presses on the platform."""
    parser.add_argument(
        "--wrench",
        type=number,
        nargs=6,
        default=(0.0,) * 6,
        metavar=("FX", "FY", "FZ", "MX", "MY", "MZ"),
        help="external force [N] and moment [N·m] on the platform at its origin, in its frame",
    )


def wrench_of(arguments: argparse.Namespace) -> Array:
    """(6,) force [N] and moment [N·m] of the argument.

    Raises:
        ParameterError: one that is not finite.
    """
    wrench = np.array(arguments.wrench)
    if not np.isfinite(wrench).all():
        raise ParameterError(f"--wrench {arguments.wrench} must be six finite numbers")
    return wrench


def run(arguments: argparse.Namespace) -> int:
    """Print the limits that are exceeded."""
    wrench = wrench_of(arguments)
    one_input(arguments.machine, arguments.path)
    platform = platform_of(arguments.machine)
    table = motion_table(arguments.path, platform.machine, arguments)
    if arguments.as_streamed is not None:
        if wrench.any():
            raise ParameterError("--as-streamed knows no --wrench")
        return _stream(platform, table, arguments.as_streamed)
    note(table.abrupt_ends())
    path = followed(table)
    found = trajectory_violations(platform, path, wrench)
    for one in found:
        time = float(table.time[0]) + one.time
        print(f"t = {time:.6g} s: {one.violation.message}", file=sys.stderr)
    if not found:
        print(f"{platform.machine.name} keeps its limits: {len(table.time)} poses, {path.duration:g} s")
    return 1 if found else 0


def _stream(platform: StewartPlatform, table: MotionTable, rate: float) -> int:
    """Print how limits change a stream; 1 where it deviates by more than is tolerated."""
    found, tolerated = (
        as_streamed(platform, RecordedMotion(table), rate),
        StewartParameters().stream_tolerance,
    )
    for k, (name, unit) in enumerate((("distance", "mm"), ("angle", "mrad"))):
        print(
            f"{name} from the motion {1e3 * found.lag:.3g} ms before: worst {1e3 * found.worst[k]:.3g} {unit}"
            f" at t = {float(table.time[0]) + found.times[k]:.6g} s, rms {1e3 * found.rms[k]:.3g} {unit}"
        )
    print(f"limit that changes the stream: {found.cause or 'none'}")
    return int(found.worst[0] > tolerated[0] or found.worst[1] > tolerated[1])
