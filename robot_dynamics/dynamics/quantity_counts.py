"""Operations of the generated program of every quantity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics.codegen.program import OperationCount, count_operations
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import generate
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import BackendError, ModelError


def quantity_counts(model: SerialModel) -> dict[str, OperationCount | None]:
    """Operations of every quantity as it is compiled by default, by name.

    None where the robot has no such quantity, as with forward dynamics of a joint that moves no mass.
    """
    counts: dict[str, OperationCount | None] = {}
    for name in QUANTITIES:
        try:
            counts[name] = count_operations(generate(model, name, objective=Objective.TIME))
        except (BackendError, ModelError):
            counts[name] = None
    return counts


def counts_table(counts: Mapping[str, OperationCount | None]) -> str:
    """The counts in columns; the last one in terms of the inverse dynamics."""
    unit = counts["inverse_dynamics"]
    head = f"{'quantity':30}{'x':>7}{'+':>7}{'/':>5}{'sin, cos':>10}{'of inverse dynamics':>21}"
    lines = [head]
    for name, count in counts.items():
        if count is None or unit is None:
            lines.append(f"{name:30} there is none: a joint moves no mass")
            continue
        share = count.total / unit.total if unit.total else np.nan
        numbers = f"{count.multiplications:7}{count.additions:7}{count.divisions:5}"
        lines.append(f"{name:30}{numbers}{count.sines_and_cosines:10}{share:21.2f}")
    return "\n".join(lines)


def counts_document(counts: Mapping[str, OperationCount | None]) -> dict[str, dict[str, int] | None]:
    """The counts for a JSON document."""
    return {
        name: None
        if count is None
        else {
            "multiplications": count.multiplications,
            "additions": count.additions,
            "divisions": count.divisions,
            "sines_and_cosines": count.sines_and_cosines,
        }
        for name, count in counts.items()
    }
