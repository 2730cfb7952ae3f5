"""Forward dynamics: the accelerations that given efforts produce.

Two ways that share no equation: elimination on the mass matrix (Turney 1980, section 7), and articulated
bodies (Featherstone 2008, section 7.3), which cost O(n).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.composite_body import mass_matrix
from robot_dynamics.dynamics.formulations import augmented_body
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.dynamics.spatial_chain import joint_rates, motion_cross, spatial_chain, velocities
from robot_dynamics.errors import ModelError, SingularityError
from robot_dynamics.spatial import Array


@gate
def forward_dynamics(
    model: SerialModel,
    q: Sequence[Scalar] | Vector,
    qd: Sequence[Scalar] | Vector,
    tau: Sequence[Scalar] | Vector,
    wrench: Sequence[Scalar] | Vector | None = None,
    scalars: ScalarField = FLOATS,
) -> Vector:
    """Accelerations (n,) [rad/s² or m/s²] by elimination on the mass matrix, for any scalars.

    Args:
        model: the arm; mimic joints are allowed.
        q, qd, tau: (n,) coordinates, velocities, efforts [rad or m, per s, N·m or N].
        wrench: (6,) [force, torque] exerted on the environment at the tip, in the tip frame.
        scalars: the kind of scalars of the above; they must divide too.

    Raises:
        SingularityError: a joint moves no mass.
    """
    bias = augmented_body(model, q, qd, [0.0] * model.dof, wrench, scalars)
    right = [effort - force for effort, force in zip(tau, bias, strict=True)]
    return solve_symmetric(mass_matrix(model, q, scalars), right, model.coordinate_names)


def solve_symmetric(matrix: Matrix, right: Sequence[Scalar], names: Sequence[str]) -> Vector:
    """x of ``matrix`` x = ``right`` by L D L^T without pivoting: a mass matrix is positive definite."""
    n = len(right)
    lower: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    pivots: list[Scalar] = []
    x = list(right)
    for j in range(n):
        row = lower[j]
        scaled = [row[k] * pivots[k] for k in range(j)]
        pivot = matrix[j][j]
        for k in range(j):
            pivot = pivot - row[k] * scaled[k]
        if isinstance(pivot, float) and not pivot > 1e-14 * abs(matrix[j][j]):
            raise SingularityError(
                f"the mass matrix is singular at joint {names[j]!r} (pivot {pivot:.2e}):"
                " the joint, with those before it, must move mass"
            )
        pivots.append(pivot)
        for i in range(j + 1, n):
            entry = matrix[i][j]
            for k in range(j):
                entry = entry - lower[i][k] * scaled[k]
            lower[i][j] = entry / pivot
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - lower[i][k] * x[k]
    x = [value / pivot for value, pivot in zip(x, pivots, strict=True)]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] = x[i] - lower[k][i] * x[k]
    return np.array(x)


@gate
def articulated_body(
    model: SerialModel, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, wrench: ArrayLike | None = None
) -> Array:
    """Accelerations (n,) [rad/s² or m/s²] by articulated-body inertias.

    Args:
        model: the arm, without mimic joints.
        q, qd, tau: (n,) coordinates, velocities, efforts [rad or m, per s, N·m or N].
        wrench: (6,) [force, torque] exerted on the environment at the tip, in the tip frame.

    Raises:
        ModelError: two joints share a coordinate (mimic joints close a loop that this recursion cannot see).
        SingularityError: a joint moves no mass.
    """
    if len(model.links) != model.dof:
        raise ModelError("articulated bodies need independent joints; use forward_dynamics for mimic joints")
    chain = spatial_chain(model, np.asarray(q, dtype=float))
    rates = joint_rates(model, np.asarray(qd, dtype=float))
    efforts = [np.asarray(tau, dtype=float)[link.coordinate] * link.multiplier for link in model.links]
    speed = velocities(chain, rates)
    size = len(model.links)
    bias = [-motion_cross(v).T @ inertia @ v for v, inertia in zip(speed, chain.inertias, strict=True)]
    bias[-1] = bias[-1] + _tip_force(model, chain.poses[-1], wrench)
    coupling = [motion_cross(v) @ s * rate for v, s, rate in zip(speed, chain.axes, rates, strict=True)]
    inertia, force = np.zeros((6, 6)), np.zeros(6)
    carried = []
    for i in range(size - 1, -1, -1):
        inertia, force = inertia + chain.inertias[i], force + bias[i]
        u = inertia @ chain.axes[i]
        d = float(chain.axes[i] @ u)
        if not d > 1e-14 * float(np.abs(inertia).max(initial=0.0)) * float(chain.axes[i] @ chain.axes[i]):
            raise SingularityError(
                f"joint {model.links[i].name!r} moves no mass (articulated inertia {d:.2e})"
            )
        effort = efforts[i] - chain.axes[i] @ force
        carried.append((u, d, effort))
        inertia = inertia - np.outer(u, u) / d
        force = force + inertia @ coupling[i] + u * effort / d
    acceleration = np.concatenate([np.zeros(3), -model.gravity])
    result = np.zeros(model.dof)
    for i, (u, d, effort) in enumerate(carried[::-1]):
        acceleration = acceleration + coupling[i]
        joint = (effort - u @ acceleration) / d
        acceleration = acceleration + chain.axes[i] * joint
        result[model.links[i].coordinate] = joint * model.links[i].multiplier
    return result


def _tip_force(model: SerialModel, last_pose: Array, wrench: ArrayLike | None) -> Array:
    """The wrench on the environment as a spatial force in frame 0."""
    if wrench is None:
        return np.zeros(6)
    load = np.asarray(wrench, dtype=float)
    tip = last_pose @ model.tip
    force = tip[:3, :3] @ load[:3]
    return np.concatenate([tip[:3, :3] @ load[3:] + np.cross(tip[:3, 3], force), force])
