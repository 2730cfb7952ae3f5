"""Errors of Renaud's print, each evaluated as printed and as corrected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.dynamics.formulations import augmented_body
from robot_dynamics.papers.evidence.finding import Erratum, relative_error
from robot_dynamics.papers.evidence.kinematics import frame_motion, random_arm, random_state
from robot_dynamics.papers.renaud.arm import renaud_arm
from robot_dynamics.papers.renaud.step_table import step_table


def _moved_mass() -> tuple[float, float]:
    """Torques of the 6R arm from the printed table of augmented parameters, with m and with m*."""
    arm = renaud_arm()
    state = random_state(arm)
    expected = augmented_body(arm, *state)
    errors = []
    masses = np.array([link.mass for link in arm.links])
    for beyond in (masses, np.cumsum(masses[::-1])[::-1]):
        links = [replace(link, mass=0.0) for link in arm.links]
        a2, r4 = arm.links[2].a, arm.links[3].r
        for index, arm_vector, mass in ((1, [a2, 0.0, 0.0], beyond[2]), (2, [0.0, -r4, 0.0], beyond[3])):
            p = np.array(arm_vector)
            links[index] = replace(
                links[index],
                first_moment=links[index].first_moment + mass * p,
                inertia=links[index].inertia + mass * (p @ p * np.eye(3) - np.outer(p, p)),
            )
        errors.append(relative_error(augmented_body(replace(arm, links=tuple(links)), *state), expected))
    return errors[0], errors[1]


def _force_at_a_sliding_joint() -> tuple[float, float]:
    """e_i + m*_i alpha_i and e_i + m*_i rho_{i-1} at a sliding joint, against Newton's law."""
    model = random_arm(6, "RRPRR")
    q, qd, qdd = random_state(model)
    motion = frame_motion(model, q, qd, qdd, standard=False)
    z, mass = motion.rotation[2][:, 2], sum(link.mass for link in model.links[2:])
    right = float(augmented_body(model, q, qd, qdd)[2])
    alpha = motion.acceleration[2]
    # alpha_i = t_i + rho_{i-1}; e_i contains m*_i t_i already, and z . t_i is the joint's own acceleration.
    wrong = right + mass * float(qdd[2])
    force = np.zeros(3)
    for i in range(2, model.dof):
        link, rotation = model.links[i], motion.rotation[i]
        s, w = rotation @ link.first_moment, motion.angular_velocity[i]
        force += link.mass * (motion.acceleration[i] - model.gravity)
        force += np.cross(motion.angular_acceleration[i], s) + np.cross(w, np.cross(w, s))
    expected = float(z @ force)
    assert np.isfinite(alpha).all()
    return relative_error(wrong, expected), relative_error(right, expected)


def _products() -> tuple[float, float]:
    row = next(row for row in step_table().rows if row.label.startswith("2"))
    assert row.measured is not None
    found = row.measured.at(6).multiplications
    return relative_error(25, found), relative_error(23, found)


ERRATA = (
    Erratum(
        "augmented parameters of the 6R arm",
        "x*2 = x2 + m3 a2, b*2 = b2 + m3 a2², c*2 = c2 + m3 a2²; y*3 = y3 - m4 r4, a*3 = a3 + m4 r4², ...",
        "the masses are those of the augmented bodies, m*3 = m3 + ... + m6 and m*4 = m4 + m5 + m6 (the star"
        " may"
        " have been lost in the scan)",
        "Augmented body i carries the mass of all bodies beyond, m*_{i+1}, at O_{i+1}: u*_i = u_i + m*_{i+1}"
        " p_{i,i+1}, k*_i = k_i - m*_{i+1} p^ p^ (relations 0a, 0b). With p_23 = (a2, 0, 0) and p_34 ="
        " (0, -r4, 0) this gives the entries with m*3 and m*4. With m3 and m4 alone bodies 5 and 6 would"
        " weigh nothing at O_3 and O_4.",
        "torques of the arm from these parameters against its own",
        _moved_mass,
    ),
    Erratum(
        "force at joint i",
        "f_i = e_i + m*_i alpha_i (before relation 8)",
        "f_i = e_i + m*_i (alpha_{i-1} + b_{i-1} p_{i-1,i}), as relation (8) uses it",
        "Sum Newton's law over bodies i ... n: f_i = f_{n+1} + sum_j (m_j alpha_j + b_j u_j), with alpha_j ="
        " alpha_{j-1} + b_{j-1} p_{j-1,j} + sigma_j t_j. Collecting what is multiplied by each b and t gives"
        " e_i = e_{i+1} + b_i u*_i + sigma_i m*_i t_i and f_i = e_i + m*_i rho_{i-1}, rho_{i-1} ="
        " alpha_{i-1} +"
        " b_{i-1} p_{i-1,i}. Since alpha_i = sigma_i t_i + rho_{i-1}, writing alpha_i counts t_i twice when"
        " the"
        " joint slides. (For a revolute joint both forms are the same.)",
        "force at a sliding joint against Newton's law of all bodies beyond it",
        _force_at_a_sliding_joint,
    ),
    Erratum(
        "step 2 of the step table",
        "25 multiplications",
        "23 different ones",
        "Link 2 turns about an axis at right angles to that of link 1, so omega_2 = (s2 q1', c2 q1', q2')."
        " The"
        " products omega_x omega_z and omega_y omega_z of step 2 are q2' omega_x and q2' omega_y, which"
        " step 3"
        " makes for omega_{i-1} x z q_i'. An analytical computation that names every quantity once makes them"
        " once.",
        "number of multiplications against the run",
        _products,
    ),
)
