"""Craig's iterative equations, as the text prints them, beside what comes out here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics.formulations import craig
from robot_dynamics.papers.counts.measure import general_formulas, total
from robot_dynamics.papers.craig.recursion import Iteration, iterate
from robot_dynamics.papers.evidence.finding import (
    LINKS,
    Erratum,
    Paper,
    PaperFinding,
    Section,
    relative_error,
    within,
)
from robot_dynamics.papers.evidence.kinematics import (
    energies,
    frame_motion,
    lagrange_oracle,
    poses,
    random_arm,
    random_state,
)
from robot_dynamics.spatial import Array

_KINDS = {"revolute": "RRRRRR", "prismatic": "PPP", "revolute and prismatic": "RPRRPR"}


def velocities(folder: Path) -> Iterator[PaperFinding]:
    """Outward iterations: velocities and accelerations of the links."""
    quantities = (
        ("omega_{i+1}", "R omega_i + theta' z; R omega_i where the joint slides", "w", "angular_velocity"),
        ("v_{i+1}", "R (v_i + omega_i x r); + d' z where the joint slides", "v", "velocity"),
        (
            "omega'_{i+1}",
            "R omega'_i + theta'' z + R omega_i x theta' z; R omega'_i where the joint slides",
            "wd",
            "angular_acceleration",
        ),
        (
            "v'_{i+1}",
            "R (v'_i + omega'_i x r + omega_i x (omega_i x r)); + d'' z + 2 omega x d' z where the joint"
            " slides",
            "vd",
            "acceleration",
        ),
    )
    for kind, joints in _KINDS.items():
        model = replace(random_arm(1, joints), gravity=np.zeros(3))
        state = random_state(model)
        run, motion = iterate(model, *state), frame_motion(model, *state, standard=False)
        for name, printed, own, oracle in quantities:
            found = [r @ x for r, x in zip(motion.rotation, getattr(run, own), strict=True)]
            error = relative_error(found, getattr(motion, oracle))
            yield within(
                f"{name}, {kind} joints", printed, error, "all links, against derivatives of the positions"
            )
    model = random_arm(1, "RPRRPR")
    yield within(
        "v'_C of the center of mass",
        "v'_i + omega'_i x r_C + omega_i x (omega_i x r_C)",
        _center_acceleration(),
        "against second differences of the centers' positions",
        1e-6,
    )


def balances(folder: Path) -> Iterator[PaperFinding]:
    """Inward iterations (2-1) to (2-6)."""
    model = random_arm(2, "RPRRPR")
    state = random_state(model)
    wrench = np.array([3.0, -1.0, 2.0, 0.4, 0.2, -0.5])
    run = iterate(model, state[0], state[1], state[2], wrench)
    for number, printed, error in _equations(run):
        yield within(f"({number})", printed, error, "forces and moments of the iteration, every link")
    for kind, joints in _KINDS.items():
        arm = random_arm(3, joints)
        own = random_state(arm)
        error = relative_error(iterate(arm, *own).tau, lagrange_oracle(arm, *own))
        yield within(
            f"(2-6), {kind} joints",
            "tau = z' n for a revolute joint, z' f for a sliding one",
            error,
            "against Newton's and Euler's laws of every link, projected by virtual work",
        )
    yield within(
        "literal iteration against the formulation of this package",
        "the same algorithm",
        relative_error(craig(model, state[0], state[1], state[2], wrench), run.tau),
        "torques with a tip wrench",
    )
    yield within(
        "f_{N+1}, n_{N+1} at contact with the environment",
        "the force balance contains these forces and moments",
        _tip_wrench(),
        "change of tau by a tip wrench against the virtual work of that wrench",
    )
    for kind, joints in _KINDS.items():
        yield within(
            f"gravity by v'_0 = G, {kind} joints",
            "the fictitious upward acceleration has the effect of gravity on every link",
            _gravity(joints),
            "torques at rest against the slope of the potential energy",
            1e-6,
        )
    count = total(general_formulas("craig")).at(LINKS)
    yield PaperFinding(
        "number of operations",
        "none is printed",
        f"{LINKS} links, general arm: {count.multiplications} ×, {count.additions} +",
        None,
        "the text gives no count",
    )


def errata(folder: Path) -> Iterator[PaperFinding]:
    """Errors of the print."""
    yield from (erratum.finding() for erratum in ERRATA)


def _equations(run: Iteration) -> Iterator[tuple[str, str, float]]:
    forces, moments, own = [], [], []
    third = []
    for i in range(len(run.f)):
        rf, rn = run.rotation_next[i] @ run.f_next[i], run.rotation_next[i] @ run.n_next[i]
        p, pc = run.p_next[i], run.center[i]
        forces.append(run.f[i] - rf)
        moments.append(run.n[i] - rn + np.cross(-pc, run.f[i]) - np.cross(p - pc, rf))
        third.append(run.n[i] - rn - np.cross(pc, run.force[i]) - np.cross(p, rf))
        own.append((rf + run.force[i], run.moment[i] + rn + np.cross(pc, run.force[i]) + np.cross(p, rf)))
    yield "2-1", "F_i = f_i - R f_{i+1}", relative_error(forces, run.force)
    yield (
        "2-2",
        "N_i = n_i - n_{i+1} + (-p_C) x f_i - (p_{i+1} - p_C) x f_{i+1}",
        relative_error(moments, run.moment),
    )
    yield "2-3", "N_i = n_i - R n_{i+1} - p_C x F_i - p_{i+1} x R f_{i+1}", relative_error(third, run.moment)
    yield "2-4", "f_i = R f_{i+1} + F_i", relative_error([f for f, _ in own], run.f)
    yield (
        "2-5",
        "n_i = N_i + R n_{i+1} + p_C x F_i + p_{i+1} x R f_{i+1}",
        relative_error([n for _, n in own], run.n),
    )


def _center_acceleration() -> float:
    model = replace(random_arm(1, "RPRRPR"), gravity=np.zeros(3))
    q, qd, qdd = random_state(model)
    step = 1e-3

    def centers(t: float) -> Array:
        rotations, positions = poses(model, q + qd * t + 0.5 * qdd * t * t, standard=False)
        return np.array(
            [
                p + r @ (link.first_moment / link.mass)
                for r, p, link in zip(rotations, positions, model.links, strict=True)
            ]
        )

    weights = (8 / 5, -1 / 5, 8 / 315, -1 / 560)
    second = -2.0 * sum(weights) * centers(0.0)
    for k, weight in enumerate(weights, 1):
        second = second + weight * (centers(k * step) + centers(-k * step))
    rotations, _ = poses(model, q, standard=False)
    run = iterate(model, q, qd, qdd)
    found = [r @ x for r, x in zip(rotations, run.center_acceleration, strict=True)]
    return relative_error(found, second / step**2)


def _tip_wrench() -> float:
    model = random_arm(2, "RPRRPR")
    q, qd, qdd = random_state(model)
    wrench = np.array([3.0, -1.0, 2.0, 0.4, 0.2, -0.5])
    change = iterate(model, q, qd, qdd, wrench).tau - iterate(model, q, qd, qdd).tau
    work = []
    for unit in np.eye(model.dof):
        motion = frame_motion(model, q, unit, np.zeros(model.dof), standard=False)
        turn = motion.rotation[-1].T
        work.append(turn @ motion.velocity[-1] @ wrench[:3] + turn @ motion.angular_velocity[-1] @ wrench[3:])
    return relative_error(change, work)


def _gravity(joints: str) -> float:
    model = replace(random_arm(5, joints), gravity=np.array([1.0, -2.0, -9.0]))
    q, _, _ = random_state(model)
    rest, step, slope = np.zeros(model.dof), 1e-3, []
    for unit in np.eye(model.dof):
        up, down = (energies(model, q + sign * step * unit, rest)[1] for sign in (1, -1))
        more, less = (energies(model, q + 2 * sign * step * unit, rest)[1] for sign in (1, -1))
        slope.append((8.0 * (up - down) - (more - less)) / (12.0 * step))
    return relative_error(iterate(model, q, rest, rest).tau, slope)


def _omitted_moments() -> tuple[float, float]:
    """Torque of revolute joints below a sliding one, with the list as printed and complete."""
    model = random_arm(3, "RRP")
    state = random_state(model)
    expected = lagrange_oracle(model, *state)
    wrong = iterate(model, state[0], state[1], state[2], moments_of_sliding_links=False).tau
    return relative_error(wrong, expected), relative_error(iterate(model, *state).tau, expected)


ERRATA = (
    Erratum(
        "2.3, list for sliding joints",
        "inward only f_i = R f_{i+1} + F_i and tau_i = z' f_i; neither N_i nor n_i",
        "N_i and n_i have to be iterated at a sliding joint too, as (2-5) says",
        "tau_i = z' f_i takes no moment, so the list leaves N_{i+1} and n_i out. That is right for an arm"
        " that only"
        " slides. In a mixed arm the moment of a link behind a sliding joint, N_i + p_C x F_i + p_{i+1} x R"
        " f_{i+1},"
        " passes through the joint in full and loads the revolute joints below it.",
        "torques of an arm with two revolute joints and a sliding one",
        _omitted_moments,
    ),
)

PAPER = Paper(
    "craig",
    "J. J. Craig, Introduction to robotics: iterative Newton-Euler dynamics (section 6.5), as retold in the"
    " Chinese"
    " text on the iterative form",
    (
        Section("velocities", "Outward iterations", velocities),
        Section("balances", "Inward iterations (2-1) to (2-6), tip wrench, gravity", balances),
        Section("errata", "Errors of the print", errata),
    ),
)
