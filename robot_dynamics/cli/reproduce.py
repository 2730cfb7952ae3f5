"""``robot_dynamics reproduce``: figures and numbers of a paper, and how they agree with its text."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path

from robot_dynamics.benchmark.arms import random_arm, robot
from robot_dynamics.papers.dasgupta.reproduction import (
    MODELS,
    Reproduction,
    model_difference,
    reproduce,
    statements,
    write_csv,
)

PAPERS = {
    "dasgupta": "B. Dasgupta and T. S. Mruthyunjaya, A Newton-Euler formulation for the inverse dynamics of"
    " the Stewart platform manipulator, Mech. Mach. Theory 33(8), 1998: figures 4 to 10",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paper", choices=sorted(PAPERS), help="; ".join(f"{k}: {v}" for k, v in PAPERS.items())
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("reproduction"),
        metavar="DIR",
        help="directory for the figures and tables (default: ./reproduction)",
    )

    parser.add_argument(
        "--timing", action="store_true", help="also measure the generated model beside that of a serial arm"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compute, write and report; 0 when every statement of the paper holds under the published equations."""
    from robot_dynamics.papers.dasgupta.cost import operation_lines, timing_lines
    from robot_dynamics.papers.dasgupta.figures import reproduction_figures

    done = reproduce()
    directory: Path = arguments.output
    directory.mkdir(parents=True, exist_ok=True)
    files = [*reproduction_figures(done, directory), *write_csv(done, directory)]
    print(PAPERS[arguments.paper])
    agreed = _report(done)
    print("\nsection 4.5, operations per time step:")
    _print_indented(operation_lines(done.platform.machine))
    if arguments.timing:
        print("\ntime of the generated model:")
        arms = {"PUMA 560": robot("puma560"), "a general arm of six joints": random_arm(6)}
        _print_indented(timing_lines(done.platform.machine, arms))
    print(f"\n{len(files)} files in {directory}:")
    for file in files:
        print(f"  {file.name}")
    return 0 if agreed else 1


def _print_indented(lines: Sequence[str]) -> None:
    for line in lines:
        print(textwrap.fill(line, 110, initial_indent="  ", subsequent_indent="    ", drop_whitespace=False))


def _report(done: Reproduction) -> bool:
    agreed = True
    for model in MODELS:
        kind = "equations as published" if model == "published" else "exact model (two errors mended)"
        print(f"\n{kind}:")
        for statement in statements(done, model):
            verdict = "agrees " if statement.agrees else "DIFFERS"
            print(f"  [{verdict}] {statement.claim}\n            {statement.found}")
            agreed &= statement.agrees or model == "exact"
    print("\nexact model against the equations as published, where the condition number is below 1000:")
    for name in done.paths:
        newtons, fraction = model_difference(done, name)
        print(f"  Path {name}: up to {newtons:.1f} N, {fraction:.1%} of the leg's greatest force")
    return agreed
