"""Craig's iterative Newton-Euler formulation on modified DH frames.

J. J. Craig, "Introduction to Robotics: Mechanics and Control", section 6.5 (outward and inward iterations);
revolute and prismatic joints, gravity as an acceleration of the base, the tip wrench as f_{n+1}, n_{n+1}.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector, cross
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.spatial import shift_inertia


@gate
def craig(
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
    links = model.links
    motions = common.joint_motions(links, q, qd, qdd, scalars)
    states = []
    w, wd, vd = common.base_motion(model.gravity, scalars)
    for i, (link, motion) in enumerate(zip(links, motions, strict=True), 1):
        scalars.step("R_i", i)
        rot = common.modified_rotation(link, motion, scalars)
        p = common.modified_displacement(link, motion, scalars)
        mass = scalars.parameters(link.mass)[()]
        center, inertia = _central(link.mass, link.first_moment, link.inertia)
        pc, ic = scalars.parameters(center), scalars.parameters(inertia)
        zqd, zqdd = common.about_z(motion.rate), common.about_z(motion.acceleration)
        scalars.step("vdot_i", i)
        vd = rot.T @ (vd + cross(wd, p) + cross(w, cross(w, p)))
        scalars.step("omega_i", i)
        w = rot.T @ w
        scalars.step("omegadot_i", i)
        wd = rot.T @ wd
        if link.revolute:
            wd = wd + cross(w, zqd) + zqdd
            scalars.step("omega_i", i)
            w = w + zqd
        else:
            scalars.step("vdot_i", i)
            vd = vd + cross(w, zqd + zqd) + zqdd
        scalars.step("vdot_ci", i)
        vcd = vd + cross(wd, pc) + cross(w, cross(w, pc))
        scalars.step("F_i", i)
        force = vcd * mass
        scalars.step("N_i", i)
        moment = ic @ wd + cross(w, ic @ w)
        states.append((rot, p, pc, force, moment))

    f, n = common.tip_load(model, wrench, scalars)
    forces: list[Scalar] = []
    rot_next: Matrix = np.eye(3)
    p_next: Vector = np.zeros(3)
    for i in range(len(links), 0, -1):
        rot, p, pc, force, moment = states[i - 1]
        scalars.step("f_i", i)
        rf = rot_next @ f
        f = rf + force
        scalars.step("n_i", i)
        n = moment + rot_next @ n + cross(pc, force) + cross(p_next, rf)
        forces.append(n[2] if links[i - 1].revolute else f[2])
        rot_next, p_next = rot, p
    return common.coordinate_forces(links, forces[::-1], model.dof)


def _central(mass: float, first_moment: Vector, inertia: Matrix) -> tuple[Vector, Matrix]:
    """Center of mass, and inertia about it in the axes of the link frame."""
    center = first_moment / mass if mass else np.zeros(3)
    return center, inertia - shift_inertia(mass, center)
