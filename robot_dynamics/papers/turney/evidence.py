"""Turney, Mudge and Lee 1980: printed beside computed results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics.formulations import FORMULATIONS
from robot_dynamics.dynamics.formulations.newton_euler import angular_matrix
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.papers.counts.comparison import compare
from robot_dynamics.papers.evidence.finding import (
    Paper,
    PaperFinding,
    Section,
    relative_error,
    table_findings,
    within,
)
from robot_dynamics.papers.evidence.kinematics import (
    FrameMotion,
    energies,
    frame_motion,
    lagrange_oracle,
    random_arm,
    random_state,
)
from robot_dynamics.papers.turney.concurrent import concurrent_table
from robot_dynamics.papers.turney.errata import ERRATA
from robot_dynamics.papers.turney.simulation import simulation
from robot_dynamics.papers.turney.strobing import strobing
from robot_dynamics.papers.turney.symbolic import difference_terms
from robot_dynamics.papers.turney.tables import TURNEY_1, TURNEY_2, TURNEY_3, TURNEY_4
from robot_dynamics.spatial import Array

_SETS = {
    "Lagrange set (2.10)": "lagrange",
    "Newton-Euler set (3.15)-(3.21)": "newton-euler-nested",
    "modified Newton-Euler set (5.1), (5.2)": "modified-newton-euler",
}


def tables(folder: Path) -> Iterator[PaperFinding]:
    """Tables 1 to 5, line by line."""
    for table in (TURNEY_1, TURNEY_2, TURNEY_3, TURNEY_4):
        yield from table_findings(compare(table))
    yield from table_findings(concurrent_table())


def equations(folder: Path) -> Iterator[PaperFinding]:
    """The three sets of equations and the kinematics that they rest on."""
    a, b, c = np.random.default_rng(1).normal(size=(3, 3))
    yield within("(1.20)", "a x (b x c) = (Tr{c a'} E - c a') b", _triple(a, b, c), "random vectors")
    yield within("(1.21)", "Tr{a (b x c)'} = b' (c x a)", _mixed(a, b, c), "random vectors")
    yield within(
        "(1.22)",
        "(a x b) x c = a x (b x c) - b x (a x c)",
        relative_error(
            np.cross(a, np.cross(b, c)) - np.cross(b, np.cross(a, c)), np.cross(np.cross(a, b), c)
        ),
        "random vectors",
    )
    yield within(
        "(1.26), (1.27)", "J_q by inertias; I_q = Tr{J - m r r'} E - (J - m r r')", _pseudo(), "point masses"
    )
    model = random_arm(2)
    state = random_state(model)
    motion = frame_motion(model, *state, standard=True)
    for item, printed, found, expected in _recursion(model, state, motion):
        yield within(item, printed, relative_error(found, expected), "against derivatives of the positions")
    for item, name in _SETS.items():
        errors = []
        for size in range(1, 8):
            arm = random_arm(7, "R" * size)
            own = random_state(arm, size)
            errors.append(relative_error(FORMULATIONS[name](arm, *own), lagrange_oracle(arm, *own)))
        yield within(
            item,
            "gives the torques, gravity as a base acceleration included",
            max(errors),
            "arms of 1 to 7 links against Newton's and Euler's laws of every link, projected by virtual work",
        )
    yield within(
        "(2.7), power balance",
        "torques follow from kinetic and potential energy",
        _power(model, state),
        "sum of torque times velocity against the rate of the energy",
    )


def equivalence(folder: Path) -> Iterator[PaperFinding]:
    """Section 4."""
    for size in (1, 2, 3):
        terms, left = difference_terms(size)
        yield PaperFinding(
            f"section 4, equivalence for n = {size}, symbolic",
            "(2.10) and (3.15)-(3.21) are the same torques (4.34)",
            f"Lagrange torques: {terms} terms in symbols; after s² = 1 - c², {left} terms of the difference"
            " remain",
            left == 0,
            "the difference does not vanish",
        )
    for size in (2, 3):
        terms, left = difference_terms(size, upper=False)
        yield PaperFinding(
            f"(4.27) without the links above, n = {size}, symbolic",
            "each link's own contribution is the same in both sets",
            f"{terms} terms, {left} in the difference",
            left == 0,
            "the difference does not vanish",
        )
    for size in (4, 6, 8, 12):
        arm = random_arm(11, "R" * size)
        errors = []
        for seed in range(10):
            state = random_state(arm, seed)
            first, second = (FORMULATIONS[name](arm, *state) for name in ("lagrange", "newton-euler-nested"))
            errors.append(relative_error(first, second))
        yield within(
            f"section 4, equivalence for n = {size}, numerical",
            "the same torques",
            max(errors),
            "10 random states of a random arm",
            1e-11,
        )


def errata(folder: Path) -> Iterator[PaperFinding]:
    """Errors of the print."""
    yield from (erratum.finding() for erratum in ERRATA)


def _triple(a: Array, b: Array, c: Array) -> float:
    right = (np.trace(np.outer(c, a)) * np.eye(3) - np.outer(c, a)) @ b
    return relative_error(right, np.cross(a, np.cross(b, c)))


def _mixed(a: Array, b: Array, c: Array) -> float:
    return relative_error(
        [np.trace(np.outer(a, np.cross(b, c)))] * 2, [b @ np.cross(c, a), np.cross(c, a) @ b]
    )


def _pseudo() -> float:
    random = np.random.default_rng(2)
    masses, points = random.uniform(0.1, 1.0, 9), random.normal(size=(9, 3))
    center = masses @ points / masses.sum()
    j = np.einsum("n,ni,nj->ij", masses, points, points)
    central = j - masses.sum() * np.outer(center, center)
    arms = points - center
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return relative_error(np.trace(central) * np.eye(3) - central, inertia)


def _recursion(
    model: SerialModel, state: Array, motion: FrameMotion
) -> Iterator[tuple[str, str, Array, Array]]:
    """(3.3) to (3.8) for the last link of an arm of revolute joints, in the base frame."""
    _, qd, qdd = state
    i = model.dof - 1
    z = motion.rotation[i - 1][:, 2]
    w, wd = motion.angular_velocity, motion.angular_acceleration
    yield "(3.3)", "omega_i = omega_{i-1} + z_{i-1} theta_i'", w[i - 1] + z * qd[i], w[i]
    yield (
        "(3.4)",
        "alpha_i = alpha_{i-1} + omega_{i-1} x z_{i-1} theta_i' + z_{i-1} theta_i''",
        wd[i - 1] + np.cross(w[i - 1], z) * qd[i] + z * qdd[i],
        wd[i],
    )
    r = motion.position[i] - motion.position[i - 1]
    yield (
        "(3.7)",
        "a_i = omega_i x (omega_i x r_i) + alpha_i x r_i + a_{i-1}",
        np.cross(w[i], np.cross(w[i], r)) + np.cross(wd[i], r) + motion.acceleration[i - 1],
        motion.acceleration[i],
    )
    expanded, total = np.zeros(3), np.zeros(3)
    axes = [np.array([0.0, 0.0, 1.0]), *motion.rotation[:i, :, 2]]
    for j, axis in enumerate(axes):
        expanded = expanded + axis * qd[j]
        total = total + axis * qdd[j]
        for k in range(j):
            total = total + np.cross(axes[k], axis) * qd[j] * qd[k]
    yield "(4.1)", "omega_i = sum of z_{j-1} theta_j'", expanded, w[i]
    yield (
        "(4.2)",
        "alpha_i = sum of z_{j-1} theta_j'' + sum of z_{k-1} x z_{j-1} theta_j' theta_k'",
        total,
        wd[i],
    )
    yield (
        "section 5, A_i b",
        "omega x (omega x b) + alpha x b",
        angular_matrix(w[i], wd[i]) @ r,
        np.cross(w[i], np.cross(w[i], r)) + np.cross(wd[i], r),
    )


def _power(model: SerialModel, state: Array) -> float:
    q, qd, qdd = state
    tau = FORMULATIONS["lagrange"](model, q, qd, qdd)
    step, rate = 1e-3, 0.0
    for k, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), 1):
        for sign in (1, -1):
            t = sign * k * step
            rate += sign * weight * sum(energies(model, q + qd * t + 0.5 * qdd * t * t, qd + qdd * t)) / step
    return relative_error([tau @ qd], [rate])


PAPER = Paper(
    "turney",
    "J. L. Turney, T. N. Mudge and C. S. G. Lee, Equivalence of two formulations for robot arm dynamics,"
    " University of Michigan, SEL report 142, 1980",
    (
        Section("tables", "Tables 1 to 5, line by line", tables),
        Section("equations", "Notation, Lagrange, Newton-Euler and modified sets", equations),
        Section("equivalence", "Section 4: the two sets are the same", equivalence),
        Section("strobing", "Section 6: what strobing M and C costs", strobing),
        Section("simulation", "Section 7: simulation by Runge-Kutta", simulation),
        Section("errata", "Errors of the print", errata),
    ),
)
