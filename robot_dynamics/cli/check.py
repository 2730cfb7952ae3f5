"""``robot_dynamics check``: verify a path of an arm against its limits, torque included."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.cli import streams
from robot_dynamics.cli.chain_source import (
    add_backend_argument,
    add_chain_arguments,
    add_gravity_argument,
    add_payload_argument,
    chain_of,
    number,
    number_within,
    payloads_of,
    whole_number,
    with_payloads,
)
from robot_dynamics.cli.machine_source import is_machine
from robot_dynamics.cli.needs import need
from robot_dynamics.cli.path_source import read_path
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.path_check import QUANTITIES, PathVerdict, check_path
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import ParameterError, RobotDynamicsError, quoted, shown
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.inputs.files import check_output
from robot_dynamics.model.driver_profile import driver_names, load_driver

if TYPE_CHECKING:
    from robot_dynamics.control.spline import QuinticSpline
    from robot_dynamics.model.chain import KinematicChain
    from robot_dynamics.spatial import Array

KEPT, EXCEEDED, UNUSABLE = 0, 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Whether an arm can follow a path, at every moment of it: position, velocity, acceleration and torque"
        " with friction, payload, gravity and rotor inertia. The path between the waypoints is the one that"
        " the nodes follow. The first line is the verdict; a table of the worst values follows. Exit code 0:"
        " every limit is kept; 1: one is not; 2: the input cannot be used."
    )
    add_path_arguments(parser)
    add_gravity_argument(parser)
    add_load_arguments(parser)
    parser.add_argument("--plot", metavar="FILE.png", help="picture of the torques against their limits")
    parser.add_argument(
        "--view",
        action="store_true",
        help="show the arm in a browser, with a slider along the path, red where it exceeds a limit",
    )
    parser.add_argument(
        "--port", type=whole_number, help="port of the web view (default: the first free one from 8080 on)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    add_backend_argument(parser)


def add_path_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arm and the path."""
    add_chain_arguments(parser)
    parser.add_argument(
        "path",
        metavar="PATH",
        help="waypoints: CSV with time, JOINT.position and where known JOINT.velocity, .acceleration; a"
        " JointTrajectory as YAML; or a bag; - reads CSV or YAML from standard input",
    )
    parser.add_argument("--topic", help="topic of the trajectory, where a bag has several")


def add_load_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the joints carry and what limits them."""
    add_payload_argument(parser, "mass at the tip")
    parser.add_argument(
        "--payload-center",
        type=number,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=("X", "Y", "Z"),
        help="centre of mass of the payload in the tip frame [m]",
    )
    parser.add_argument(
        "--drives", metavar="FILE.yaml", help="friction and rotor inertia, such as friction.yaml of identify"
    )
    parser.add_argument(
        "--limits", metavar="FILE.yaml", help="joint_limits.yaml of MoveIt: velocities and accelerations"
    )
    parser.add_argument(
        "--driver",
        metavar="DRIVER",
        help=f"profile of the driver ({', '.join(driver_names())}), or the path of one: its torque limits"
        " count beside the description's",
    )
    parser.add_argument(
        "--margin",
        type=number_within(0.0, 0.99),
        default=0.0,
        metavar="SHARE",
        help="share of each effort limit that has to stay free (default: 0)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print verdict and table."""
    try:
        verdict, view = _checked(arguments)
    except RobotDynamicsError as error:
        streams.complain(error)
        return UNUSABLE
    print(f"{shown(arguments.path)}: {verdict.sentence}")
    for line in table(verdict):
        print(line)
    if arguments.plot is not None:
        print(shown(arguments.plot))
    if view is not None:
        sys.stdout.flush()
        try:
            view()
        except RobotDynamicsError as error:
            streams.complain(error)
            return UNUSABLE
    return EXCEEDED if verdict.exceeded else KEPT


def _checked(arguments: argparse.Namespace) -> tuple[PathVerdict, Callable[[], None] | None]:
    """The verdict, and what shows the path where that is asked for."""
    if is_machine(arguments.urdf or ""):
        raise ParameterError(
            f"{shown(arguments.urdf)} is a Stewart platform: its motions are verified by robot_dynamics"
            " stewart check"
        )
    if arguments.plot is not None:
        check_output(arguments.plot)
    if arguments.view:
        need("--view", "viser")
    if arguments.port is not None and not 1 <= arguments.port <= 65535:
        raise ParameterError(f"port {arguments.port}: must be 1 to 65535")
    text = streams.read_input() if arguments.view and arguments.urdf == "-" != arguments.path else None
    chain, spline = path_of(arguments, text)
    model, rules, efforts = limited_arm(chain, arguments)
    verdict = check_path(chain, model, spline, efforts, rules)
    if arguments.plot is not None:
        from robot_dynamics.report.path_plots import torque_plot

        torque_plot(chain, model, spline, efforts, Path(arguments.plot))
    if not arguments.view:
        return verdict, None
    from robot_dynamics.cli.path_view import samples_of, show_path

    samples = samples_of(chain, model, spline, efforts, rules, verdict)
    source = arguments.urdf if text is None else text
    return verdict, partial(
        show_path, chain, source, samples, efforts, verdict, arguments.port, not arguments.no_browser
    )


