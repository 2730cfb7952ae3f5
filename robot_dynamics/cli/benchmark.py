"""``robot_dynamics benchmark``: time the generated model beside other libraries."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from robot_dynamics.cli.chain_source import whole_number
from robot_dynamics.cli.needs import need
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.inputs.files import check_output, open_output

MOST_JOINTS = 100
MOST_ROUNDS = 10_000_000
PICTURES = (".png", ".svg", ".pdf")
JOINTS = (2, 3, 4, 6, 8, 10, 15, 20, 30, 40)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--joints",
        type=whole_number,
        nargs="*",
        default=list(JOINTS),
        metavar="N",
        help=f"numbers of joints of the random arms; default: {' '.join(map(str, JOINTS))}",
    )
    parser.add_argument(
        "--rounds", type=whole_number, default=40, help="rounds of timing; default: %(default)s"
    )
    parser.add_argument("--no-cpp", action="store_true", help="leave out the C++ loop over Pinocchio")
    parser.add_argument(
        "--cycles",
        type=whole_number,
        metavar="N",
        help="time N cycles of controllers instead, of an arm and of a platform, in Python and in C, back to"
        " back and the last of them once per millisecond",
    )
    parser.add_argument(
        "--retime",
        type=whole_number,
        metavar="N",
        help="time N rounds of retiming instead, of one path of seven joints with 1000 intervals, beside"
        " toppra and copp-py where they are installed",
    )
    parser.add_argument(
        "--arrays",
        type=Path,
        nargs="+",
        metavar="FILE.urdf",
        help="time inverse dynamics, forward dynamics and mass matrix of whole robots under JAX instead, in"
        " batches and float64, beside PyTorch, frax and MJX where they are installed",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw time over the number of joints")


def run(arguments: argparse.Namespace) -> int:
    """Print the table; progress goes to standard error."""
    _check(arguments)
    if arguments.cycles is not None:
        return _cycles(arguments.cycles)
    if arguments.retime is not None:
        return _retime(arguments.retime)
    if arguments.arrays is not None:
        return _arrays(arguments.arrays, arguments.rounds)
    if arguments.plot:
        need("--plot", "matplotlib")
    from robot_dynamics.benchmark.report import plot, table
    from robot_dynamics.benchmark.run import run_benchmark

    results = run_benchmark(arguments.joints, arguments.rounds, not arguments.no_cpp, _progress)
    print(table(results))
    if arguments.json:
        with open_output(arguments.json) as stream:
            stream.write(json.dumps(asdict(results), indent=2) + "\n")
    if arguments.plot:
        plot(results, arguments.plot)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Refuse now what would fail, or never end, after minutes."""
    for file in (arguments.json, arguments.plot):
        if file is not None:
            check_output(file)
    if arguments.plot is not None and arguments.plot.suffix.lower() not in PICTURES:
        raise ParameterError(f"--plot {quoted(str(arguments.plot))}: expected one of {', '.join(PICTURES)}")
    if not all(1 <= n <= MOST_JOINTS for n in arguments.joints):
        raise ParameterError(f"--joints: each must be at least 1 and at most {MOST_JOINTS}")
    for name in ("rounds", "cycles", "retime"):
        value = getattr(arguments, name)
        least = 8 if name == "cycles" else 1
        if value is not None and not least <= value <= MOST_ROUNDS:
            raise ParameterError(f"--{name} {value}: must be at least {least} and at most {MOST_ROUNDS}")


def _progress(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _arrays(files: list[Path], rounds: int) -> int:
    need("--arrays", "jax")
    from robot_dynamics.benchmark.arrays import compare, table

    for file in files:
        chain, results = compare(file, rounds, _progress)
        print(f"{chain.name}, {chain.dof} joints\n\n{table(results)}\n", flush=True)
    return 0


def _cycles(count: int) -> int:
    from robot_dynamics.benchmark.cycles import cycle_times, table

    print(table(cycle_times(count)))
    return 0


def _retime(rounds: int) -> int:
    from robot_dynamics.benchmark.retiming import compare, table
    from robot_dynamics.control.retiming.retime import INTERVALS

    print(table(compare(None, rounds, INTERVALS), "random arm of seven joints", INTERVALS))
    return 0
