"""Renaud's formulation by augmented bodies, on modified DH frames.

M. Renaud, "Quasi-minimal computation of the dynamic model of a robot manipulator utilizing the Newton-Euler
formalism and the notion of augmented body", ICRA 1987, relations (0)-(10). Augmented body i is link i with
the mass of all links beyond it attached to the origin O_{i+1}; where joint i+1 slides, that mass slides too
and the augmented moments are computed on line.

Re-derived with f_i = sum over j >= i of m_j (alpha_j + b_j d_jj) and alpha_{j+1} = alpha_j + b_j p_{j,j+1} +
sigma_{j+1} t_{j+1}: the printed bars over sigma are not reliable. What holds is

    e_i = e_{i+1} + b_i u*_i + sigma_i m*_i t_i            f_i = e_i + m*_i rho_{i-1}
    n_i = n_{i+1} + k*_i a_i + omega_i x (k*_i omega_i) + u*_i x alpha_i + p_{i,i+1} x e_{i+1}

with rho_{i-1} = alpha_{i-1} + b_{i-1} p_{i-1,i} (Renaud's r_{i-1}), sigma = 1 for a prismatic joint.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector, cross
from robot_dynamics.dynamics.serial_model import SerialModel


def augmented_body(
    model: SerialModel,
    q: Sequence[Scalar] | Vector,
    qd: Sequence[Scalar] | Vector,
    qdd: Sequence[Scalar] | Vector,
    wrench: Sequence[Scalar] | Vector | None = None,
    scalars: ScalarField = FLOATS,
) -> Vector:
    """Generalised forces (n,) [N·m or N]; see `common.Formulation` for the arguments."""
    links, size = model.links, len(model.links)
    motions = common.joint_motions(links, q, qd, qdd, scalars)
    w, a, alpha = common.base_motion(model.gravity, scalars)
    b: Matrix = scalars.as_variables(scalars.parameters(np.zeros((3, 3))))
    rotations, displacements, states = [], [], []
    for i, (link, motion) in enumerate(zip(links, motions, strict=True), 1):
        scalars.step("rotation and displacement", i)
        rot = common.modified_rotation(link, motion, scalars)
        p = common.modified_displacement(link, motion, scalars)
        zqd, zqdd = common.about_z(motion.rate), common.about_z(motion.acceleration)
        scalars.step("6 (alpha)", i)
        rho = rot.T @ (alpha + b @ p)  # (6a), (6b)
        scalars.step("1 (omega)", i)
        w_before = rot.T @ w  # (1a)
        w = w_before + zqd if link.revolute else w_before  # (1b)
        scalars.step("3 (a)", i)
        a = rot.T @ a  # (3a)
        if link.revolute:
            a = a + cross(w_before, zqd) + zqdd  # (3b)
        scalars.step("2 (delta)", i)
        delta = _products(w)  # (2)
        scalars.step("4 (b)", i)
        b = _angular_tensor(a, delta)  # (4)
        t: Vector = np.zeros(3)
        if not link.revolute:
            scalars.step("5 (t)", i)
            t = cross(w_before, zqd + zqd) + zqdd  # (5)
            scalars.step("6 (alpha)", i)
        alpha = t + rho  # (6c)
        rotations.append(rot)
        displacements.append(p)
        states.append((a, delta, b, t, rho, alpha))

    e, n = common.tip_load(model, wrench, scalars)
    forces: list[Scalar] = []
    beyond = np.cumsum([0.0, *(link.mass for link in links[::-1])])[::-1]  # m*_i at i-1, m*_{n+1} = 0 at n
    for i in range(size, 0, -1):
        link = links[i - 1]
        a, delta, b, t, rho, alpha = states[i - 1]
        rot_next, p_next = (rotations[i], displacements[i]) if i < size else (np.eye(3), np.zeros(3))
        scalars.step("0 (augmented body)", i)
        u = scalars.parameters(link.first_moment) + p_next * scalars.parameters(beyond[i])[()]  # (0a)
        k = scalars.parameters(link.inertia) + _point_inertia(
            p_next, scalars.parameters(beyond[i])[()]
        )  # (0b)
        scalars.step("7 (e)", i)
        e_next = rot_next @ e  # (7b)
        e = e_next + b @ u  # (7a)
        mass = scalars.parameters(beyond[i - 1])[()]
        if not link.revolute:
            e = e + t * mass
        scalars.step("9 (n)", i)
        n = (
            (rot_next @ n) + _gyroscopic(k, a, delta, b) + cross(u, alpha) + cross(p_next, e_next)
        )  # (9a), (9b)
        if link.revolute:
            forces.append(n[2])  # (10)
        else:
            scalars.step("8 (f)", i)
            forces.append(e[2] + rho[2] * mass)  # (8), (10)
    return common.coordinate_forces(links, forces[::-1], model.dof)


def _products(w: Vector) -> Matrix:
    """delta = omega (x) omega."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _angular_tensor(a: Vector, delta: Matrix) -> Matrix:
    """b = a^ + omega^ omega^."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = delta
    return np.array(
        [
            [-(yy + zz), xy - a[2], xz + a[1]],
            [xy + a[2], -(xx + zz), yz - a[0]],
            [xz - a[1], yz + a[0], -(xx + yy)],
        ]
    )


def _gyroscopic(k: Matrix, a: Vector, delta: Matrix, b: Matrix) -> Vector:
    """k a + omega x (k omega), in the entries of delta and b."""
    (kxx, kxy, kxz), (_, kyy, kyz), (_, _, kzz) = k
    return np.array(
        [
            (a[0] * kxx + delta[1, 2] * (kzz - kyy))
            + kyz * (b[1, 1] - b[2, 2])
            + kxz * b[1, 0]
            - kxy * b[2, 0],
            (a[1] * kyy + delta[0, 2] * (kxx - kzz))
            + kxz * (b[2, 2] - b[0, 0])
            + kxy * b[2, 1]
            - kyz * b[0, 1],
            (a[2] * kzz + delta[0, 1] * (kyy - kxx))
            + kxy * (b[0, 0] - b[1, 1])
            + kyz * b[0, 2]
            - kxz * b[1, 2],
        ]
    )


def _point_inertia(p: Vector, mass: Scalar) -> Matrix:
    """-m p^ p^: inertia about the origin of a point mass at p."""
    mx, my, mz = p * mass
    xx, yy, zz = mx * p[0], my * p[1], mz * p[2]
    xy, xz, yz = mx * p[1], mx * p[2], my * p[2]
    return np.array([[yy + zz, -xy, -xz], [-xy, xx + zz, -yz], [-xz, -yz, xx + yy]])
