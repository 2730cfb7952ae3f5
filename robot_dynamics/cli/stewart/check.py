"""``robot_dynamics stewart check``: check that a platform can follow a motion within its limits."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from robot_dynamics.cli.chain_source import number
from robot_dynamics.cli.machine_source import add_motion_arguments, motion_table, one_input, platform_of
from robot_dynamics.control.stewart.trajectory import (
    PoseTrajectory,
    PoseWaypoint,
    at_rest,
    smooth_pose,
    trajectory_violations,
)
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.stewart.motion_table import MotionTable
from robot_dynamics.stewart.orientation import rotation_from_quaternion


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Whether a machine can follow a motion, at every moment of it: strokes, leg speeds, forces, joint"
        " angles and distance from singular poses, on the same curve through the poses that the node"
        " stewart_platform follows, from rest to rest. Exit code 0: it can; 1: a line for each limit that is"
        " not kept, with time, leg, value and limit."
    )
    parser.add_argument("machine", metavar="MACHINE.yaml", help="the platform; - reads standard input")
    parser.add_argument(
        "path",
        metavar="PATH.csv",
        help="poses: columns time; x, y, z, or surge, sway, heave from home; qx, qy, qz, qw, or roll, pitch,"
        " yaw; - reads standard input",
    )
    add_motion_arguments(parser)
    parser.add_argument(
        "--wrench",
        type=number,
        nargs=6,
        default=(0.0,) * 6,
        metavar=("FX", "FY", "FZ", "MX", "MY", "MZ"),
        help="external force [N] and moment [N·m] on the platform at its origin, in its frame",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the limits that are exceeded."""
    wrench = np.array(arguments.wrench)
    if not np.isfinite(wrench).all():
        raise ParameterError(f"--wrench {arguments.wrench} must be six finite numbers")
    one_input(arguments.machine, arguments.path)
    platform = platform_of(arguments.machine)
    table = motion_table(arguments.path, platform.machine, arguments)
    path = _followed(table)
    found = trajectory_violations(platform, path, wrench)
    for one in found:
        time = float(table.time[0]) + one.time
        print(f"t = {time:.6g} s: {one.violation.message}", file=sys.stderr)
    if not found:
        print(f"{platform.machine.name} keeps its limits: {len(table.time)} poses, {path.duration:g} s")
    return 1 if found else 0


def _followed(table: MotionTable) -> PoseTrajectory:
    """The motion as the controller would follow it; its time begins at zero."""
    if len(table.time) < 2:
        raise TrajectoryError("a motion needs at least two poses")
    origin = at_rest(table.position[0], rotation_from_quaternion(table.orientation[0]))
    rows = zip(
        (table.time - table.time[0]).tolist(),
        table.position.tolist(),
        table.orientation.tolist(),
        strict=True,
    )
    return smooth_pose([PoseWaypoint(*row) for row in rows][1:], 0.0, origin, 0.0)
