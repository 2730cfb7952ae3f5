"""``robot_dynamics inverse-dynamics``: the joint efforts for the states of a CSV file."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import numpy as np

from robot_dynamics.cli import streams
from robot_dynamics.cli.chain_source import (
    add_backend_argument,
    add_chain_arguments,
    add_gravity_argument,
    chain_of,
)
from robot_dynamics.cli.machine_source import forces_along, is_machine, piped
from robot_dynamics.cli.state_table import EFFORT, TIME, StateTable, read_states
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import ParameterError, StateError, quoted, short, shown
from robot_dynamics.inputs.files import check_output, open_output, open_regular
from robot_dynamics.inputs.tables import text_lines
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

ROWS_AT_ONCE = 10_000
"""As many rows are written at once."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "The first row of FILE.csv names the columns. For a joint named shoulder: shoulder (or"
        " shoulder.position),\n"
        "shoulder.velocity, shoulder.acceleration; missing velocities and accelerations are zero. Optional:"
        " time,\n"
        "and tip.force.x .y .z, tip.torque.x .y .z: what the arm exerts on its environment, in the tip"
        " frame.\n"
        "The result has a column shoulder.effort for every joint. SI units and radians throughout.\n"
        "For the YAML of a Stewart platform in place of a URDF, FILE.csv has the columns time, x, y, z,\n"
        "qx, qy, qz, qw, and the result the force of every leg."
    )
    add_chain_arguments(parser)
    parser.add_argument(
        "--states", metavar="FILE.csv", required=True, help="states of the joints; - reads standard input"
    )
    add_gravity_argument(parser)
    parser.add_argument("--output", metavar="FILE.csv", help="file of the efforts (default: standard output)")
    parser.add_argument(
        "--friction",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="include the joints' friction from the description; without either a note says what is left out",
    )
    add_backend_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compute and write the efforts; notes go to standard error."""
    if arguments.urdf == "-" and arguments.states == "-":
        raise ParameterError("URDF and --states cannot both be read from standard input")
    if arguments.output is not None:
        check_output(arguments.output)
    given = piped(arguments.urdf)
    computed = forces_along if is_machine(arguments.urdf, given) else _efforts
    columns, values = computed(arguments, given)
    with _opened(arguments.output) as stream:
        csv.writer(stream, lineterminator="\n").writerow(columns)
        for start in range(0, len(values), ROWS_AT_ONCE):
            rows = values[start : start + ROWS_AT_ONCE].tolist()
            stream.write("".join(",".join(map(repr, row)) + "\n" for row in rows))
    return 0


def _efforts(arguments: argparse.Namespace, text: bytes | None) -> tuple[list[str], Array]:
    """Columns and values of the efforts of an arm; ``text`` is what came from standard input."""
    if not np.isfinite(arguments.gravity).all():
        raise ParameterError(f"--gravity {arguments.gravity} must be three finite numbers")
    chain = chain_of(arguments, text)
    table = _read(arguments.states, chain)
    for note in table.notes:
        streams.note(f"robot_dynamics: note: {note}")
    dynamics = compile_dynamics(chain, arguments.gravity, arguments.backend, friction=arguments.friction)
    efforts = dynamics.inverse_dynamics(table.q, table.qd, table.qdd, table.wrench)
    _note_rows_beyond_limits(chain, efforts)
    columns = [f"{shown(name)}.{EFFORT}" for name in chain.joint_names]
    values = efforts
    if table.time is not None:
        columns.insert(0, TIME)
        values = np.column_stack([table.time, efforts])
    return columns, values


def _note_rows_beyond_limits(chain: KinematicChain, efforts: Array) -> None:
    """Say in one line how many rows need more effort than the description permits, and the largest."""
    limits = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])
    with np.errstate(invalid="ignore"):
        share = np.nan_to_num(np.abs(efforts) / limits)
    beyond = int((share > 1.0).any(axis=1).sum())
    if beyond:
        row, j = np.unravel_index(int(share.argmax()), share.shape)
        streams.note(
            f"robot_dynamics: note: {beyond} of {len(efforts)} rows need more effort than the description"
            f" permits: row {row + 1} {short(efforts[row, j])} at {quoted(chain.joint_names[j])}, limit"
            f" {short(limits[j])}; states are in rad, m and s"
        )


def _read(path: str, chain: KinematicChain) -> StateTable:
    if path == "-":
        lines = text_lines(streams.opened_input(), "standard input")
        return read_states(streams.counted(lines), chain.joint_names, "standard input")
    with open_regular(
        path, "CSV file", lambda reason: StateError(f"cannot read the states: {reason}")
    ) as stream:
        lines = text_lines(stream, path)
        size = os.fstat(stream.fileno()).st_size
        return read_states(streams.counted(lines, size), chain.joint_names, path)


@contextmanager
def _opened(path: str | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with open_output(path) as stream:
        yield stream
