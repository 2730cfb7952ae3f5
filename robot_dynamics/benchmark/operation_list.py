"""Operations of the generated programs of every chain of many descriptions, as a list that can be compared.

    python -m robot_dynamics.benchmark.operation_list [--against FILE] [FOLDER]

reads every URDF below FOLDER (by default the robots of the installed packages), takes the longest chain of
each, and prints a line with its operations for every quantity. With ``--against`` it prints the lines that
differ from those in FILE, and exits with 1 where there are any: FILE is stale, or a program is longer now.
"""

from __future__ import annotations

import argparse
import logging
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

from robot_dynamics.codegen.program import count_operations
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import generate
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.builder import build_chain
from robot_dynamics.model.selection import select_chain
from robot_dynamics.model.urdf import parse_urdf

QUANTITIES = (
    "inverse_dynamics", "gravity", "coriolis", "mass_matrix", "forward_dynamics", "inverse_mass_matrix",
    "coriolis_matrix", "inverse_dynamics_derivatives", "energy", "jacobian", "jacobian_rate",
    "forward_kinematics", "regressor", "base_regressor",
)  # fmt: skip
SEARCHED = ("inverse_dynamics", "gravity", "mass_matrix")
"""Counted after the search that the compiled program gets; the others with the choices it starts from."""


def operations(path: Path) -> dict[str, int]:
    """Additions, multiplications and divisions by quantity, of the longest chain of a description."""
    tree = parse_urdf(path)
    chosen = select_chain(tree)
    chain = build_chain(tree, None, chosen.tip, chosen.locked)
    model = SerialModel.from_chain(chain)
    counts = {}
    for name in QUANTITIES:
        effort = "normal" if name in SEARCHED else "none"
        try:
            program = generate(model, name, objective=Objective.TIME, effort=effort)
        except RobotDynamicsError:
            continue
        count = count_operations(program)
        counts[name] = count.total + count.divisions + count.sines_and_cosines
    return counts


def lines(folder: Path) -> Iterator[tuple[str, str]]:
    """Description and its counts, or that it is refused, by path."""
    for path in sorted(folder.rglob("*.urdf")):
        name = str(path.relative_to(folder))
        try:
            counts = operations(path)
        except RobotDynamicsError:
            yield name, "- refused"
        else:
            yield name, " ".join(f"{key}={value}" for key, value in counts.items())


def main() -> int:
    """Print the list, or what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(sysconfig.get_path("purelib")))
    parser.add_argument("--against", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if not arguments.against:
        for name, counts in lines(arguments.folder):
            print(f"{name}\t{counts}", flush=True)
        return 0
    known = listed(arguments.against)
    different = 0
    for name, counts in lines(arguments.folder):
        before = known.pop(name, "not listed")
        if counts != before:
            different += 1
            longer = ", ".join(names_of_longer(before, counts))
            print(f"{name}{f': longer: {longer}' if longer else ''}", flush=True)
            print(f"  was {before}\n  is  {counts}", flush=True)
    for name in known:
        print(f"{name}\n  is  not installed", flush=True)
    return int(different > 0)


def listed(file: Path) -> dict[str, str]:
    """Counts by description, as a file has them that was printed."""
    rows = file.read_text(encoding="utf-8").splitlines()
    return dict(row.split("\t", 1) for row in rows)


def names_of_longer(before: str, now: str) -> list[str]:
    """Quantities with more operations than before."""
    old, new = _numbers(before), _numbers(now)
    return [name for name in new if new[name] > old.get(name, new[name])]


def _numbers(counts: str) -> dict[str, int]:
    pairs = (part.split("=") for part in counts.split() if "=" in part)
    return {name: int(number) for name, number in pairs}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.exit(main())
