"""``robot_dynamics stewart new``: the commented file of a machine, to start a design from."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robot_dynamics.cli.chain_source import number
from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.files import check_output, exists, open_output
from robot_dynamics.stewart.new_machine import Measures, machine_text

OPTIONS = (
    ("--base-radius", "circle of the joints on the base [m]"),
    ("--platform-radius", "circle of the joints on the platform [m]"),
    ("--stroke", "between a leg's shortest and longest length [m]"),
)
CHOICES = (
    (
        "--shortest-leg",
        "of the strokes' lower end [m]; default: legs that stand at about 48 degrees, or longer",
    ),
    ("--payload", "mass on the platform [kg]; default: by the platform's size"),
    ("--force", "greatest force of an actuator [N]; default: twice what 5 m/s² in any direction take"),
    ("--speed", "greatest speed of an actuator [m/s]; default: two strokes a second"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    for option, words in OPTIONS:
        parser.add_argument(option, type=number, required=True, metavar="M", help=words)
    for option, words in CHOICES:
        parser.add_argument(option, type=number, metavar="NUMBER", help=words)
    parser.add_argument(
        "--pair-angle",
        type=number,
        default=20.0,
        metavar="DEGREES",
        help="angle between the joints of a pair, seen from the circle's centre; default: %(default)g",
    )
    parser.add_argument("--name", help="name of the platform; default: that of the file")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("machine.yaml"), metavar="FILE", help="default: %(default)s"
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
        pair_angle=float(np.radians(arguments.pair_angle)),
    )
    text = machine_text(measures)
    with open_output(arguments.output) as stream:
        stream.write(text)
    print(f"wrote {arguments.output}; masses, inertias and friction in it are guesses by size: put in yours")
    print(f"see it move:  robot_dynamics view {arguments.output}")
    print(f"size it:      robot_dynamics stewart report {arguments.output} -o report")
    return 0
