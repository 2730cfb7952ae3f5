"""Lagrange-Euler formulation evaluated term by term, O(n^4).

Lee, Chung, Mudge, Turney, "On the control of mechanical manipulators", eqs. 3.6-3.10, the organisation that
table 1 counts: the matrices D, H and G are made element by element, each trace by four 4x4 products from the
T_j^i (Lee's i, j, k, m; d2T_0^m from the fragment dT_0^{k-1}/dq_j), and only then multiplied by the motion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.formulations.lagrange_matrices import (
    Transformations,
    pseudo_inertia,
    wrench_force,
)
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector
from robot_dynamics.dynamics.serial_model import SerialModel


@gate
def lagrange_direct(
    model: SerialModel,
    q: Sequence[Scalar] | Vector,
    qd: Sequence[Scalar] | Vector,
    qdd: Sequence[Scalar] | Vector,
    wrench: Sequence[Scalar] | Vector | None = None,
    scalars: ScalarField = FLOATS,
) -> Vector:
    """Generalised forces (n,) [N·m or N] for the motion ``q``, ``qd``, ``qdd`` (n,) of ``model``.

    The tip exerts ``wrench``, and ``scalars`` is the kind of numbers: see `common.Formulation`.
    """
    motions = common.joint_motions(model.links, q, qd, qdd, scalars)
    t = Transformations(model, motions, scalars, "T_j^i")
    size = t.size
    inertias = [pseudo_inertia(link, scalars) for link in t.links]
    g = [_gravity_force(model, t, i, scalars) for i in range(1, size + 1)]
    d, fragments = _inertia_matrix(t, inertias, scalars)
    h = _coriolis_matrices(t, inertias, fragments, scalars)
    rate, acceleration = (np.array(x) for x in zip(*((m.rate, m.acceleration) for m in motions), strict=True))
    force, torque = common.tip_load(model, wrench, scalars)
    forces: list[Scalar] = []
    for i in range(1, size + 1):
        scalars.step("tau = D qdd + H + G", i)
        total = d[i - 1] @ acceleration + (h[i - 1] @ rate) @ rate + g[i - 1]  # 3.7
        if wrench is not None:
            scalars.step("tip wrench", i)
            derivative = _first(t, size, i)
            total = total + wrench_force(t.between(0, size), derivative, force, torque)
        forces.append(total)
    return common.coordinate_forces(model.links, forces, model.dof)


def _first(t: Transformations, m: int, j: int) -> Matrix:
    """dT_0^m/dq_j = T_0^{j-1} Q T_{j-1}^m, always by a product (2.6)."""
    return t.between(0, j - 1) @ t.differentiated(j, t.between(j - 1, m))


def _gravity_force(model: SerialModel, t: Transformations, i: int, scalars: ScalarField) -> Scalar:
    """G_i (3.10), with the sign of 3.6."""
    gravity = scalars.parameters(model.rebased().gravity, structural_zeros=True)
    total: Scalar = 0.0
    for m in range(i, t.size + 1):
        scalars.step("-m_j g dT/dq_i rbar_j", i)
        link = t.links[m - 1]
        mass, rbar = scalars.parameters(link.mass)[()], scalars.parameters([*link.center_of_mass, 1.0])
        derivative = t.differentiated(1, t.between(0, m)) if i == 1 else _first(t, m, i)
        for axis in range(3):
            if not (isinstance(gravity[axis], float) and gravity[axis] == 0.0):
                scalars.step("-m_j g dT/dq_i rbar_j", i)
                weight = (derivative[axis] * (mass * -gravity[axis])) @ rbar
                scalars.step("sum of the above", i)
                total = total + weight
    return total


def _inertia_matrix(
    t: Transformations, inertias: Sequence[Matrix], scalars: ScalarField
) -> tuple[Matrix, dict[tuple[int, int], Matrix]]:
    """D (3.8), symmetric, and the dT_0^k/dq_j that it was made of."""
    d = np.empty((t.size, t.size), dtype=object)
    fragments = {}
    for j in range(1, t.size + 1):
        for i in range(1, j + 1):
            total: Scalar = 0.0
            for k in range(j, t.size + 1):
                scalars.step("Tr{dT/dq_j J_k dT/dq_i}", k)
                fragments[k, j] = _first(t, k, j)
                term = np.trace(fragments[k, j] @ inertias[k - 1] @ _first(t, k, i).T)
                scalars.step("D: sum of the above", k)
                total = total + term
            d[i - 1, j - 1] = d[j - 1, i - 1] = total
    return d, fragments


def _coriolis_matrices(
    t: Transformations,
    inertias: Sequence[Matrix],
    fragments: dict[tuple[int, int], Matrix],
    scalars: ScalarField,
) -> Matrix:
    """H_ijk (3.9), symmetric in j and k."""
    h = np.empty((t.size,) * 3, dtype=object)
    for i in range(1, t.size + 1):
        for k in range(1, t.size + 1):
            for j in range(1, k + 1):
                total: Scalar = 0.0
                for m in range(max(i, k), t.size + 1):
                    scalars.step("Tr{d2T/dq_j dq_k J_m dT/dq_i}", m)
                    moved = t.differentiated(k, t.between(k - 1, m))
                    if j == k:
                        second = t.between(0, j - 1) @ t.differentiated(j, moved)
                    else:
                        second = fragments[k - 1, j] @ moved
                    term = np.trace(second @ inertias[m - 1] @ _first(t, m, i).T)
                    scalars.step("H: sum of the above", m)
                    total = total + term
                h[i - 1, j - 1, k - 1] = h[i - 1, k - 1, j - 1] = total
    return h
