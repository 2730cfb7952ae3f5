"""``robot_dynamics generate``: a customised model as source code."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np

from robot_dynamics.cli.chain_source import number
from robot_dynamics.dynamics.export import EXPORTED, Export, identifier, write_files
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.languages import LANGUAGES, language_named
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.errors import ModelError, ParameterError
from robot_dynamics.inputs.files import read_bytes
from robot_dynamics.model.load import load_urdf


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("urdf", type=Path, metavar="URDF", help="the robot description")
    parser.add_argument("--language", choices=tuple(LANGUAGES), default="c", help="default: %(default)s")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", default=Path(), help="folder for the files; default: here"
    )
    parser.add_argument("--root", metavar="LINK", help="link fixed to the ground; default: the tree's root")
    parser.add_argument("--tip", metavar="LINK", help="link at the chain's end; default: the only leaf")
    parser.add_argument(
        "--quantity",
        action="append",
        choices=[*QUANTITIES, "all"],
        metavar="NAME",
        help=f"function to write, repeatable: {', '.join(QUANTITIES)} or all; default: {', '.join(EXPORTED)}",
    )
    parser.add_argument(
        "--wrench", action="store_true", help="inverse and forward dynamics take a tip wrench"
    )
    parser.add_argument(
        "--gravity",
        type=number,
        nargs=3,
        default=(0.0, 0.0, -9.81),
        metavar=("X", "Y", "Z"),
        help="gravity in the root frame [m/s^2]; default: 0 0 -9.81",
    )
    parser.add_argument(
        "--objective",
        choices=[objective.option for objective in Objective],
        default=Objective.TIME.option,
        help="; ".join(f"{objective.option}: little {objective.value}" for objective in Objective)
        + "; default: %(default)s",
    )
    parser.add_argument("--name", help="start of the file and function names; default: the robot's name")


def run(arguments: argparse.Namespace) -> int:
    """Write the files and say how to use them."""
    text = read_bytes(
        arguments.urdf, "URDF file", lambda reason: ModelError(f"cannot read the robot: {reason}")
    )
    chain = load_urdf(arguments.urdf, root=arguments.root, tip=arguments.tip)
    if not np.isfinite(arguments.gravity).all():
        raise ParameterError(f"gravity is {arguments.gravity}; expected three finite numbers")
    wanted = arguments.quantity or EXPORTED
    export = Export(
        chain=chain,
        gravity=np.array(arguments.gravity, dtype=float),
        quantities=tuple(QUANTITIES if "all" in wanted else dict.fromkeys(wanted)),
        wrench=arguments.wrench,
        name=identifier(arguments.name or chain.name),
        objective=next(o for o in Objective if o.option == arguments.objective),
        source=f"{arguments.urdf.name}, SHA-256 {hashlib.sha256(text).hexdigest()}",
    )
    language = language_named(arguments.language)
    paths = write_files(arguments.output, language.files(export))
    for path in paths:
        print(f"wrote {path}")
    print(language.usage(str(paths[0])))
    return 0
