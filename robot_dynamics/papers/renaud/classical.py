"""Renaud's classical recursion: the same forward part, the backward part without augmented bodies.

M. Renaud, ICRA 1987, "Classical iterative calculation", projected on the frames of the links as his relations
(1) to (10) are. With f_{n+1}, n_{n+1} the load at the tip,

    f_i = f_{i+1} + m_i (alpha_i + b_i d_ii)
    n_i = n_{i+1} + phi_i a_i + omega_i x (phi_i omega_i) + d_ii x (f_i - f_{i+1}) + p_{i,i+1} x f_{i+1}

phi_i being the inertia about the center of mass G_i and d_ii = O_i G_i.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector, cross
from robot_dynamics.dynamics.serial_model import SerialModel


def classical(
    model: SerialModel,
    q: Sequence[Scalar] | Vector,
    qd: Sequence[Scalar] | Vector,
    qdd: Sequence[Scalar] | Vector,
    wrench: Sequence[Scalar] | Vector | None = None,
    scalars: ScalarField = FLOATS,
) -> Vector:
    """Generalised forces (n,) [N·m or N]; see `common.Formulation` for the arguments."""
    links = model.links
    w, a, alpha = common.base_motion(model.gravity, scalars)
    b: Matrix = scalars.as_variables(scalars.parameters(np.zeros((3, 3))))
    states = []
    for i, (link, joint) in enumerate(
        zip(links, common.joint_motions(links, q, qd, qdd, scalars), strict=True), 1
    ):
        scalars.step("forward", i)
        rot, p = (
            common.modified_rotation(link, joint, scalars),
            common.modified_displacement(link, joint, scalars),
        )
        zqd, zqdd = common.about_z(joint.rate), common.about_z(joint.acceleration)
        alpha = rot.T @ (alpha + b @ p)
        before = rot.T @ w
        a = rot.T @ a
        if link.revolute:
            w, a = before + zqd, a + cross(before, zqd) + zqdd
        else:
            w, alpha = before, alpha + cross(before, zqd + zqd) + zqdd
        b = _tensor(w, a)
        states.append((rot, p, w, a, alpha, b))
    f, n = common.tip_load(model, wrench, scalars)
    forces: list[Scalar] = []
    rot_next: Matrix = np.eye(3)
    p_next: Vector = np.zeros(3)
    for i in range(len(links), 0, -1):
        link = links[i - 1]
        rot, p, w, a, alpha, b = states[i - 1]
        scalars.step("f", i)
        mass = scalars.parameters(link.mass)[()]
        own = alpha * mass + b @ scalars.parameters(link.first_moment)
        f_next = rot_next @ f
        f = f_next + own
        scalars.step("n", i)
        center = link.first_moment / link.mass
        phi = scalars.parameters(
            link.inertia - link.mass * (center @ center * np.eye(3) - np.outer(center, center))
        )
        n = rot_next @ n + phi @ a + cross(w, phi @ w)
        n = n + cross(scalars.parameters(center), own) + cross(p_next, f_next)
        forces.append(n[2] if link.revolute else f[2])
        rot_next, p_next = rot, p
    return common.coordinate_forces(links, forces[::-1], model.dof)


def _tensor(w: Vector, a: Vector) -> Matrix:
    """b = a^ + omega^ omega^, from six products."""
    xx, yy, zz, xy, xz, yz = w[0] * w[0], w[1] * w[1], w[2] * w[2], w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return np.array(
        [
            [-(yy + zz), xy - a[2], xz + a[1]],
            [xy + a[2], -(xx + zz), yz - a[0]],
            [xz - a[1], yz + a[0], -(xx + yy)],
        ]
    )
