"""The program of every quantity of a chain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.program import Argument, Program
from robot_dynamics.dynamics.composite_body import mass_matrix
from robot_dynamics.dynamics.formulations import augmented_body
from robot_dynamics.dynamics.forward_dynamics import forward_dynamics
from robot_dynamics.dynamics.kinematics import tip_jacobian
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.dynamics.scalar import SYMBOLS
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.model.chain import KinematicChain


def make_program(
    chain: KinematicChain, gravity: NDArray[np.float64], quantity: str, wrench: bool = False
) -> Program:
    """The program that computes ``quantity`` of ``chain`` under ``gravity`` (3,) in the root frame [m/s²]."""
    model = SerialModel.from_chain(chain, gravity)
    graph = ExpressionGraph()
    zero: list[Expression] = [graph.expression(0.0)] * chain.dof
    states: list[Any] = [
        np.array(graph.input(name, chain.dof), dtype=object) for name in QUANTITIES[quantity].states
    ]
    load = np.array(graph.input("wrench", 6), dtype=object) if wrench else None
    if quantity == "inverse_dynamics":
        result = augmented_body(model, states[0], states[1], states[2], load, SYMBOLS)
    elif quantity == "gravity":
        result = augmented_body(model, states[0], zero, zero, None, SYMBOLS)
    elif quantity == "coriolis":
        weightless = replace(model, gravity=np.zeros(3))
        result = augmented_body(weightless, states[0], states[1], zero, None, SYMBOLS)
    elif quantity == "mass_matrix":
        result = mass_matrix(model, states[0], SYMBOLS)
    elif quantity == "forward_dynamics":
        result = forward_dynamics(model, states[0], states[1], states[2], load, SYMBOLS)
    else:
        result = tip_jacobian(model, states[0], SYMBOLS)
    scalars = list(np.asarray(result, dtype=object).reshape(-1))
    return graph.build_program(quantity, [(Argument("result", len(scalars)), scalars)])