def path_of(arguments: argparse.Namespace, text: bytes | None = None) -> tuple[KinematicChain, QuinticSpline]:
    """Arm and path that the arguments name; notes about the file go to standard error.

    Args:
        arguments: of the command.
        text: the description, where it has been read already.
    """
    if arguments.urdf == "-" and arguments.path == "-":
        raise ParameterError("URDF and PATH cannot both be read from standard input")
    chain = chain_of(arguments, text)
    read = read_path(arguments.path, chain.joint_names, arguments.topic)
    for note in read.notes:
        streams.note(f"robot_dynamics: note: {note}")
    return chain, read.spline()


def limited_arm(chain: KinematicChain, arguments: argparse.Namespace) -> tuple[ActuatedArm, PathRules, Array]:
    """Loaded arm, its limits of velocity and acceleration, and (n,) its effort limits less the margin."""
    model, rules = loaded_arm(chain, arguments), limits_of(arguments, chain)
    efforts = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])
    if arguments.driver is not None:
        efforts = np.minimum(efforts, load_driver(arguments.driver).torque_limits(chain.joint_names))
    return model, rules, (1.0 - arguments.margin) * efforts


def loaded_arm(chain: KinematicChain, arguments: argparse.Namespace) -> ActuatedArm:
    """Inverse dynamics with payload, gravity and actuators as the arguments have them."""
    if not np.isfinite(arguments.gravity).all():
        raise ParameterError(f"--gravity {arguments.gravity} must be three finite numbers")
    drives = ActuatorParameters()
    if arguments.drives is not None:
        from robot_dynamics.identification.files import read_drives

        drives = read_drives(arguments.drives, chain)
    carried = with_payloads(chain, payloads_of(arguments, chain, arguments.payload_center))
    dynamics = compile_dynamics(carried, arguments.gravity, arguments.backend, friction=False)
    return ActuatedArm(dynamics, chain, drives)


def limits_of(arguments: argparse.Namespace, chain: KinematicChain) -> PathRules:
    """Limits of velocity and acceleration from MoveIt's joint_limits.yaml."""
    if arguments.limits is None:
        return PathRules()
    document = read_yaml(arguments.limits, "file of limits", ParameterError)
    joints = document.get("joint_limits", document)
    if not isinstance(joints, dict):
        raise ParameterError(f"{shown(arguments.limits)}: joint_limits must be a mapping of joints")
    found: dict[str, dict[str, float]] = {"velocity": {}, "acceleration": {}}
    for name, entry in joints.items():
        for kind, limits in found.items():
            if name not in chain.joint_names or not isinstance(entry, dict):
                continue
            value, there = entry.get(f"max_{kind}"), entry.get(f"has_{kind}_limits", True)
            if value is None or there is False:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < np.inf:
                raise ParameterError(
                    f"{shown(arguments.limits)}: max_{kind} of {shown(name)} is {quoted(value)}; it must be a"
                    " positive number"
                )
            limits[name] = float(value)
    return PathRules(velocity=found["velocity"], acceleration=found["acceleration"])


def table(verdict: PathVerdict) -> list[str]:
    """Lines with the worst values of each joint."""
    width = max(len("joint"), *(len(shown(one.joint)) for one in verdict.findings))
    lines = [f"{'joint':<{width}}  quantity       worst        limit        share  at [s]"]
    for one in verdict.findings:
        limit = f"{one.limit:.4g}" if np.isfinite(one.limit) else "none"
        share = f"{100.0 * one.share:.1f} %" if np.isfinite(one.limit) else "-"
        name = shown(one.joint) if one.quantity == QUANTITIES[0] else ""
        unit = f"{one.value:.4g} {one.unit}"
        mark = "  exceeded" if one.exceeded else ""
        lines.append(
            f"{name:<{width}}  {one.quantity:<12}  {unit:<14} {limit:<9} {share:>9}  {one.time:.3f}{mark}"
        )
    return lines
