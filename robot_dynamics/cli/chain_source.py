"""Arguments for the robot description and its chain."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

from robot_dynamics.cli.streams import note, read_input
from robot_dynamics.errors import ModelWarning, ParameterError, quoted
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.files import exists, is_regular
from robot_dynamics.model.builder import ALL
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.load import load_urdf
from robot_dynamics.resources import share_directory


def add_chain_arguments(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Declare URDF, --root, --tip, --tips and --lock."""
    parser.add_argument(
        "urdf",
        metavar="URDF",
        nargs="?" if optional else None,
        type=description_file,
        help="robot description, or the name of a shipped robot, such as puma560; - reads standard input",
    )
    parser.add_argument(
        "--root", metavar="LINK", help="link fixed to the ground (default: the root of the tree)"
    )
    parser.add_argument("--tip", metavar="LINK", help="link at the chain's end (default: the end of the arm)")
    parser.add_argument(
        "--tips",
        metavar="LINKS",
        help="links at the ends of a tree, separated by commas, or all (default: one --tip)",
    )
    parser.add_argument(
        "--lock",
        metavar="JOINT=POSITION",
        type=locked_joint,
        action="append",
        default=[],
        help="hold a joint at a position [rad or m]; may be repeated",
    )


def description_file(name: str) -> str:
    """Path of a description: ``name``, or, where no such file exists, that of the shipped robot ``name``."""
    if exists(name):
        return name
    shipped = share_directory() / "urdf" / f"{name}.urdf"
    return str(shipped) if is_regular(shipped) else name


def add_gravity_argument(parser: argparse.ArgumentParser) -> None:
    """Declare --gravity."""
    parser.add_argument(
        "--gravity",
        type=number,
        nargs=3,
        default=(0.0, 0.0, -9.81),
        metavar=("X", "Y", "Z"),
        help="acceleration of free fall in the root frame [m/s²]; default: 0 0 -9.81",
    )


def chain_of(arguments: argparse.Namespace, text: bytes | None = None) -> KinematicChain:
    """Chain that the arguments name; its line and the warnings about the description go to standard error.

    Args:
        arguments: with those that :func:`add_chain_arguments` declares.
        text: the description, where it has been read already.
    """
    if arguments.urdf is None:
        raise ParameterError("no URDF given")
    source = text if text is not None else read_input() if arguments.urdf == "-" else arguments.urdf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        tips = arguments.tips
        named = tips.split(",") if tips not in (None, ALL) else tips
        chain = load_urdf(source, arguments.root, arguments.tip, dict(arguments.lock), named)
    note(f"robot_dynamics: {chain.name}: {chain.description()}")
    for message in chain.warnings:
        note(f"robot_dynamics: warning: {message}")
    return chain


def locked_joint(text: str) -> tuple[str, float]:
    """``JOINT=POSITION`` as a name and a number."""
    name, separator, position = text.rpartition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not JOINT=POSITION")
    return name, number(position)


def number(text: str) -> float:
    """Number from the text of an argument.

    Raises:
        argparse.ArgumentTypeError: the text is no number.
    """
    try:
        return decimal(text)
    except ValueError as reason:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is {reason}") from None


def number_within(least: float, most: float) -> Callable[[str], float]:
    """Type of an argument that is a number between two, these included."""

    def within(text: str) -> float:
        value = number(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{quoted(text)} is not between {least:g} and {most:g}")
        return value

    return within


def whole_number(text: str) -> int:
    """Whole number from the text of an argument.

    Raises:
        argparse.ArgumentTypeError: the text is no whole number.
    """
    value = number(text)
    if not abs(value) < 2.0**53 or value != int(value):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a whole number")
    return int(value)
