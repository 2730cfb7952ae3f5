"""``robot_dynamics count``: operations of every formulation beside the published formulas."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from robot_dynamics.cli.chain_source import (
    add_chain_arguments,
    add_gravity_argument,
    chain_of,
    whole_number,
)
from robot_dynamics.dynamics.formulations import FORMULATIONS
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ParameterError, shown
from robot_dynamics.inputs.files import check_folder
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.papers.count_report.generated import (
    as_documents,
    counts_document,
    counts_table,
    quantity_counts,
    reference_table,
    stewart_table,
    write_counted,
)
from robot_dynamics.papers.count_report.report import make_report
from robot_dynamics.papers.count_report.text import text
from robot_dynamics.papers.dasgupta.machines import stewart_counts
from robot_dynamics.papers.reference_models import DRAWS, reference_counts

MOST_JOINTS = 24
"""Largest number of links; Lagrange's equations take a minute for so many, four times as long for twice."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_chain_arguments(parser, optional=True)
    add_gravity_argument(parser)
    parser.add_argument(
        "--links",
        type=whole_number,
        metavar="N",
        help="number of links at which the formulas are evaluated; default: the URDF's moving joints, or 6",
    )
    parser.add_argument(
        "--formulation",
        choices=tuple(FORMULATIONS),
        action="append",
        help="only this formulation, with its steps; may be repeated; default: all",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "csv"),
        default="text",
        help="format of the table (default: text)",
    )
    parser.add_argument(
        "--draws",
        type=whole_number,
        default=DRAWS,
        metavar="N",
        help="count the textbook arms with so many random lengths, inertias and signs; default: %(default)s",
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FOLDER",
        help="write the C of every counted program into FOLDER, one function a file",
    )


def run(arguments: argparse.Namespace) -> int:
    """Count and print."""
    if arguments.links is not None and not 1 <= arguments.links <= 1000:
        raise ParameterError(f"--links {arguments.links}: expected 1 to 1000")
    if not 0 <= arguments.draws <= 100_000:
        raise ParameterError(f"--draws {arguments.draws}: expected 0 to 100000")
    if arguments.urdf is None and (arguments.root or arguments.tip or arguments.tips or arguments.lock):
        raise ParameterError("--root, --tip, --tips and --lock need a URDF")
    if arguments.write:
        check_folder(arguments.write)
    name, model = "", None
    if arguments.urdf is not None:
        chain = chain_of(arguments)
        if not chain.serial:
            return _count_tree(chain, arguments)
        if chain.dof > MOST_JOINTS:
            raise ParameterError(
                f"{chain.dof} joints from {chain.root} to {chain.tip}; at most {MOST_JOINTS} are counted:"
                " choose a shorter chain by --root and --tip, or --lock joints"
            )
        name, model = chain.name, SerialModel.from_chain(chain, arguments.gravity)
    report = make_report(arguments.formulation or tuple(FORMULATIONS), arguments.links, name, model)
    if arguments.format == "csv":
        print(report.csv())
    elif arguments.format == "json":
        document = json.loads(report.json())
        if not arguments.formulation:
            document |= as_documents(reference_counts(draws=arguments.draws), stewart_counts())
            if model is not None:
                document["quantities"] = counts_document(quantity_counts(model))
        print(json.dumps(document, indent=2))
    else:
        print(text(report))
        if model is not None and not arguments.formulation:
            print(f"\nGenerated programs of {shown(name)}, as they are compiled by default\n")
            print(counts_table(quantity_counts(model)))
        if not arguments.formulation:
            print("\nCustomised models of textbook arms, as the generator writes them\n")
            print(reference_table(reference_counts(draws=arguments.draws)))
            print(f"\n{stewart_table(stewart_counts())}")
    if arguments.write:
        for path in write_counted(arguments.write, name, model):
            print(f"wrote {path}", file=sys.stderr)
    return 0


def _count_tree(chain: KinematicChain, arguments: argparse.Namespace) -> int:
    """The generated programs of a tree, for which there are no formulas."""
    if arguments.format == "csv" or arguments.formulation or arguments.write:
        raise ParameterError(
            f"{chain.name} is a tree; --format csv, --formulation and --write are for serial arms:"
            " give one --tip"
        )
    counts = quantity_counts(SerialModel.from_chain(chain, arguments.gravity))
    if arguments.format == "json":
        print(json.dumps({"quantities": counts_document(counts)}, indent=2))
    else:
        robot = f"{shown(chain.name)}, {chain.dof} joints"
        print(f"Generated programs of {robot}, as they are compiled by default\n")
        print(counts_table(counts))
    return 0
