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
from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector, cross
from robot_dynamics.dynamics.serial_model import SerialModel


@dataclass(frozen=True)
class _LinkMotion:
    """Part of a link's motion that the backward recursion needs, in the link's own frame.

    Attributes:
        rotation, displacement: R_{i-1,i} and p_{i-1,i}, from the frame before.
        a: angular acceleration.
        delta: omega (x) omega.
        b: a^ + omega^ omega^.
        t: acceleration along a sliding joint, zero for a revolute one.
        rho: acceleration of the joint's place on the link before.
        alpha: acceleration of the link's origin.
    """

    rotation: Matrix
    displacement: Vector
    a: Vector
    delta: Matrix
    b: Matrix
    t: Vector
    rho: Vector
    alpha: Vector


@gate
def augmented_body(
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
    motions = _forward(model, common.joint_motions(model.links, q, qd, qdd, scalars), scalars)
    forces = _backward(model, motions, common.tip_load(model, wrench, scalars), scalars)
    return common.coordinate_forces(model.links, forces, model.dof)


def _forward(
    model: SerialModel, joints: Sequence[common.JointMotion], scalars: ScalarField
) -> list[_LinkMotion]:
    """Relations (1) to (6), from the base to the last link."""
    w, a, alpha = common.base_motion(model.gravity, scalars)
    b: Matrix = scalars.as_variables(scalars.parameters(np.zeros((3, 3))))
    motions = []
    for i, (link, joint) in enumerate(zip(model.links, joints, strict=True), 1):
        scalars.step("rotation and displacement", i)
        rot = common.modified_rotation(link, joint, scalars)
        p = common.modified_displacement(link, joint, scalars)
        zqd, zqdd = common.about_z(joint.rate), common.about_z(joint.acceleration)
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
        motions.append(_LinkMotion(rot, p, a, delta, b, t, rho, alpha))
    return motions


def _backward(
    model: SerialModel, motions: Sequence[_LinkMotion], load: tuple[Vector, Vector], scalars: ScalarField
) -> list[Scalar]:
    """Relations (0) and (7) to (10), from the last link to the base: one force per joint, base first."""
    links, size = model.links, len(model.links)
    e, n = load
    rot_next: Matrix = np.eye(3)
    p_next: Vector = np.zeros(3)
    forces: list[Scalar] = []
    masses = np.cumsum([0.0, *(link.mass for link in links[::-1])])[::-1]  # m*_i at i-1, m*_{n+1} = 0 at n
    for i in range(size, 0, -1):
        link, motion = links[i - 1], motions[i - 1]
        scalars.step("0 (augmented body)", i)
        beyond = scalars.parameters(masses[i])[()]
        u = scalars.parameters(link.first_moment) + p_next * beyond  # (0a)
        k = scalars.parameters(link.inertia) + _point_inertia(p_next, beyond)  # (0b)
        scalars.step("7 (e)", i)
        e_next = rot_next @ e  # (7b)
        e = e_next + motion.b @ u  # (7a)
        mass = scalars.parameters(masses[i - 1])[()]
        if not link.revolute:
            e = e + motion.t * mass
        scalars.step("9 (n)", i)
        gyroscopic = _gyroscopic(k, motion.a, motion.delta, motion.b)
        n = (rot_next @ n) + gyroscopic + cross(u, motion.alpha) + cross(p_next, e_next)  # (9a), (9b)
        if link.revolute:
            forces.append(n[2])  # (10)
        else:
            scalars.step("8 (f)", i)
            forces.append(e[2] + motion.rho[2] * mass)  # (8), (10)
        rot_next, p_next = motion.rotation, motion.displacement
    return forces[::-1]


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
