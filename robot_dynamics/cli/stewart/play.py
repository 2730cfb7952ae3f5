"""``robot_dynamics stewart play``: a recorded motion on a running platform, sent as a stream."""

from __future__ import annotations

import argparse

from robot_dynamics.cli.chain_source import number, number_within
from robot_dynamics.cli.machine_source import PLATFORM, add_motion, motion_table, one_input, platform_of
from robot_dynamics.cli.needs import need
from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.errors import ParameterError, quoted


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Stream a motion to a running node stewart_platform, whose governor keeps the machine's limits"
        " whatever the motion is: first its first pose, then the motion, then a hold."
        " Exit code 1: the node refuses the motion, or does not answer; the last line says why."
    )
    parser.add_argument(
        "platform",
        nargs="?",
        metavar="MACHINE.yaml",
        help=f"{PLATFORM}; needed for a motion that is given from home",
    )
    add_motion(parser)
    parser.add_argument("--machine", metavar="MACHINE.yaml", help="the same as MACHINE.yaml before PATH.csv")
    parser.add_argument(
        "--lead",
        type=number,
        default=5.0,
        metavar="SECONDS",
        help="duration of the move to the first pose [s] (default: 5)",
    )
    parser.add_argument(
        "--node", default="stewart_platform", help="name of the platform's node (default: %(default)s)"
    )
    parser.add_argument(
        "--patience",
        type=number_within(0.1, 3600.0),
        default=30.0,
        metavar="SECONDS",
        help="longest wait for the node and for joint states [s] (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Play until the motion's end."""
    if not 0.0 < arguments.lead < 3600.0:
        raise ParameterError(f"--lead {arguments.lead:g} must be between 0 and 3600 s")
    if None not in (arguments.platform, arguments.machine):
        raise ParameterError(
            f"the machine is given twice, as {quoted(arguments.platform)} and by --machine: give it once"
        )
    need("playing", "rclpy")
    given = arguments.machine if arguments.platform is None else arguments.platform
    one_input(given, arguments.path)
    machine = None if given is None else platform_of(given).machine
    motion = RecordedMotion(motion_table(arguments.path, machine, arguments))
    from robot_dynamics.ros.recording.motion_player import play

    return play(motion, arguments.lead, arguments.node, arguments.patience)
