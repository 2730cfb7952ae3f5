"""The quantities that are generated for an arm; a new one is a file here and a line below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robot_dynamics.dynamics.quantities import (
    base_regressor,
    coriolis,
    coriolis_matrix,
    energy,
    forward_dynamics,
    forward_dynamics_derivatives,
    forward_kinematics,
    gravity,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    inverse_mass_matrix,
    jacobian,
    jacobian_rate,
    mass_matrix,
    momentum,
    regressor,
)
from robot_dynamics.dynamics.quantities.quantity import Quantity
from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.arrays import one_of, plain_text


class Quantities:
    """Every quantity as a method."""

    inverse_dynamics = inverse_dynamics.inverse_dynamics
    gravity = gravity.gravity
    coriolis = coriolis.coriolis
    coriolis_matrix = coriolis_matrix.coriolis_matrix
    mass_matrix = mass_matrix.mass_matrix
    inverse_mass_matrix = inverse_mass_matrix.inverse_mass_matrix
    forward_dynamics = forward_dynamics.forward_dynamics
    forward_kinematics = forward_kinematics.forward_kinematics
    jacobian = jacobian.jacobian
    jacobian_rate = jacobian_rate.jacobian_rate
    energy = energy.energy
    momentum = momentum.momentum
    regressor = regressor.regressor
    base_regressor = base_regressor.base_regressor
    inverse_dynamics_derivatives = inverse_dynamics_derivatives.inverse_dynamics_derivatives
    forward_dynamics_derivatives = forward_dynamics_derivatives.forward_dynamics_derivatives


QUANTITIES: Mapping[str, Quantity[..., Any]] = {
    name: member for name, member in vars(Quantities).items() if isinstance(member, Quantity)
}


def quantity_named(name: str) -> Quantity[..., Any]:
    """The quantity with this name.

    Raises:
        ParameterError: there is none; the message names those that there are.
    """
    one_of("quantity", name, QUANTITIES, ParameterError)
    return QUANTITIES[plain_text(name) or ""]
