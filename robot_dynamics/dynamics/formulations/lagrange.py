"""Lagrange-Euler formulation, organised to cost O(n^3).

Turney, Mudge, Lee, "Equivalence of two formulations for robot arm dynamics", 1980, section 2 (the unnumbered
equation before 2.11) in the order of the appendix: all T_j^i first, then first and second derivatives from
their fragments, then one matrix per link,

    [sum_j dT_0^q/dq_j qdd_j + sum_jk d2T_0^q/dq_j dq_k qd_j qd_k] J_q,

whose trace with dT_0^q/dq_i is link q's share of every torque.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.formulations.lagrange_matrices import (
    Transformations,
    pseudo_inertia,
    trace_of_product,
    wrench_force,
)
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector
from robot_dynamics.dynamics.serial_model import SerialModel


@gate
def lagrange(
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
    transformations = Transformations(model, motions, scalars, "T_j^i")
    size = transformations.size
    first = _first_derivatives(transformations, scalars)
    second = _second_derivatives(transformations, first, scalars)
    scalars.step("2 qd", 0)
    twice = [motion.rate + motion.rate for motion in motions]

    inertial = []
    for s, link in enumerate(transformations.links, 1):  # s: the papers' q
        scalars.step("[sum ...] J_q", s)
        terms: list[Matrix] = [first[s, j] * motions[j - 1].acceleration for j in range(1, s + 1)]
        for j in range(1, s + 1):
            terms.append(second[s, j, j] * (motions[j - 1].rate * motions[j - 1].rate))
            terms.extend(second[s, j, k] * (twice[j - 1] * motions[k - 1].rate) for k in range(j + 1, s + 1))
        inertial.append(_sum(terms) @ pseudo_inertia(link, scalars))

    gravity = scalars.parameters(model.rebased().gravity, structural_zeros=True)
    force, torque = common.tip_load(model, wrench, scalars)
    forces: list[Scalar] = []
    for i in range(1, size + 1):
        scalars.step("Tr{[...] dT/dq_i}", i)
        total = _sum([trace_of_product(inertial[s - 1], first[s, i]) for s in range(i, size + 1)])
        scalars.step("gravity", i)
        weights = []
        for s in range(i, size + 1):
            link = transformations.links[s - 1]
            moment = scalars.parameters(link.mass * np.append(link.center_of_mass, 1.0))
            for axis in range(3):
                if not (isinstance(gravity[axis], float) and gravity[axis] == 0.0):
                    weights.append(first[s, i][axis] @ (moment * -gravity[axis]))  # 2.8
        weight = _sum(weights) if weights else 0.0
        scalars.step("tau_i", i)
        total = total + weight
        if wrench is not None:
            scalars.step("tip wrench", i)
            total = total + wrench_force(transformations.between(0, size), first[size, i], force, torque)
        forces.append(total)
    return common.coordinate_forces(model.links, forces, model.dof)


def _first_derivatives(t: Transformations, scalars: ScalarField) -> dict[tuple[int, int], Matrix]:
    """dT_0^i/dq_j = T_0^{j-1} Q T_{j-1}^i (1.11), for j <= i."""
    first = {}
    for i in range(1, t.size + 1):
        scalars.step("dT/dq_j", i)
        for j in range(1, i + 1):
            moved = t.differentiated(j, t.between(j - 1, i))
            first[i, j] = moved if j == 1 else t.between(0, j - 1) @ moved
    return first


def _second_derivatives(
    t: Transformations, first: dict[tuple[int, int], Matrix], scalars: ScalarField
) -> dict[tuple[int, int, int], Matrix]:
    """d2T_0^i/dq_j dq_k = (dT_0^{k-1}/dq_j) Q T_{k-1}^i (1.12), for j <= k <= i."""
    second = {}
    for i in range(1, t.size + 1):
        scalars.step("d2T/dq_j dq_k", i)
        for k in range(1, i + 1):
            second[i, 1, k] = t.differentiated(1, first[i, k])
            moved = t.differentiated(k, t.between(k - 1, i))
            for j in range(2, k):
                second[i, j, k] = first[k - 1, j] @ moved
            if k > 1:
                second[i, k, k] = t.between(0, k - 1) @ t.differentiated(k, moved)
    return second


def _sum(terms: Sequence[Scalar]) -> Scalar:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
