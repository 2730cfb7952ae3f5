"""``robot_dynamics reproduce``: results of the papers beside this package's, item by item."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path

from robot_dynamics.cli.needs import need
from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.files import check_folder
from robot_dynamics.papers.dasgupta.reproduction import (
    MODELS,
    Reproduction,
    model_difference,
    reproduce,
    statements,
    write_csv,
)
from robot_dynamics.papers.registry import PAPERS

EVERY = "all"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    titles = "; ".join(f"{key}: {paper.title}" for key, paper in PAPERS.items())
    parser.add_argument("paper", choices=[*PAPERS, EVERY], help=titles.replace("%", "%%"))
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("reproduction"),
        metavar="FOLDER",
        help="folder for index.html, items.json, figures and tables (default: ./reproduction)",
    )
    parser.add_argument("--only", metavar="SECTION", help="only this section of the paper's evidence")
    parser.add_argument(
        "--markdown", type=Path, metavar="FOLDER", help="also write evidence.md and errata.md into FOLDER"
    )
    parser.add_argument(
        "--timing",
        action="store_true",
        help="dasgupta: also measure the generated model beside that of a serial arm",
    )


def run(arguments: argparse.Namespace) -> int:
    """Make the evidence, write and report; 1 when a statement of dasgupta fails under its own equations."""
    need("the evidence", "matplotlib", "jinja2", "sympy")
    from robot_dynamics.papers.evidence.gather import gather
    from robot_dynamics.papers.evidence.page import tally, write, write_markdown

    papers = list(PAPERS.values()) if arguments.paper == EVERY else [PAPERS[arguments.paper]]
    if arguments.only and arguments.paper == EVERY:
        raise ParameterError("--only needs one paper")
    folder: Path = arguments.output
    for place in (folder, arguments.markdown):
        if place is not None:
            check_folder(place)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"cannot write to {folder}: {error.strerror}") from error
    items = gather(papers, folder, arguments.only)
    for paper in papers:
        counts = tally(item for item in items if item.paper == paper.key)
        print(f"{paper.key}: {', '.join(f'{number} {verdict}' for verdict, number in counts.items())}")
        print(textwrap.fill(paper.title, 110, initial_indent="  ", subsequent_indent="  "))
    agreed = True
    if any(paper.key == "dasgupta" for paper in papers) and not arguments.only:
        agreed = _dasgupta(folder / "dasgupta" if len(papers) > 1 else folder, arguments.timing)
    files = write(papers, items, folder)
    if arguments.markdown:
        files += write_markdown(papers, items, arguments.markdown)
    for file in files:
        print(f"wrote {file}")
    return 0 if agreed else 1


def _dasgupta(folder: Path, timing: bool) -> bool:
    """Tables as CSV, and both models beside the text."""
    from robot_dynamics.benchmark.arms import random_arm, robot
    from robot_dynamics.papers.dasgupta.cost import operation_lines, timing_lines

    done = reproduce()
    files = write_csv(done, folder)
    agreed = _report(done)
    print("\nsection 4.5, operations per time step:")
    _print_indented(operation_lines(done.platform.machine))
    if timing:
        print("\ntime of the generated model:")
        arms = {"PUMA 560": robot("puma560"), "a general arm of six joints": random_arm(6)}
        _print_indented(timing_lines(done.platform.machine, arms))
    print(f"\nfigures and {len(files)} tables in {folder}")
    return agreed


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
