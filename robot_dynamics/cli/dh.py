"""``robot_dynamics dh``: the Denavit-Hartenberg parameters of a URDF's chain."""

from __future__ import annotations

import argparse
import sys
import warnings

from robot_dynamics.errors import ModelWarning
from robot_dynamics.model.dh import dh_parameters
from robot_dynamics.model.dh_table import CONVENTIONS
from robot_dynamics.model.load import load_urdf


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("urdf", metavar="URDF", help="the robot description; - reads it from standard input")
    parser.add_argument(
        "--root", metavar="LINK", help="link fixed to the ground (default: the root of the tree)"
    )
    parser.add_argument("--tip", metavar="LINK", help="link at the chain's end (default: the end of the arm)")
    parser.add_argument(
        "--lock",
        metavar="JOINT=POSITION",
        type=_locked_joint,
        action="append",
        default=[],
        help="hold a joint at a position [rad or m]; may be repeated",
    )
    parser.add_argument(
        "--convention",
        choices=CONVENTIONS,
        default="modified",
        help="modified (Craig, Khalil-Kleinfinger) or standard (Denavit-Hartenberg, Paul); default: modified",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "csv"),
        default="text",
        help="text in degrees and metres, json and csv in radians and metres; default: text",
    )
    parser.add_argument(
        "--tolerance",
        metavar="M",
        type=_positive,
        default=1e-9,
        help="largest difference from the URDF's forward kinematics; a coarse one, such as 1e-4, makes axes"
        " parallel that a rounded number in the URDF left nearly parallel; default: 1e-9",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the table; warnings about the description go to standard error."""
    source = sys.stdin.buffer.read() if arguments.urdf == "-" else arguments.urdf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        chain = load_urdf(source, arguments.root, arguments.tip, dict(arguments.lock))
    for message in chain.warnings:
        print(f"robot_dynamics: warning: {message}", file=sys.stderr)
    table = dh_parameters(chain, arguments.convention, arguments.tolerance)
    print({"text": table.text, "json": table.json, "csv": table.csv}[arguments.format](), end="")
    return 0


def _locked_joint(text: str) -> tuple[str, float]:
    name, separator, position = text.rpartition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not JOINT=POSITION")
    try:
        return name, float(position)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{position!r} is not a number") from None


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value
