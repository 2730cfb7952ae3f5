"""``robot_dynamics play``: move an arm along a file's path, or to a named pose, verified before it moves."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.cli import streams
from robot_dynamics.cli.chain_source import (
    add_backend_argument,
    add_chain_arguments,
    add_gravity_argument,
    chain_of,
    number_within,
    semantics_of,
)
from robot_dynamics.cli.check import add_load_arguments, limited_arm
from robot_dynamics.cli.demo import ProgressLine
from robot_dynamics.cli.needs import need
from robot_dynamics.cli.path_source import BAG_SUFFIXES, YAML_SUFFIXES, read_path
from robot_dynamics.cli.sending import add_sending_arguments, check_recording, left_out, send
from robot_dynamics.control.arm.path_check import check_path
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.errors import ParameterError, TrajectoryError, quoted
from robot_dynamics.inputs.files import exists

if TYPE_CHECKING:
    from robot_dynamics.identification.excitation.bounds import Bounds
    from robot_dynamics.identification.excitation.clearance import Clearance
    from robot_dynamics.identification.excitation.points import Points
    from robot_dynamics.model.chain import KinematicChain

DESCRIPTION = "/robot_description"
_STEP = 0.05
"""Between two places that are looked at for collisions [rad or m]."""
_FILES = (".csv", *YAML_SUFFIXES, *BAG_SUFFIXES)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Move an arm along a path, or to a named pose of its SRDF. The way from where it is to the path's"
        " start keeps clear of the floor and of the arm itself. Way and path are verified as robot_dynamics"
        " check does, before anything moves; Ctrl-C makes the arm hold. Exit code 0: the motion is over; 1:"
        " it was not sent, or the arm did not follow it."
    )
    add_chain_arguments(parser, optional=True)
    parser.set_defaults(urdf=DESCRIPTION)
    parser.add_argument(
        "motion",
        metavar="FILE|POSE",
        help="waypoints as for robot_dynamics check (CSV, YAML or bag), or the name of a pose of --srdf",
    )
    parser.add_argument(
        "--speed",
        type=number_within(0.01, 1.0),
        default=1.0,
        metavar="SHARE",
        help="speed as a share of the file's (default: %(default)s)",
    )
    parser.add_argument(
        "--approach-speed",
        type=number_within(0.01, 1.0),
        default=0.1,
        metavar="SHARE",
        help="speed to the file's first waypoint, or to the pose, as a share of what the arm can"
        " (default: %(default)s)",
    )
    add_sending_arguments(parser)
    add_gravity_argument(parser)
    add_load_arguments(parser)
    parser.add_argument(
        "--bag-topic", metavar="TOPIC", help="topic of the trajectory, where a bag has several"
    )
    add_backend_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Move the arm; 1 where nothing was sent."""
    need("play", "rclpy")
    check_recording(arguments)
    if arguments.urdf == "-" or arguments.motion == "-":
        raise ParameterError("play reads no standard input, where it asks: name files")
    chain = chain_of(arguments)
    model, rules, efforts = limited_arm(chain, arguments)
    from robot_dynamics.identification.excitation.bounds import Bounds

    bounds = Bounds.of(chain, {}, clearance=arguments.clearance)
    motion = _motion(arguments, chain)
    clearance = _clearance(arguments, chain, bounds)
    _check_clear(motion, bounds, clearance)

    def verified(whole: Points) -> str:
        spline = waypoint_spline(whole.time, whole.positions, whole.velocities, whole.accelerations)
        verdict = check_path(chain, model, spline, efforts, rules)
        if not verdict.exceeded:
            return ""
        return f"the motion {verdict.sentence}; slow it down with --speed or robot_dynamics retime"

    progress = ProgressLine()
    names = chain.joint_names
    sent = send(names, motion, bounds, clearance, arguments, arguments.approach_speed, progress, verified)
    return 0 if sent else 1


def _motion(arguments: argparse.Namespace, chain: KinematicChain) -> Points:
    """The path of the file, or the pose as a path of one point.

    Raises:
        RobotDynamicsError: neither a usable file nor a known pose.
    """
    from robot_dynamics.identification.excitation.points import Points

    name, semantics = arguments.motion, semantics_of(arguments)
    if exists(name) or Path(name).suffix.lower() in _FILES:
        read = read_path(name, chain.joint_names, arguments.bag_topic)
        for note in read.notes:
            streams.note(f"robot_dynamics: note: {note}")
        spline = read.spline()
        times = spline.times - spline.times[0]
        return Points(chain.joint_names, times, *spline.at(spline.times)).slower(arguments.speed)
    if semantics is None:
        raise ParameterError(
            f"{quoted(name)} is no file; for a named pose give --srdf FILE, which defines the poses"
        )
    place = np.array([semantics.pose(name, chain.joint_names)])
    return Points(chain.joint_names, np.zeros(1), place, np.zeros_like(place), np.zeros_like(place))


def _clearance(arguments: argparse.Namespace, chain: KinematicChain, bounds: Bounds) -> Clearance | None:
    """Distances of the arm's shapes; None where nothing can be said, with a note that says so."""
    from robot_dynamics.identification.excitation.clearance import Clearance

    semantics = semantics_of(arguments)
    touching = frozenset() if semantics is None else semantics.touching
    locked = dict(arguments.lock)
    found = Clearance(Path(arguments.urdf), chain, bounds, arguments.floor, locked=locked, touching=touching)
    for line in left_out(found):
        streams.note(f"robot_dynamics: note: {line}")
    return found if found.shaped else None


def _check_clear(motion: Points, bounds: Bounds, clearance: Clearance | None) -> None:
    """TrajectoryError where shapes touch on the way of a motion, between the samples of its quintics."""
    if clearance is None:
        return
    places = motion.positions
    if len(motion.time) > 1:
        spline = waypoint_spline(motion.time, motion.positions, motion.velocities, motion.accelerations)
        way = np.abs(np.diff(spline.at(np.linspace(0.0, motion.time[-1], 200))[0], axis=0)).max(axis=1).sum()
        count = 2 + int(way / _STEP)
        places = spline.at(np.linspace(0.0, motion.time[-1], count))[0]
    distance, names = clearance.least(places, bounds.clearance)
    if distance < bounds.clearance:
        how = "touch" if distance <= 0.0 else f"come within {1e3 * distance:.0f} mm"
        raise TrajectoryError(
            f"nothing was sent: {names} {how} on the motion; --clearance is {1e3 * bounds.clearance:.0f} mm"
        )
