"""``robot_dynamics excite``: excitation trajectory for the identification of an arm."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from robot_dynamics.cli import streams
from robot_dynamics.cli.chain_source import (
    add_chain_arguments,
    add_gravity_argument,
    add_payload_argument,
    chain_of,
    number,
    payloads_of,
    semantics_of,
    tips_of,
    whole_number,
    with_payloads,
)
from robot_dynamics.cli.demo import ProgressLine
from robot_dynamics.cli.needs import need
from robot_dynamics.cli.sending import (
    add_sending_arguments,
    check_recording,
    left_out,
    present_contact,
    send,
    where_is,
)
from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.files import check_output, open_output

if TYPE_CHECKING:
    from robot_dynamics.identification.excitation.bounds import Bounds
    from robot_dynamics.identification.excitation.clearance import Clearance
    from robot_dynamics.identification.excitation.plan import Excitation
    from robot_dynamics.identification.excitation.points import Points
    from robot_dynamics.model.chain import KinematicChain


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_chain_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE.yaml",
        help="trajectory_msgs/JointTrajectory",
    )
    parser.add_argument(
        "--range",
        metavar="JOINT=LO:HI",
        type=joint_range,
        action="append",
        default=[],
        help="range of a joint [rad or m]; may be repeated (default: its limits, or ±90° without any)",
    )
    parser.add_argument(
        "--effort", type=number, default=0.6, metavar="SHARE", help="share of the effort limits, 0.6 at most"
    )
    add_payload_argument(parser, "mass that may be at the tip without exceeding that share")
    add_series_arguments(parser, number)
    parser.add_argument(
        "--speeds",
        type=number,
        nargs="+",
        default=[1.0],
        metavar="SHARE",
        help="speeds of the runs, one after the other, as shares of the planned speed (default: 1)",
    )
    parser.add_argument(
        "--seed",
        type=whole_number,
        default=0,
        metavar="N",
        help="start of the search; another number gives a different motion (default: %(default)s)",
    )
    parser.add_argument(
        "--static",
        action="store_true",
        help="poses at rest, each from below and from above, for identify --payload --static",
    )
    parser.add_argument(
        "--poses", type=whole_number, default=5, metavar="N", help="with --static (default: %(default)s)"
    )
    add_gravity_argument(parser)
    parser.add_argument(
        "--send", action="store_true", help="show the motion, ask, and send it to the arm's controller"
    )
    parser.add_argument(
        "--speed",
        type=number,
        default=0.1,
        metavar="SHARE",
        help="speed of the sent motion as a share of the planned one (default: %(default)s)",
    )
    add_sending_arguments(parser)


def add_series_arguments(parser: argparse._ActionsContainer, period: Callable[[str], float]) -> None:
    """Declare the arguments of the motion's Fourier series; ``period`` reads the period."""
    parser.add_argument(
        "--period",
        type=period,
        default=20.0,
        metavar="S",
        help="period of the motion [s] (default: %(default)s)",
    )
    parser.add_argument(
        "--harmonics",
        type=whole_number,
        default=8,
        metavar="N",
        help="number of harmonics of the Fourier series (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Plan the motion, print its expected accuracy, and write it."""
    shown = arguments.send and not arguments.yes
    need("excite", "scipy", "mujoco", *["rclpy"] * arguments.send, *["viser"] * shown)
    from robot_dynamics.identification.excitation.points import Points
    from robot_dynamics.identification.excitation.report import prospect, report

    _check(arguments)
    check_recording(arguments)
    if arguments.record is not None and not arguments.send:
        raise ParameterError("--record is for a motion that is sent: add --send")
    if shown and arguments.urdf == "-":
        raise ParameterError(
            "--send shows the motion first, which needs the description as a file; or say --yes"
        )
    check_output(arguments.output)
    source = streams.read_input() if arguments.urdf == "-" else Path(arguments.urdf)
    chain = chain_of(arguments, source if isinstance(source, bytes) else None)
    progress = ProgressLine()
    try:
        clearance = clearance_of(arguments, source, chain)
        if arguments.static:
            motion, text = _static(arguments, chain, clearance, progress)
        else:
            excitation = planned(arguments, chain, clearance, progress)
            motion = Points.of(excitation)
            text = report(excitation, prospect(excitation, tuple(arguments.gravity)))
    finally:
        progress.clear()
    for line in left_out(clearance):
        text += f"\n{line}"
    with open_output(arguments.output) as stream:
        stream.write(motion.text(text))
    print(text)
    print(arguments.output)
    if not arguments.send:
        return 0
    bounds = bounds_of(arguments, chain)
    if not arguments.yes:
        _show(arguments, motion, bounds, progress)
    shapes = clearance if clearance.shaped else None
    slower = motion.slower(arguments.speed)
    send(chain.joint_names, slower, bounds, shapes, arguments, arguments.speed, progress)
    return 0


def _here(arguments: argparse.Namespace, chain: KinematicChain, clearance: Clearance, bounds: Bounds) -> None:
    """Look where the arm is, before the plan takes its time, and tell what it touches there."""
    here = where_is(chain.joint_names, arguments.topic)
    contact = present_contact(here, clearance if clearance.shaped else None, bounds)
    if contact:
        streams.note(f"robot_dynamics: note: {contact}")


def _show(arguments: argparse.Namespace, motion: Points, bounds: Bounds, progress: ProgressLine) -> None:
    from robot_dynamics.ros.live.excitation import show_motion
    from robot_dynamics.view.subject import ArmOptions

    options = ArmOptions(
        *(arguments.root, arguments.tip, dict(arguments.lock), 0.0, tuple(arguments.gravity)),
        tips_of(arguments),
    )
    show_motion(Path(arguments.urdf), options, motion, bounds, progress)
    progress.clear()


def bounds_of(arguments: argparse.Namespace, chain: KinematicChain) -> Bounds:
    """Bounds of the motion that the arguments ask for."""
    from robot_dynamics.identification.excitation.bounds import Bounds

    return Bounds.of(chain, dict(arguments.range), arguments.effort, arguments.clearance)


def clearance_of(arguments: argparse.Namespace, source: bytes | Path, chain: KinematicChain) -> Clearance:
    """Distances that the motion keeps; with ``--send``, what the arm touches now is said.

    Raises:
        RobotDynamicsError: MuJoCo is missing, or a link cannot keep clear of the floor.
    """
    from robot_dynamics.identification.excitation.clearance import Clearance

    bounds = bounds_of(arguments, chain)
    semantics = semantics_of(arguments)
    touching = frozenset() if semantics is None else semantics.touching
    locked = dict(arguments.lock)
    clearance = Clearance(source, chain, bounds, arguments.floor, locked=locked, touching=touching)
    if arguments.send:
        _here(arguments, chain, clearance, bounds)
    return clearance


def _carrying(arguments: argparse.Namespace, chain: KinematicChain) -> KinematicChain:
    return with_payloads(chain, payloads_of(arguments, chain))


def _static(
    arguments: argparse.Namespace, chain: KinematicChain, clearance: Clearance, progress: ProgressLine
) -> tuple[Points, str]:
    from robot_dynamics.identification.excitation.poses import plan_poses

    bounds, shapes = bounds_of(arguments, chain), clearance if clearance.shaped else None
    gravity, carrying = tuple(arguments.gravity), _carrying(arguments, chain)
    poses = plan_poses(chain, bounds, shapes, arguments.poses, gravity, carrying, progress)
    return poses.motion, poses.text(chain)


def planned(
    arguments: argparse.Namespace, chain: KinematicChain, clearance: Clearance, progress: ProgressLine
) -> Excitation:
    """Excitation trajectory.

    Raises:
        RobotDynamicsError: no such motion.
    """
    from robot_dynamics.dynamics.compiled import compile_dynamics
    from robot_dynamics.identification.excitation.plan import plan
    from robot_dynamics.identification.excitation.series import Series

    progress("compiling the regressor", 0.0)
    models = [compile_dynamics(chain, arguments.gravity, friction=False)]
    if arguments.payload:
        models.append(compile_dynamics(_carrying(arguments, chain), arguments.gravity, friction=False))
    series, bounds = Series(arguments.period, arguments.harmonics), bounds_of(arguments, chain)
    shapes, speeds = clearance if clearance.shaped else None, tuple(arguments.speeds)
    return plan(models, bounds, shapes, series, progress, arguments.seed, speeds=speeds)


def _check(arguments: argparse.Namespace) -> None:
    if not 1.0 <= arguments.period <= 600.0:
        raise ParameterError(f"--period {arguments.period:g}: must be 1 to 600 s")
    if not 2 <= arguments.harmonics <= 20:
        raise ParameterError(f"--harmonics {arguments.harmonics}: must be 2 to 20")
    if not 3 <= arguments.poses <= 50:
        raise ParameterError(f"--poses {arguments.poses}: must be 3 to 50")
    if not 0 <= arguments.seed < 2**31:
        raise ParameterError(f"--seed {arguments.seed}: must be 0 to {2**31 - 1}")
    if not 0.01 <= arguments.speed <= 1.0:
        raise ParameterError(f"--speed {arguments.speed:g}: must be 0.01 to 1")
    if len(arguments.speeds) > 5 or not all(0.01 <= speed <= 1.0 for speed in arguments.speeds):
        given = " ".join(f"{speed:g}" for speed in arguments.speeds)
        raise ParameterError(f"--speeds {given}: must be 1 to 5 numbers of 0.01 to 1")
    for _, mass in arguments.payload:
        if not 0.0 <= mass <= 1e4:
            raise ParameterError(f"--payload {mass:g}: must be 0 to 10000 kg")


def joint_range(text: str) -> tuple[str, tuple[float, float]]:
    """``JOINT=LO:HI`` as a name and two numbers."""
    name, equals, span = text.rpartition("=")
    low, colon, high = span.partition(":")
    if not (name and equals and colon):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not JOINT=LO:HI")
    return name, (number(low), number(high))
