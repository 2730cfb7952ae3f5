"""The program of every quantity of a chain."""

from __future__ import annotations

import numpy as np

from robot_dynamics.codegen.program import Program
from robot_dynamics.dynamics.generator import Objective, generate
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import BackendError, ModelError, SingularityError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array


def make_program(
    chain: KinematicChain,
    gravity: Array | None,
    quantity: str,
    wrench: bool = False,
    objective: Objective = Objective.TIME,
) -> Program:
    """The program that computes ``quantity`` of ``chain``.

    Args:
        chain: the arm.
        gravity: (3,) gravity in the root frame [m/s²]; None makes it the last input of the program.
        quantity: a key of ``QUANTITIES``.
        wrench: whether a tip wrench is an input, after the states.
        objective: what the generator makes small.

    Raises:
        SingularityError: forward dynamics of an arm with a joint that moves no mass.
    """
    about = QUANTITIES[quantity]
    live = gravity is None and about.takes_gravity
    model = SerialModel.from_chain(chain, np.zeros(3) if gravity is None else gravity)
    try:
        program = generate(model, quantity, wrench=wrench, gravity_input=live, objective=objective)
    except (BackendError, ModelError) as error:
        if quantity != "forward_dynamics":
            raise
        raise SingularityError(
            f"the mass matrix of {chain.name} is singular: one of the joints {', '.join(chain.joint_names)}"
            " moves no mass; give the links beyond it an inertia"
        ) from error
    expected = (*about.states, *(["wrench"] if wrench else []), *(["gravity"] if live else []))
    if tuple(argument.name for argument in program.inputs) != expected:
        raise BackendError(f"the generated {quantity} takes other inputs than {', '.join(expected)}")
    return program
