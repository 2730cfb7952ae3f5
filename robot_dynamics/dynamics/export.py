"""Customised models as files that a user keeps, in any of the known languages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from robot_dynamics.codegen.program import Program
from robot_dynamics.dynamics.generator.inputs import described
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.dynamics.quantities import quantity_named
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

LICENSE = "Apache-2.0"
"""SPDX identifier of this package's licence, and of what it writes where no other is asked for."""
EXPORTED = ("inverse_dynamics", "gravity", "mass_matrix", "forward_dynamics")


@dataclass(frozen=True)
class Export:
    """Description of the files that are written about a chain.

    Attributes:
        chain: the arm.
        gravity: (3,) gravity in the root frame [m/s²].
        quantities: names of the functions.
        wrench: whether inverse and forward dynamics take a tip wrench.
        name: start of every file and function name; made from the robot's name by :func:`identifier`.
        source: where the model comes from, with a digest of it, for the files' heads.
        objective: what the generator makes small.
        held: whether gravity, payload and friction are arguments, instead of a constant and nothing.
        cmake: whether C comes as a CMake package.
        friction: whether functions for CasADi contain the friction of the description.
        options: what quantities that can choose a frame or axes are given, by name.
        license: SPDX identifier of the licence of what is written.
    """

    chain: KinematicChain
    gravity: Array
    quantities: Sequence[str]
    wrench: bool
    name: str
    source: str
    objective: Objective = Objective.TIME
    held: bool = False
    cmake: bool = False
    friction: bool = False
    license: str = LICENSE
    options: Mapping[str, Any] = field(default_factory=dict)

    def programs(self) -> list[Program]:
        """The generated programs, their names and arguments as they will be written."""
        return [self._program(quantity) for quantity in self.quantities]

    def _program(self, name: str) -> Program:
        quantity = quantity_named(name)
        given = [array.name for array in quantity.optional if self.wrench and array.name == "wrench"]
        if self.held:
            given += [array.name for array in quantity.held]
        gravity = None if "gravity" in given else self.gravity
        program = make_program(self.chain, gravity, name, given, self.objective, self.settings(name))
        kinds = [self.chain.driving_joint(i).kind for i in range(self.chain.dof)]
        taken = (*quantity.states, *quantity.inputs(given))
        return replace(
            program,
            name=f"{self.name}_{name}",
            inputs=tuple(
                replace(argument, description=described(array.description, kinds))
                for argument, array in zip(program.inputs, taken, strict=True)
            ),
            outputs=tuple(
                replace(argument, description=described(array.description, kinds))
                for argument, array in zip(program.outputs, quantity.outputs, strict=True)
            ),
        )

    def shapes(self, name: str, program: Program) -> tuple[tuple[int, ...], ...]:
        """Shape of every output of the ``program`` of a quantity, for one state."""
        joints = self.chain.dof

        def count_base() -> int:
            return program.outputs[0].size // joints

        return quantity_named(name).signature(self.chain, count_base, (), self.settings(name)).outputs

    def settings(self, name: str) -> dict[str, str]:
        """The options of a quantity as programs know them.

        Raises:
            ParameterError: no such choice.
        """
        quantity = quantity_named(name)
        known = {option.name for option in quantity.options}
        return quantity.chosen(self.chain, {k: v for k, v in self.options.items() if k in known})

    def notice(self) -> list[str]:
        """Lines that a reader of the files must know."""
        chain = self.chain
        kinds = (chain.driving_joint(i).kind.value for i in range(chain.dof))
        joints = [f"{name} ({kind})" for name, kind in zip(chain.joint_names, kinds, strict=True)]
        gravity = ", ".join(f"{value:g}" for value in self.gravity)
        tips = ", ".join(tip.link for tip in chain.tips)
        return [
            f"Robot: {chain.name}, from link {chain.root} to link {tips}.",
            f"Source: {self.source}.",
            f"Joint order: {', '.join(joints)}.",
            f"Objective {self.objective.option}: {self.objective.value}.",
            *(f"Option {key}: {value}." for key, value in self.options.items() if value is not None),
            f"Gravity in the frame of {chain.root}: {'an argument' if self.held else f'[{gravity}] m/s^2'}.",
        ]


def identifier(text: str) -> str:
    """``text`` as the start of a C or Python name."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
    return name if re.match(r"[a-z]", name) else f"robot_{name}".rstrip("_")
