"""Arguments for the robot description and its chain."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from robot_dynamics.cli.streams import note, read_input
from robot_dynamics.control.arm.payload import PayloadParameters, with_payload
from robot_dynamics.errors import ModelWarning, ParameterError, quoted
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.files import exists, is_regular
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.selection import ALL
from robot_dynamics.model.srdf import SemanticDescription, read_srdf
from robot_dynamics.model.urdf import parse_urdf
from robot_dynamics.native.loading import BACKENDS
from robot_dynamics.resources import share_directory

PLATFORMS = ("stewart_demo", "stewart_dasgupta1998")
"""Stewart platforms that are shipped; the other files beside theirs are nodes' parameters."""


def add_chain_arguments(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Declare URDF and what chooses a part of it."""
    parser.add_argument(
        "urdf",
        metavar="URDF",
        nargs="?" if optional else None,
        type=description_file,
        help="robot description (URDF), the name of a shipped robot, such as puma560, or the topic of a"
        " running one, such as /robot_description; - reads standard input",
    )
    add_part_arguments(parser)


def add_part_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what chooses a part of a robot: --root, --tip, --tips, --lock, --srdf and --group."""
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
    parser.add_argument(
        "--srdf", metavar="FILE", help="semantic description: groups, named poses, disabled collisions"
    )
    parser.add_argument(
        "--group", metavar="NAME", help="group of the semantic description, instead of --root and --tip"
    )


def tips_of(arguments: argparse.Namespace) -> str | list[str] | None:
    """Tips that --tips names."""
    if arguments.tip is not None and arguments.tips is not None:
        raise ParameterError("--tip and --tips exclude each other")
    tips: str | None = arguments.tips
    return tips if tips is None or tips == ALL else tips.split(",")


def shipped(name: str, *files: str) -> str:
    """``name``, or, where no such file exists, the path of the first of the package's ``files`` there is."""
    if exists(name) or Path(name).name != name:
        return name
    found = (path for path in map(share_directory().joinpath, files) if is_regular(path))
    return str(next(found, name))


def description_file(name: str) -> str:
    """Path of a description: ``name``, or, where no such file exists, that of the shipped robot ``name``."""
    return shipped(name, f"config/{name}.yaml" if name in PLATFORMS else f"urdf/{name}.urdf")


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


def add_backend_argument(parser: argparse.ArgumentParser) -> None:
    """Declare which implementation of the model computes."""
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        default="auto",
        help="implementation of the model (default: %(default)s)",
    )


def chain_of(
    arguments: argparse.Namespace,
    text: bytes | None = None,
    *,
    announced: bool = True,
    measured: str | Sequence[str] | None = None,
) -> KinematicChain:
    """Chain that the arguments name; its line and the warnings about the description go to standard error.

    Args:
        arguments: with those that :func:`add_chain_arguments` declares.
        text: the description, where it has been read already.
        announced: print the chain's line; the warnings are printed always.
        measured: joints that another controller moves, as :func:`robot_dynamics.load_urdf` takes them.
    """
    if arguments.urdf is None:
        raise ParameterError("no URDF given")
    source = text if text is not None else read_input() if arguments.urdf == "-" else arguments.urdf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        root, tip, tips = ends_of(arguments, source)
        chain = load_urdf(source, root, tip, dict(arguments.lock), tips, measured)
    if announced:
        note(f"robot_dynamics: {chain.name}: {chain.description()}")
    for message in chain.warnings:
        note(f"robot_dynamics: warning: {message}")
    return chain


def semantics_of(arguments: argparse.Namespace) -> SemanticDescription | None:
    """Semantic description that ``--srdf`` names; None without one."""
    if arguments.srdf is None and arguments.group is not None:
        raise ParameterError(f"--group {quoted(arguments.group)} needs --srdf FILE, which defines the groups")
    return None if arguments.srdf is None else read_srdf(arguments.srdf)


def ends_of(
    arguments: argparse.Namespace, source: str | bytes
) -> tuple[str | None, str | None, str | list[str] | None]:
    """Root, tip and tips that the arguments name, by themselves or by a group of ``source``'s robot."""
    root, tip, tips = arguments.root, arguments.tip, tips_of(arguments)
    semantics = semantics_of(arguments)
    if semantics is None or arguments.group is None:
        return root, tip, tips
    if not (root is None and tip is None and tips is None):
        raise ParameterError("--group names root and tips: leave --root, --tip and --tips out")
    base, ends = semantics.ends(arguments.group, parse_urdf(source))
    return (base, ends[0], None) if len(ends) == 1 else (base, None, ends)


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


def add_payload_argument(parser: argparse.ArgumentParser, text: str) -> None:
    """Declare --payload."""
    parser.add_argument(
        "--payload",
        type=tip_mass,
        action="append",
        default=[],
        metavar="[TIP=]KG",
        help=f"{text} [kg]; of several tips TIP=KG, which may be repeated",
    )


def tip_mass(text: str) -> tuple[str | None, float]:
    """Tip, None for the only one, and mass."""
    name, separator, mass = text.rpartition("=")
    return (name if separator else None), number(mass)


def payloads_of(
    arguments: argparse.Namespace, chain: KinematicChain, center: Sequence[float] = (0.0, 0.0, 0.0)
) -> dict[str, PayloadParameters]:
    """Payloads that --payload puts on the tips of a chain, by their names.

    Raises:
        ParameterError: no such tip, or no mass that a payload can have.
    """
    masses = masses_at_tips("--payload", arguments.payload, chain)
    return {tip: PayloadParameters(mass, tuple(center)) for tip, mass in masses.items()}


def masses_at_tips(
    option: str, given: Sequence[tuple[str | None, float]], chain: KinematicChain
) -> dict[str, float]:
    """Masses by tip that an option of the type `tip_mass` names.

    Raises:
        ParameterError: no such tip, or none is named where there are several.
    """
    tips = [tip.link for tip in chain.tips]
    found: dict[str, float] = {}
    for name, mass in given:
        if name is None and len(tips) > 1:
            raise ParameterError(f"{option} {mass:g} is for one tip; give TIP=KG of {', '.join(tips)}")
        tip = tips[0] if name is None else name
        if tip not in tips:
            raise ParameterError(f"{option} {quoted(tip)}: the tips are {', '.join(tips)}")
        if tip in found:
            raise ParameterError(f"{option} gives {quoted(tip)} twice")
        found[tip] = mass
    return found


def with_payloads(chain: KinematicChain, loads: Mapping[str, PayloadParameters]) -> KinematicChain:
    """The chain with a payload at each named tip."""
    for tip, load in loads.items():
        chain = with_payload(chain, load.payload_mass, load.payload_center, tip=tip)
    return chain


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
