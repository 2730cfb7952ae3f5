"""Turney's modified Newton-Euler formulation: accelerations and moments through one matrix A_i.

Turney, Mudge, Lee, "Equivalence of two formulations for robot arm dynamics", 1980, section 5. Re-derived,
since the print is inconsistent: K_i is said to be about origin i-1, but what is printed, and what eq. 5.2
needs beside m_i (rbar_i + r_i) x abar_i, is the integral of d d^T about the center of mass. It is printed for
principal axes; here it is full:

    K_i = integral of d d^T dm = tr(I_i)/2 E - I_i,     I_i alpha + omega x (I_i omega) = axial(A_i K_i)

(d x A d integrated over the link), so the moment's x component is (A K)_zy - (A K)_yz: the print has the
opposite sign.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.formulations.newton_euler import angular_matrix
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector, cross
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.spatial import second_moments


@gate
def modified_newton_euler(
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
    links = model.standard_links()
    motions = common.joint_motions(model.links, q, qd, qdd, scalars)
    states = []
    w, al, a = common.base_motion(model.rebased().gravity, scalars)
    for i, (link, motion) in enumerate(zip(links, motions, strict=True), 1):
        scalars.step("R_i", i)
        rot = common.standard_rotation(link, motion, scalars)
        r = common.standard_displacement(link, motion, scalars)
        mass, rbar = scalars.parameters(link.mass)[()], scalars.parameters(link.center_of_mass)
        zqd, zqdd = common.about_z(motion.rate), common.about_z(motion.acceleration)
        if link.revolute:
            scalars.step("alpha_i", i)
            al = rot.T @ (al + cross(w, zqd) + zqdd)  # 3.16
            scalars.step("omega_i", i)
            w = rot.T @ (w + zqd)  # 3.15
        else:
            scalars.step("a_i", i)
            a = a + cross(w, zqd + zqd) + zqdd
            scalars.step("alpha_i", i)
            al = rot.T @ al
            scalars.step("omega_i", i)
            w = rot.T @ w
        scalars.step("A_i", i)
        big_a = angular_matrix(w, al)
        scalars.step("a_i", i)
        ra = rot.T @ a
        if i < len(links):
            a = big_a @ r + ra  # 5.1
        scalars.step("m_i abar_i", i)
        force = big_a @ ((r + rbar) * mass) + ra * mass
        states.append((rot, r, big_a, force))

    f, n = common.tip_load(model, wrench, scalars)
    forces: list[Scalar] = []
    rot_next: Matrix = np.eye(3)
    for i in range(len(links), 0, -1):
        link = links[i - 1]
        rot, r, big_a, force = states[i - 1]
        rbar = scalars.parameters(link.center_of_mass)
        k = second_moments(link.inertia)
        scalars.step("f_i", i)
        rf = rot_next @ f
        f = force + rf
        scalars.step("Tr{A_i K_i sigma}", i)
        moment = _axial_of_product(big_a, scalars.parameters(k, structural_zeros=True))
        scalars.step("m (r_i + rbar_i) x abar_i", i)
        lever = cross(r + rbar, force)
        scalars.step("r_i x R f_{i+1}", i)
        load = cross(r, rf)
        scalars.step("R n_{i+1}", i)
        rn = rot_next @ n
        scalars.step("add n", i)
        n = moment + lever + load + rn  # 5.2
        scalars.step("tau_i", i)
        z = scalars.parameters([link.sin_alpha, link.cos_alpha])
        forces.append(z @ (n[1:] if link.revolute else f[1:]))  # 3.21
        rot_next = rot
    return common.coordinate_forces(model.links, forces[::-1], model.dof)


def _axial_of_product(a: Matrix, k: Matrix) -> Vector:
    """axial(A K), computing only the entries that it takes."""
    return np.array(
        [
            a[2] @ k[:, 1] - a[1] @ k[:, 2],
            a[0] @ k[:, 2] - a[2] @ k[:, 0],
            a[1] @ k[:, 0] - a[0] @ k[:, 1],
        ]
    )
