"""The Coriolis matrix and the Christoffel symbols, without strobing.

Echeandia & Wensing, "Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body
systems", J. Comput. Nonlinear Dyn. 16(9), 2021: one composite-body sweep, whose matrix is the one of the
Christoffel symbols of the first kind, so that dM/dt - 2 C is skew symmetric.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.dynamics.spatial_chain import (
    SpatialChain,
    coordinate_map,
    motion_cross,
    spatial_chain,
    velocities,
)
from robot_dynamics.spatial import Array, skew


@gate
def coriolis_matrix(model: SerialModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """C (n, n) with C qd the Coriolis and centrifugal forces and dM/dt - 2 C skew symmetric.

    Args:
        model: the arm.
        q, qd: (n,) coordinates [rad or m] and velocities [rad/s or m/s].
    """
    chain = spatial_chain(model, np.asarray(q, dtype=float))
    to_joints = coordinate_map(model)
    matrix = _joint_coriolis(chain, to_joints @ np.asarray(qd, dtype=float))
    return np.asarray(to_joints.T @ matrix @ to_joints)


@gate
def christoffel_symbols(model: SerialModel, q: ArrayLike) -> Array:
    """C^i_jk as an array (n, n, n) of the first kind: force i is sum over j, k of C[i, j, k] qd_j qd_k.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
    """
    chain = spatial_chain(model, np.asarray(q, dtype=float))
    to_joints = coordinate_map(model)
    slices = [to_joints.T @ _joint_coriolis(chain, to_joints[:, k]) @ to_joints for k in range(model.dof)]
    return np.stack(slices, axis=2)


def _joint_coriolis(chain: SpatialChain, rates: Array) -> Array:
    size = len(rates)
    speed = velocities(chain, rates)
    axis_rates = [motion_cross(v) @ s for v, s in zip(speed, chain.axes, strict=True)]
    matrix = np.zeros((size, size))
    inertia, coupling = np.zeros((6, 6)), np.zeros((6, 6))
    for j in range(size - 1, -1, -1):
        inertia = inertia + chain.inertias[j]
        coupling = coupling + _body_coupling(chain.inertias[j], speed[j])
        s = chain.axes[j]
        f1 = inertia @ axis_rates[j] + coupling @ s
        f2, f3 = inertia @ s, coupling.T @ s
        for i in range(j + 1):
            matrix[i, j] = chain.axes[i] @ f1
            if i < j:
                matrix[j, i] = axis_rates[i] @ f2 + chain.axes[i] @ f3
    return matrix


def _body_coupling(inertia: Array, v: Array) -> Array:
    """B = (v x* I - I v x + (I v) xbar*) / 2, the body's velocity-dependent coupling."""
    across = motion_cross(v)
    momentum = inertia @ v
    swapped = np.zeros((6, 6))  # (I v) xbar*: f xbar* m = m x* f
    swapped[:3, :3] = -skew(momentum[:3])
    swapped[:3, 3:] = -skew(momentum[3:])
    swapped[3:, :3] = -skew(momentum[3:])
    return np.asarray(0.5 * (-across.T @ inertia - inertia @ across + swapped))
