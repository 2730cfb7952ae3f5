"""Newton-Euler formulation of Luh, Walker and Paul on standard DH frames.

Turney, Mudge, Lee, "Equivalence of two formulations for robot arm dynamics", 1980, eqs. 3.15-3.21; the same
in Lee, Chung, Mudge, Turney, "On the control of mechanical manipulators", eqs. 3.21-3.27. Printed for turning
joints; the prismatic terms are those of the second derivative of a sliding origin (Turney 3.2). Turney's 3.16
prints omega_i x z_{i-1}; omega_{i-1}, as in 3.4 and in Lee's 3.22, is meant. The two papers organise
omega x (omega x r) + alpha x r and the moments differently, hence their different counts.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector, cross
from robot_dynamics.dynamics.serial_model import SerialModel, StandardLink


class Acceleration(enum.Enum):
    """Way to compute omega x (omega x r) + alpha x r."""

    NESTED = "three cross products, as eqs. 3.17 and 3.18 are written"
    MATRIX = "A r with the matrix A of Turney section 5, as Turney's table 3 counts"
    EXPANDED = "(omega.r) omega - (omega.omega) r + alpha x r (Lee 2.15), as Lee's table 2 counts"


@gate
def newton_euler(
    model: SerialModel,
    q: Sequence[Scalar] | Vector,
    qd: Sequence[Scalar] | Vector,
    qdd: Sequence[Scalar] | Vector,
    wrench: Sequence[Scalar] | Vector | None = None,
    scalars: ScalarField = FLOATS,
    acceleration: Acceleration = Acceleration.NESTED,
) -> Vector:
    """Generalised forces (n,) [N·m or N] for the motion ``q``, ``qd``, ``qdd`` (n,) of ``model``.

    The tip exerts ``wrench``, and ``scalars`` is the kind of numbers: see `common.Formulation`.
    ``acceleration`` tells which form of the acceleration equation is evaluated.
    """
    links = model.standard_links()
    motions = common.joint_motions(model.links, q, qd, qdd, scalars)
    states = []
    w, al, a = common.base_motion(model.rebased().gravity, scalars)
    for i, (link, motion) in enumerate(zip(links, motions, strict=True), 1):
        scalars.step("R_i", i)
        rot = common.standard_rotation(link, motion, scalars)
        r = common.standard_displacement(link, motion, scalars)
        rbar = scalars.parameters(link.center_of_mass)
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
        a, abar = _accelerations(acceleration, w, al, r, rbar, rot.T, a, scalars, i)
        states.append((rot, r, w, al, abar))

    f, n = common.tip_load(model, wrench, scalars)
    forces: list[Scalar] = []
    rot_next: Matrix = np.eye(3)
    for i in range(len(links), 0, -1):
        link = links[i - 1]
        rot, r, w, al, abar = states[i - 1]
        if acceleration is Acceleration.EXPANDED:
            f, n = _lee_backward(link, rot_next, r, w, al, abar, f, n, scalars, i)
        else:
            f, n = _turney_backward(link, rot_next, r, w, al, abar, f, n, scalars, i)
        scalars.step("tau_i", i)
        z = scalars.parameters([link.sin_alpha, link.cos_alpha])  # R_i^{i-1} z_{i-1} = (0, sin, cos)
        forces.append(z @ (n[1:] if link.revolute else f[1:]))  # 3.21
        rot_next = rot
    return common.coordinate_forces(model.links, forces[::-1], model.dof)


def angular_matrix(w: Vector, al: Vector) -> Matrix:
    """A: A b = omega x (omega x b) + alpha x b (Turney section 5; its entry 3,2 is printed with alpha_z)."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return np.array(
        [
            [-(yy + zz), xy - al[2], xz + al[1]],
            [xy + al[2], -(zz + xx), yz - al[0]],
            [xz - al[1], yz + al[0], -(xx + yy)],
        ]
    )


def _accelerations(
    how: Acceleration,
    w: Vector,
    al: Vector,
    r: Vector,
    rbar: Vector,
    rot_t: Matrix,
    a: Vector,
    scalars: ScalarField,
    i: int,
) -> tuple[Vector, Vector]:
    """a_i (3.17) and abar_i (3.18)."""
    if how is Acceleration.MATRIX:
        scalars.step("A_i", i)
        matrix = angular_matrix(w, al)
        scalars.step("a_i", i)
        a = matrix @ r + rot_t @ a
        scalars.step("abar_i", i)
        return a, matrix @ rbar + a
    scalars.step("a_i", i)
    if how is Acceleration.EXPANDED:
        ww = w @ w
        a = (w * (w @ r) - r * ww) + cross(al, r) + rot_t @ a
        scalars.step("abar_i", i)
        return a, (w * (w @ rbar) - rbar * ww) + cross(al, rbar) + a
    a = cross(w, cross(w, r)) + cross(al, r) + rot_t @ a
    scalars.step("abar_i", i)
    return a, cross(w, cross(w, rbar)) + cross(al, rbar) + a


def _turney_backward(
    link: StandardLink,
    rot_next: Matrix,
    r: Vector,
    w: Vector,
    al: Vector,
    abar: Vector,
    f_next: Vector,
    n_next: Vector,
    scalars: ScalarField,
    i: int,
) -> tuple[Vector, Vector]:
    """f_i (3.19) and n_i (3.20) in the terms of Turney's table 3."""
    mass, rbar = scalars.parameters(link.mass)[()], scalars.parameters(link.center_of_mass)
    inertia = scalars.parameters(link.inertia)
    scalars.step("f_i", i)
    rf = rot_next @ f_next
    f = abar * mass + rf
    scalars.step("I_i alpha_i", i)
    moment = inertia @ al
    scalars.step("omega_i x (I_i omega_i)", i)
    gyroscopic = cross(w, inertia @ w)
    scalars.step("m (r_i + rbar_i) x abar_i", i)
    lever = cross((r + rbar) * mass, abar)
    scalars.step("r_i x R f_{i+1}", i)
    load = cross(r, rf)
    scalars.step("R n_{i+1}", i)
    rn = rot_next @ n_next
    scalars.step("add n", i)
    return f, moment + gyroscopic + lever + load + rn


def _lee_backward(
    link: StandardLink,
    rot_next: Matrix,
    r: Vector,
    w: Vector,
    al: Vector,
    abar: Vector,
    f_next: Vector,
    n_next: Vector,
    scalars: ScalarField,
    i: int,
) -> tuple[Vector, Vector]:
    """f_i (Lee 3.25) and n_i (Lee 3.26) in the terms of Lee's table 2."""
    mass, rbar = scalars.parameters(link.mass)[()], scalars.parameters(link.center_of_mass)
    inertia = scalars.parameters(link.inertia)
    scalars.step("F_i", i)
    inertial_force = abar * mass
    scalars.step("f_i", i)
    rf = rot_next @ f_next
    f = inertial_force + rf
    scalars.step("N_i", i)
    moment = inertia @ al + cross(w, inertia @ w)
    scalars.step("n_i", i)
    return f, moment + cross(r + rbar, inertial_force) + cross(r, rf) + rot_next @ n_next
