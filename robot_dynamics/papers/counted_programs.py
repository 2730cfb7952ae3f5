"""The C of every program that is counted, one function a file, for anyone to count again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from robot_dynamics.codegen.emit_c import c_source
from robot_dynamics.codegen.program import Program
from robot_dynamics.dynamics.export import identifier
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import generate
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ParameterError
from robot_dynamics.papers.dasgupta.machines import counted_programs
from robot_dynamics.papers.reference_models import OBJECTIVES, REFERENCE_MODELS, reference_program

_NUMBERS = (
    "The constants are the model's lengths and inertial parameters, or follow from them alone; lengths are"
    " generic numbers."
)


def write_counted(folder: Path, robot: str = "", model: SerialModel | None = None) -> list[Path]:
    """Write the programs of the reference models and Stewart platforms, and of ``model`` where given.

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
