"""Errors of Lee, Chung, Mudge and Turney's print, each evaluated as printed and as corrected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.papers.counts.measure import general_formulas
from robot_dynamics.papers.evidence.finding import Erratum, relative_error
from robot_dynamics.papers.evidence.kinematics import (
    energies,
    frame_motion,
    poses,
    random_arm,
    random_state,
)
from robot_dynamics.papers.lee.law import matrices
from robot_dynamics.papers.lee.tables import LEE_1


def _gravity_sign() -> tuple[float, float]:
    """(3.10), and with the sign of (3.6), against the slope of the potential energy."""
    model = random_arm(8)
    q, qd, _ = random_state(model)
    step, slope = 1e-4, []
    for unit in np.eye(6):
        up, down = (energies(model, q + sign * step * unit, np.zeros(6))[1] for sign in (1, -1))
        slope.append((up - down) / (2.0 * step))
    printed = []
    for unit in np.eye(6):
        total = np.zeros(3)
        for sign in (1, -1):
            rotations, positions = poses(model, q + sign * step * unit, standard=False)
            for r, p, link in zip(rotations, positions, model.links, strict=True):
                total += sign * (link.mass * p + r @ link.first_moment) / (2.0 * step)
        printed.append(model.gravity @ total)
    correct = matrices(model, q, qd)[2]
    return relative_error(printed, slope), relative_error(correct, slope)


def _double_sum() -> tuple[float, float]:
    """(4.11): origin's acceleration with the first term inside both sums, and inside the first alone."""
    model = replace(random_arm(8), gravity=np.zeros(3))
    q, qd, qdd = random_state(model)
    i, size = 4, model.dof
    motion = frame_motion(model, q, qd, qdd, standard=True)
    units = np.eye(size)
    first = [frame_motion(model, q, unit, np.zeros(size), standard=True).velocity[i] for unit in units]
    linear = sum(first[j] * qdd[j] for j in range(i + 1))
    velocity = frame_motion(model, q, qd, np.zeros(size), standard=True).acceleration[i]
    expected = motion.acceleration[i]
    return relative_error((i + 1) * linear + velocity, expected), relative_error(linear + velocity, expected)


def _zero_traces() -> tuple[float, float]:
    n = 6
    line = next(line for line in LEE_1.lines if line.label.startswith("Tr{d2T"))
    found = general_formulas("lagrange-direct")[line.steps[0]].at(n).multiplications
    corrected = 256 * n * (n + 1) * (n + 2) * (3 * n + 1) // 24
    return relative_error([line.printed.at(n).multiplications], [found]), relative_error([corrected], [found])


ERRATA = (
    Erratum(
        "(3.10)",
        "G = + sum of m_j g dT/dq_i rbar_j with g = (0, 0, -|g|, 0)",
        "G = - sum of m_j g dT/dq_i rbar_j, as (3.6) has it",
        "P.E. = - sum of m_j g T rbar_j (3.5) with that g, and G_i = dP.E./dq_i: the minus sign stays.",
        "G against the slope of the potential energy",
        _gravity_sign,
    ),
    Erratum(
        "(4.11), and (4.7) of Turney's report",
        "sum over j and k of (dp/dtheta_j (...) + d2p/dtheta_j dtheta_k theta_j' theta_k')",
        "the first term under the sum over j alone",
        "(4.10) has one sum for the accelerations and two for the products of velocities. Under both sums"
        " the first"
        " term would be counted once for each k, i times in all.",
        "acceleration of the origin of frame 5",
        _double_sum,
    ),
    Erratum(
        "table 1, traces of H",
        "(128/3) n² (n+1)(n+2) multiplications",
        "256 n(n+1)(n+2)(3n+1)/24",
        "d T_0^m / dq_i vanishes for m < i, so only m >= max(i, j, k) counts. With j <= k by symmetry that"
        " leaves"
        " n(n+1)(n+2)(3n+1)/24 traces of 256 multiplications; the table takes n times those of D.",
        "multiplications at n = 6 against the run",
        _zero_traces,
    ),
)
