"""``robot_dynamics dh``: the Denavit-Hartenberg parameters of a URDF's chain."""

from __future__ import annotations

import argparse

from robot_dynamics.cli.chain_source import add_chain_arguments, chain_of, number
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.dh import dh_tables
from robot_dynamics.model.dh_table import CONVENTIONS, tables_json, tables_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_chain_arguments(parser)
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
        help="format of the table: text in degrees and metres, json and csv in radians and metres"
        " (default: text)",
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
    """Print the table, of a tree one for each branch; warnings go to standard error."""
    chain = chain_of(arguments)
    if not chain.serial and arguments.format == "csv":
        raise ParameterError("--format csv is for one table; of a tree give one --tip at a time")
    tables = dh_tables(chain, arguments.convention, arguments.tolerance)
    if arguments.format == "csv":
        print(tables[0].csv(), end="")
    else:
        print({"text": tables_text, "json": tables_json}[arguments.format](tables), end="")
    return 0


def _positive(text: str) -> float:
    value = number(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value
