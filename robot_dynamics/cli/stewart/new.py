"""``robot_dynamics stewart new``: the commented file of a platform, to start a design from."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robot_dynamics.cli.chain_source import number
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.inputs.files import check_output, exists, open_output
from robot_dynamics.stewart.new_machine import Measures, machine_text

OPTIONS = (
    ("--base-radius", "radius of the joints' circle on the base [m]"),
    ("--platform-radius", "radius of the joints' circle on the platform [m]"),
    ("--stroke", "difference between a leg's longest and shortest length [m]"),
)
CHOICES = (
    (
        "--shortest-leg",
        "length of a leg at the lower end of its stroke [m]; default: legs at about 48 degrees, or longer",
    ),
    ("--payload", "mass on the platform [kg]; default: by the platform's size"),
    ("--force", "maximum force of an actuator [N]; default: twice the force for 5 m/s² in any direction"),
    ("--speed", "maximum speed of an actuator [m/s]; default: two strokes a second"),
    ("--mass", "mass of the platform with its payload, in place of --payload [kg]"),
    ("--lower-mass", "mass of the lower part of a leg: housing, motor, screw [kg]"),
    ("--upper-mass", "mass of the upper part of a leg: rod [kg]"),
    ("--continuous-force", "maximum root mean square force of an actuator [N]; for the report"),
    ("--lead", "lead of the screw per turn [m]; adds the drive"),
    ("--screw-inertia", "moment of inertia of the screw [kg·m²]; with --lead; default: 0"),
    ("--rotor-inertia", "moment of inertia of the motor [kg·m²]; with --lead; default: 0"),
    ("--gear-ratio", "turns of the motor per turn of the screw; with --lead; default: 1"),
)
ANGLES = (
    ("--pair-angle", "angle between the joints of a pair, seen from the circle's centre; default: 20"),
    ("--base-pair-angle", "angle between the joints of a pair on the base alone"),
    ("--base-half-angle", "angle from the axis of symmetry to a joint of the base, half the pair angle"),
    ("--platform-pair-angle", "angle between the joints of a pair on the platform alone"),
    (
        "--platform-half-angle",
        "angle from the axis of symmetry to a joint of the platform, half the pair angle",
    ),
    ("--base-angle", "maximum angle of the base joints from the leg's direction at home"),
    ("--platform-angle", "maximum angle of the platform joints from the leg's direction at home"),
)
COM = "centre of mass of the platform with its payload, from the centre of its joint circle [m]"
INERTIA = "moments of inertia about the centre of mass: xx yy zz, or xx yy zz xy xz yz; with --mass [kg·m²]"
CURVE = "maximum force over speed, such as 0:9000 0.3:9000 0.6:4000 [m/s, N]; for the report"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    for option, words in OPTIONS:
        parser.add_argument(option, type=number, required=True, metavar="M", help=words)
    for option, words in CHOICES:
        parser.add_argument(option, type=number, metavar="NUMBER", help=words)
    for option, words in ANGLES:
        parser.add_argument(option, type=number, metavar="DEGREES", help=words)
    parser.add_argument("--com", type=number, nargs=3, metavar=("X", "Y", "Z"), help=COM)
    parser.add_argument("--inertia", type=number, nargs="+", metavar="I", help=INERTIA)
    parser.add_argument("--speed-force", nargs="+", metavar="SPEED:FORCE", help=CURVE)
    parser.add_argument("--name", help="name of the platform; default: that of the file")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("machine.yaml"),
        metavar="FILE",
        help="file of the platform (default: %(default)s)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")


def run(arguments: argparse.Namespace) -> int:
    """Write the file and say what can be done with it."""
    if exists(arguments.output) and not arguments.overwrite:
        raise ParameterError(f"{arguments.output} exists; name another file with -o, or add --overwrite")
    check_output(arguments.output)
    measures = Measures(
        name=arguments.name or arguments.output.stem,
        base_radius=arguments.base_radius,
        platform_radius=arguments.platform_radius,
        stroke=arguments.stroke,
        shortest_leg=arguments.shortest_leg,
        payload=arguments.payload,
        force=arguments.force,
        speed=arguments.speed,
        mass=arguments.mass,
        com=None if arguments.com is None else tuple(arguments.com),
        inertia=_inertia(arguments.inertia),
        lower_mass=arguments.lower_mass,
        upper_mass=arguments.upper_mass,
        continuous_force=arguments.continuous_force,
        speed_force=tuple(_point(text) for text in arguments.speed_force or ()),
        drive=_drive(arguments),
        pair_angle=_pair_angle(arguments, "base"),
        platform_pair_angle=_pair_angle(arguments, "platform"),
        base_angle=_radians(arguments.base_angle),
        platform_angle=_radians(arguments.platform_angle),
    )
    text = machine_text(measures)
    with open_output(arguments.output) as stream:
        stream.write(text)
    print(f"wrote {arguments.output}; lines that are marked as a guess follow from the size: put in yours")
    print(f"see it move:  robot_dynamics view {arguments.output}")
    print(f"size it:      robot_dynamics stewart report {arguments.output} -o report")
    return 0


def _pair_angle(arguments: argparse.Namespace, ring: str) -> float:
    """Angle between the joints of a pair on a ring [rad]."""
    names = (f"{ring}_pair_angle", f"{ring}_half_angle")
    whole, half = (getattr(arguments, name) for name in names)
    if whole is not None and half is not None:
        options = " and ".join(f"--{name.replace('_', '-')}" for name in names)
        raise ParameterError(f"{options} are both given; give one")
    if half is not None:
        whole = 2.0 * half
    both = 20.0 if arguments.pair_angle is None else arguments.pair_angle
    return float(np.radians(both if whole is None else whole))


def _radians(degrees: float | None) -> float | None:
    return None if degrees is None else float(np.radians(degrees))


def _inertia(values: list[float] | None) -> tuple[float, ...] | None:
    """Six moments; those that are not given are zero."""
    if values is None:
        return None
    if len(values) not in (3, 6):
        raise ParameterError(f"--inertia has {len(values)} values; give 3: xx yy zz, or 6: xx yy zz xy xz yz")
    return (*values, *[0.0] * (6 - len(values)))


def _point(text: str) -> tuple[float, float]:
    """A point of the actuator's curve."""
    speed, colon, force = text.partition(":")
    try:
        if not colon:
            raise argparse.ArgumentTypeError
        return number(speed), number(force)
    except (argparse.ArgumentTypeError, ValueError):
        raise ParameterError(f"--speed-force {quoted(text)} must be SPEED:FORCE, such as 0.3:9000") from None


def _drive(arguments: argparse.Namespace) -> tuple[float, ...] | None:
    """Lead, inertias and gear ratio; None without a lead."""
    rest = (arguments.screw_inertia, arguments.rotor_inertia, arguments.gear_ratio)
    if arguments.lead is None:
        if any(value is not None for value in rest):
            raise ParameterError("--screw-inertia, --rotor-inertia and --gear-ratio need --lead")
        return None
    return (arguments.lead, *(d if v is None else v for v, d in zip(rest, (0.0, 0.0, 1.0), strict=True)))
