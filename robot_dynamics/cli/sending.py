"""Motions sent to an arm by subcommands: looked at from where it is, approached, asked for, and followed."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.cli import streams
from robot_dynamics.cli.chain_source import number_within
from robot_dynamics.cli.demo import ProgressLine
from robot_dynamics.cli.needs import need
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.inputs.files import check_absent

if TYPE_CHECKING:
    from robot_dynamics.identification.excitation.bounds import Bounds
    from robot_dynamics.identification.excitation.clearance import Clearance
    from robot_dynamics.identification.excitation.points import Points
    from robot_dynamics.spatial import Array

_MOVED = 0.01
"""Largest motion of the arm while the user was asked [rad or m]."""
UNKNOWN_ARRIVED = 0.3
"""Farthest from the end of a motion where an arm with an unknown model counts as arrived [rad or m]."""
TOPIC = "computed_torque_controller/joint_trajectory"
OBSERVED = "following error and trajectory rules only warn during this motion (supervision: observe)"


def add_sending_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what keeps a motion clear, whether to ask, and who follows it."""
    parser.add_argument(
        "--floor",
        type=number_within(-1e3, 1e3),
        metavar="Z",
        help="height of the floor in the root frame [m]",
    )
    parser.add_argument(
        "--clearance",
        type=number_within(1e-4, 1.0),
        default=0.03,
        metavar="M",
        help="distance of collision shapes [m] (default: %(default)s)",
    )
    parser.add_argument("--yes", action="store_true", help="send without asking")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FOLDER",
        help="bag of the joint states during the motion; it must not exist yet",
    )
    parser.add_argument(
        "--observe",
        action="store_true",
        help="rules about trajectories and errors only warn during this motion (supervision: observe), for an"
        " arm whose masses are unknown",
    )
    parser.add_argument(
        "--topic",
        default=TOPIC,
        help="topic of the trajectories; the action follow_joint_trajectory is used where it is served"
        " (default: %(default)s)",
    )


def check_recording(arguments: argparse.Namespace) -> None:
    """Check that the motion can be recorded, where that is asked for.

    Raises:
        RobotDynamicsError: the folder exists already, or a package is missing.
    """
    if arguments.record is not None:
        need("recording", "rosbags")
        check_absent(arguments.record)


def where_is(joint_names: tuple[str, ...], topic: str) -> Array:
    """(n,) present positions of an arm [rad or m].

    Raises:
        RobotDynamicsError: no joint states of the arm come.
    """
    from robot_dynamics.ros.live.sending import Sender

    with Sender(joint_names, topic) as arm:
        return arm.where()


def present_contact(here: Array, clearance: Clearance | None, bounds: Bounds) -> str:
    """Words for what the arm touches where it is; empty where it keeps clear."""
    if clearance is None:
        return ""
    distance, names = clearance.least(here[None], bounds.clearance)
    if distance >= bounds.clearance:
        return ""
    how = "touch" if distance <= 0.0 else f"are {1e3 * distance:.0f} mm apart"
    return f"{names} {how} in the present pose"


def send(
    names: tuple[str, ...],
    motion: Points,
    bounds: Bounds,
    clearance: Clearance | None,
    arguments: argparse.Namespace,
    approach_speed: float,
    progress: ProgressLine,
    verified: Callable[[Points], str] | None = None,
    reference: str | None = None,
    errors: list[Array] | None = None,
) -> bool:
    """Send a motion behind the way to where it begins, and see it through; whether it was sent.

    Args:
        names: joints of the arm.
        motion: begins at rest.
        bounds: of the arm; the way there keeps shares of them.
        clearance: of the shapes; None where they are not looked at.
        arguments: those of :func:`add_sending_arguments`.
        approach_speed: share of the velocities on the way there.
        progress: called with reports of the motion.
        verified: gives the reason for which the whole motion may not be sent; empty when it may.
        reference: topic of the controller's reference; None: errors are not looked at.
        errors: gets the largest error of each joint (n,) [rad or m], empty without a reference; given for an
            arm whose model is not known, which may end farther from the motion's end.

    Raises:
        RobotDynamicsError: no arm, no way, a motion that is refused, or an arm that does not follow it.
    """
    from robot_dynamics.identification.excitation.approach import approach
    from robot_dynamics.ros.live.sending import ARRIVED, Sender
    from robot_dynamics.ros.recording.beside import recorded

    slow = replace(
        bounds,
        velocity=approach_speed * bounds.velocity,
        acceleration=approach_speed**2 * bounds.acceleration,
    )
    with Sender(names, arguments.topic, reference=reference) as arm:
        here = arm.where()
        contact = present_contact(here, clearance, bounds)
        if contact:
            streams.note(f"robot_dynamics: note: {contact}")
        try:
            way = approach(names, here, motion.positions[0], slow, clearance)
        except TrajectoryError as error:
            raise TrajectoryError(f"{error}{'; ' + contact if contact else ''}") from error
        whole = motion.after(way)
        reason = "" if verified is None else verified(whole)
        if reason:
            raise TrajectoryError(f"nothing was sent: {reason}")
        print(
            f"{way.time[-1]:.1f} s to where it begins, then {whole.time[-1] - way.time[-1]:.1f} s", flush=True
        )
        if arguments.observe:
            print(f"{OBSERVED}; overspeed and lost states end the motion as ever", flush=True)
        if not (arguments.yes or agreed("Is the arm's surrounding clear? Send it")):
            print("not sent")
            return False
        if np.abs(arm.where() - whole.positions[0]).max() > _MOVED:
            raise RobotDynamicsError("the arm has moved meanwhile; nothing was sent")
        unknown = errors is not None or arguments.observe
        try:
            with contextlib.ExitStack() as around:
                if arguments.observe:
                    around.enter_context(arm.observing())
                if arguments.record is not None:
                    around.enter_context(recorded(arguments.record, os.environ))
                arm.follow(whole, progress, UNKNOWN_ARRIVED if unknown else ARRIVED)
        except KeyboardInterrupt:
            progress.clear()
            print("holding: the motion was taken back")
            raise
        progress.clear()
        if errors is not None:
            errors.append(arm.largest_errors)
    if arguments.record is not None:
        print(arguments.record)
    print(f"the motion is over{'; ' + OBSERVED if arguments.observe else ''}", flush=True)
    return True


def agreed(question: str) -> bool:
    """Return whether the user answers a question with y; an end of the input is a no."""
    try:
        return input(f"{question} [y/N]? ").strip().lower() == "y"
    except EOFError:
        print()
        return False


def left_out(clearance: Clearance) -> list[str]:
    """Lines about what collisions are not looked at."""
    pairs = clearance.pairs
    lines = [f"touch wherever the arm is, so not looked at: {names}" for names in pairs.touching]
    lines += [f"not checked for collisions: {reason}" for reason in pairs.skipped]
    if not clearance.shaped:
        lines.append(
            "no collision shapes: NOTHING is known about collisions; look at the motion before it is sent"
        )
    return lines
