"""The equations of motion in their textbook forms, for one state, with the robot's parameters in sight.

All take a ``SerialModel``. ``mass_matrix``, ``forward_dynamics`` and ``tip_jacobian`` take scalars of any
kind, as the formulations do. For control loops and batches there is ``compile_dynamics``.
"""

from __future__ import annotations

from robot_dynamics.dynamics.base_parameters import BaseParameters, base_parameters, standard_parameters
from robot_dynamics.dynamics.composite_body import mass_matrix
from robot_dynamics.dynamics.coriolis import christoffel_symbols, coriolis_matrix
from robot_dynamics.dynamics.forward_dynamics import articulated_body, forward_dynamics
from robot_dynamics.dynamics.kinematics import root_jacobian, tip_jacobian
from robot_dynamics.dynamics.motion import ArmMotion, kinetic_energy, potential_energy, simulate
from robot_dynamics.dynamics.strobing import (
    coriolis_forces,
    gravity_forces,
    strobed_coriolis_matrices,
    strobed_mass_matrix,
)

__all__ = [
    "ArmMotion",
    "BaseParameters",
    "Motion",
    "articulated_body",
    "base_parameters",
    "christoffel_symbols",
    "coriolis_forces",
    "coriolis_matrix",
    "forward_dynamics",
    "gravity_forces",
    "kinetic_energy",
    "mass_matrix",
    "potential_energy",
    "root_jacobian",
    "simulate",
    "standard_parameters",
    "strobed_coriolis_matrices",
    "strobed_mass_matrix",
    "tip_jacobian",
]

Motion = ArmMotion
"""Former name of :class:`ArmMotion`; platforms have a class of that name too."""
