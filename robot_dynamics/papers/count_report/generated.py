"""The generated programs of ``robot_dynamics count``: their operations as text and for JSON, and their C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.codegen.emit_c import c_source
from robot_dynamics.codegen.program import CONVENTION, OperationCount, Program, count_operations
from robot_dynamics.dynamics.export import identifier
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import generate
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import BackendError, ModelError, ParameterError
from robot_dynamics.papers.dasgupta.machines import StewartCount, counted_programs
from robot_dynamics.papers.reference_models import (
    OBJECTIVES,
    REFERENCE_MODELS,
    ReferenceCount,
    reference_program,
)

_NOTES = (
    "Generated with the objective 'operations' (also sines and cosines of sums and doubles of joint angles)"
    " and with 'joint-angles' (own sin, cos only); robot_dynamics generate takes either with --objective."
    " Numbers are generic: no two lengths or inertial parameters are equal."
)
_NUMBERS = (
    "The constants are the model's lengths and inertial parameters, or follow from them alone; lengths are"
    " generic numbers."
)


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


def reference_table(counts: Sequence[ReferenceCount]) -> str:
    """The counts as text, with the convention by which they are counted."""
    draws = counts[0].draws
    worst_of = f"worst of {draws}" if draws else ""
    head = f"{'model':<30}{'elsewhere':>17}{'generated':>17}{'own sin, cos only':>20}{worst_of:>15}"
    lines = [f"Counted so: {CONVENTION}.", head]
    for row in counts:
        elsewhere = _sum(row.reference.multiplications, row.reference.additions)
        found = _sum(row.count.multiplications, row.count.additions)
        plain = _sum(row.joint_angles_only.multiplications, row.joint_angles_only.additions)
        worst = "" if row.worst is None else f"{row.worst[0]}, {row.worst[1]}"
        lines.append(f"{row.reference.name:<30}{elsewhere:>17}{found:>17}{plain:>20}{worst:>15}")
    for published in (True, False):
        of = [model for model in REFERENCE_MODELS if model.published is published]
        for source in dict.fromkeys(model.source for model in of):
            names = "; ".join(f"{model.total} ({model.name})" for model in of if model.source == source)
            lines.append(f"Elsewhere, {'published' if published else 'not published'}: {names}: {source}.")
    if draws:
        lines.append(
            f"Worst of {draws}: the same choices with {draws} random draws of lengths and inertial parameters"
            " of either sign."
        )
    return "\n".join([*lines, _NOTES])


def stewart_table(counts: Sequence[StewartCount]) -> str:
    """The counts of the Stewart platform's generated model."""
    lines = [f"{'Stewart platform':<44}{'frictionless':>14}{'with friction':>15}"]
    lines += [f"{row.name:<44}{row.without.total:>14}{row.with_friction.total:>15}" for row in counts]
    return "\n".join(lines)


def as_documents(
    counts: Sequence[ReferenceCount], stewart: Sequence[StewartCount]
) -> dict[str, list[dict[str, Any]]]:
    """The same for programs."""
    return {
        "generated_reference_models": [_arm(row) for row in counts],
        "generated_stewart_models": [
            {"model": row.name, "frictionless": asdict(row.without), "friction": asdict(row.with_friction)}
            for row in stewart
        ],
    }


def _arm(row: ReferenceCount) -> dict[str, Any]:
    model = row.reference
    return {
        "model": model.name,
        "elsewhere": {
            "multiplications": model.multiplications,
            "additions": model.additions,
            "source": model.source,
            "published": model.published,
        },
        "generated": asdict(row.count),
        "generated_with_joint_angles_only": asdict(row.joint_angles_only),
        "draws": row.draws,
        "worst": None
        if row.worst is None
        else {"generated": row.worst[0], "joint_angles_only": row.worst[1]},
    }


def _sum(multiplications: int, additions: int) -> str:
    return f"{multiplications}* {additions}+ = {multiplications + additions}"


def write_counted(folder: Path, robot: str = "", model: SerialModel | None = None) -> list[Path]:
    """Write the C of the reference models' and Stewart platforms' programs, and of ``model``'s where given.

    Each file has one function, for anyone to count again.

    Args:
        folder: made if need be.
        robot: name of ``model``.
        model: a robot that is counted too.

    Raises:
        ParameterError: the folder cannot be written.
    """
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stem, program, notice in _programs(robot, model):
            path = folder / f"{stem}.c"
            path.write_text(c_source([replace(program, name=stem)], None, notice), encoding="utf-8")
            paths.append(path)
    except OSError as error:
        raise ParameterError(f"cannot write to {folder}: {error.strerror}") from error
    return paths


def _programs(robot: str, model: SerialModel | None) -> Iterator[tuple[str, Program, list[str]]]:
    """File stem, program and what its head says."""
    for objective, ending in OBJECTIVES.items():
        for reference in REFERENCE_MODELS:
            program, _ = reference_program(reference, objective)
            yield reference.file + ending, program, [f"{reference.name}.", *_objective(objective), _NUMBERS]
        if model is not None:
            program = generate(model, objective=objective)
            yield identifier(robot) + ending, program, [f"{robot}.", *_objective(objective)]
    for name, stewart in counted_programs().items():
        yield name, stewart.program, [f"{name.replace('_', ' ')}: actuator forces."]


def _objective(objective: Objective) -> list[str]:
    return [f"Inverse dynamics. Objective {objective.option}: {objective.value}."]
