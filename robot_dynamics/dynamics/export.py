"""Customised models as files that a user keeps: C99 source and header, or a Python module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from robot_dynamics.codegen.emit_c import c_header, c_source
from robot_dynamics.codegen.emit_python import python_module
from robot_dynamics.codegen.program import Argument, Program
from robot_dynamics.dynamics.generator import Objective
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array

LANGUAGES = ("c", "python")
EXPORTED = ("inverse_dynamics", "gravity", "mass_matrix", "forward_dynamics")

_DESCRIPTIONS = {
    "q": "joint positions [{0}]",
    "qd": "joint velocities [{1}]",
    "qdd": "joint accelerations [{2}]",
    "tau": "joint efforts [{3}]",
    "wrench": "[force, torque] that the arm exerts on its environment at the tip, in the tip frame [N, N m]",
    "mass_matrix": "joint-space mass matrix, row by row, symmetric [kg m^2, kg m or kg]",
    "jacobian": "6 rows: linear, then angular velocity of the tip in the tip frame, per joint velocity",
}
_UNITS = {
    JointKind.REVOLUTE: ("rad", "rad/s", "rad/s^2", "N m"),
    JointKind.PRISMATIC: ("m", "m/s", "m/s^2", "N"),
}
_RESULTS = {
    "inverse_dynamics": "tau",
    "gravity": "tau",
    "coriolis": "tau",
    "mass_matrix": "mass_matrix",
    "forward_dynamics": "qdd",
    "jacobian": "jacobian",
}


@dataclass(frozen=True)
class Export:
    """What is written about a chain.

    Attributes:
        chain: the arm.
        gravity: (3,) gravity in the root frame [m/s²].
        quantities: names of the functions.
        wrench: whether inverse and forward dynamics take a tip wrench.
        name: start of every file and function name; made from the robot's name by :func:`identifier`.
        source: where the model comes from, with a digest of it, for the files' heads.
        objective: what the generator makes small.
    """

    chain: KinematicChain
    gravity: Array
    quantities: Sequence[str]
    wrench: bool
    name: str
    source: str
    objective: Objective = Objective.TIME

    def programs(self) -> list[Program]:
        """The generated programs, their names and arguments as they will be written."""
        return [self._program(quantity) for quantity in self.quantities]

    def _program(self, quantity: str) -> Program:
        with_wrench = self.wrench and QUANTITIES[quantity].takes_wrench
        program = make_program(self.chain, self.gravity, quantity, with_wrench, self.objective)
        result = Argument(_RESULTS[quantity], len(program.results), self._describe(_RESULTS[quantity]))
        return replace(
            program,
            name=f"{self.name}_{quantity}",
            inputs=tuple(replace(a, description=self._describe(a.name)) for a in program.inputs),
            outputs=(result,),
        )

    def _describe(self, argument: str) -> str:
        kinds = {self.chain.driving_joint(i).kind for i in range(self.chain.dof)}
        units = [_UNITS[kind] for kind in JointKind if kind in kinds]
        return _DESCRIPTIONS[argument].format(*(" or ".join(same) for same in zip(*units, strict=True)))

    def notice(self) -> list[str]:
        """What a reader of the files must know."""
        chain = self.chain
        kinds = (chain.driving_joint(i).kind.value for i in range(chain.dof))
        joints = [f"{name} ({kind})" for name, kind in zip(chain.joint_names, kinds, strict=True)]
        gravity = ", ".join(f"{value:g}" for value in self.gravity)
        return [
            f"Robot: {chain.name}, from link {chain.root} to link {chain.tip}.",
            f"Source: {self.source}.",
            f"Joint order: {', '.join(joints)}.",
            f"Written for little {self.objective.value}.",
            f"Gravity in the frame of {chain.root}: [{gravity}] m/s^2.",
        ]


def identifier(text: str) -> str:
    """``text`` as the start of a C or Python name."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
    return name if re.match(r"[a-z]", name) else f"robot_{name}".rstrip("_")


def write_c(export: Export, folder: Path) -> list[Path]:
    """Write source, header and, where inverse and forward dynamics are there, an example; their paths."""
    _make(folder)
    programs = export.programs()
    stem = f"{export.name}_dynamics"
    notice = [*export.notice(), f"Compile with: cc -std=c99 -O2 -c {stem}.c; link with -lm."]
    texts = {
        f"{stem}.c": c_source(programs, f"{stem}.h", notice),
        f"{stem}.h": c_header(programs, f"{stem.upper()}_H", notice),
    }
    if {"inverse_dynamics", "forward_dynamics"} <= set(export.quantities) and not export.wrench:
        template = files("robot_dynamics.dynamics").joinpath("example_controller.cpp").read_text("utf-8")
        texts["example_controller.cpp"] = template.replace("ROBOT", export.name).replace(
            "JOINTS", str(export.chain.dof)
        )
    return _write(folder, texts)


def write_python(export: Export, folder: Path) -> list[Path]:
    """Write the Python module; its path."""
    _make(folder)
    text = python_module(export.programs(), export.notice())
    return _write(folder, {f"{export.name}_dynamics.py": text})


def check_quantities(names: Iterable[str]) -> tuple[str, ...]:
    """``names`` without repetition.

    Raises:
        ParameterError: one of them is no quantity.
    """
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in QUANTITIES:
            raise ParameterError(f"no quantity {name!r}; choose from {', '.join(QUANTITIES)}")
    return chosen


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"cannot write to {folder}: {error.strerror}") from error


def _write(folder: Path, texts: dict[str, str]) -> list[Path]:
    try:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"cannot write to {folder}: {error.strerror}") from error
    return [folder / name for name in texts]
