"""M, C and G of tau = M qdd + C(q, qd) + G, read off inverse dynamics by strobing its inputs.

Turney, Mudge, Lee 1980, end of section 3: unit accelerations with everything else at zero give the columns of
M, unit velocities the coefficients of the Coriolis and centrifugal terms. With two velocities at one the
equations return C_jj + C_kk + 2 C_jk: the squares' coefficients have to be taken off, which the report omits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.formulations import Formulation, modified_newton_euler
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.spatial import Array


@gate
def strobed_mass_matrix(
    model: SerialModel, q: ArrayLike, inverse_dynamics: Formulation = modified_newton_euler
) -> Array:
    """The mass matrix M (n, n) [kg·m², kg·m or kg], a column for each unit acceleration.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
        inverse_dynamics: the formulation that is asked.
    """
    weightless, position, rest = _weightless(model), np.asarray(q, dtype=float), np.zeros(model.dof)
    columns = [inverse_dynamics(weightless, position, rest, unit) for unit in np.eye(model.dof)]
    return np.column_stack(columns).astype(float)


@gate
def strobed_coriolis_matrices(
    model: SerialModel, q: ArrayLike, inverse_dynamics: Formulation = modified_newton_euler
) -> Array:
    """C^i_jk as an array (n, n, n): force i is sum over j, k of C[i, j, k] qd_j qd_k.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
        inverse_dynamics: the formulation that is asked.
    """
    weightless, position, rest = _weightless(model), np.asarray(q, dtype=float), np.zeros(model.dof)
    n, units = model.dof, np.eye(model.dof)
    coefficients = np.zeros((n, n, n))
    for j in range(n):
        coefficients[:, j, j] = inverse_dynamics(weightless, position, units[j], rest)
    for j in range(n):
        for k in range(j):
            both = np.asarray(inverse_dynamics(weightless, position, units[j] + units[k], rest), dtype=float)
            mixed = 0.5 * (both - coefficients[:, j, j] - coefficients[:, k, k])
            coefficients[:, j, k] = coefficients[:, k, j] = mixed
    return coefficients


@gate
def coriolis_forces(
    model: SerialModel, q: ArrayLike, qd: ArrayLike, inverse_dynamics: Formulation = modified_newton_euler
) -> Array:
    """Coriolis and centrifugal forces (n,) [N·m or N]: inverse dynamics without gravity and accelerations.

    Args:
        model: the arm.
        q, qd: (n,) coordinates [rad or m] and velocities [rad/s or m/s].
        inverse_dynamics: the formulation that is asked.
    """
    forces = inverse_dynamics(
        _weightless(model), np.asarray(q, dtype=float), np.asarray(qd, dtype=float), np.zeros(model.dof)
    )
    return np.asarray(forces, dtype=float)


@gate
def gravity_forces(
    model: SerialModel, q: ArrayLike, inverse_dynamics: Formulation = modified_newton_euler
) -> Array:
    """Gravity's forces (n,) [N·m or N]: inverse dynamics at rest.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
        inverse_dynamics: the formulation that is asked.
    """
    rest = np.zeros(model.dof)
    return np.asarray(inverse_dynamics(model, np.asarray(q, dtype=float), rest, rest), dtype=float)


def _weightless(model: SerialModel) -> SerialModel:
    return replace(model, gravity=np.zeros(3))
