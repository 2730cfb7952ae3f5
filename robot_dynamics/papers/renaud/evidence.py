"""Renaud 1987: printed beside computed results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics.formulations import augmented_body, common, craig
from robot_dynamics.dynamics.scalar import FLOATS
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.papers.counts.measure import count_generated, count_robot, general_formulas, total
from robot_dynamics.papers.evidence.finding import (
    LINKS,
    Paper,
    PaperFinding,
    Section,
    relative_error,
    table_findings,
    within,
)
from robot_dynamics.papers.evidence.kinematics import (
    frame_motion,
    lagrange_oracle,
    poses,
    random_arm,
    random_state,
)
from robot_dynamics.papers.renaud.arm import renaud_arm
from robot_dynamics.papers.renaud.classical import classical
from robot_dynamics.papers.renaud.errata import ERRATA
from robot_dynamics.papers.renaud.step_table import step_table

KINDS = ("RRRRRR", "RPRRPR", "PPPRRR", "RRP")


def recursions(folder: Path) -> Iterator[PaperFinding]:
    """The classical recursion and the augmented one."""
    for name, recursion in (("classical", classical), ("with augmented bodies", augmented_body)):
        errors = []
        for kinds in KINDS:
            model = random_arm(3, kinds)
            state = random_state(model)
            errors.append(relative_error(recursion(model, *state), lagrange_oracle(model, *state)))
        yield within(
            f"iterative calculation, {name}",
            "gives the generalised forces of arms with revolute and prismatic joints",
            max(errors),
            f"forces of arms {', '.join(KINDS)} against Newton's and Euler's laws of every link, projected by"
            " virtual work",
        )
    before, after = (total(general_formulas(run)).at(LINKS) for run in (classical, augmented_body))
    yield PaperFinding(
        "augmented bodies against the classical recursion, general arm",
        "the backward computation is slightly simplified",
        f"{LINKS} links: classical {before.multiplications} ×, {before.additions} +; augmented"
        f" {after.multiplications} ×, {after.additions} +",
        after.multiplications + after.additions < before.multiplications + before.additions,
        "no fewer operations",
    )
    arm = renaud_arm()
    classic, augmented = (count_robot(run, arm).shared for run in (classical, augmented_body))
    yield PaperFinding(
        "augmented bodies against the classical recursion, the 6R arm",
        "the notion of augmented body gathers parameters beforehand",
        f"classical {classic.multiplications} ×, {classic.additions} +; augmented"
        f" {augmented.multiplications} ×, {augmented.additions} + (zeros left out, equal results made once)",
        augmented.multiplications + augmented.additions < classic.multiplications + classic.additions,
        "no fewer operations",
    )


def table(folder: Path) -> Iterator[PaperFinding]:
    """The step table and the count after regrouping."""
    yield from table_findings(step_table())
    error = _coupled_moments()
    yield within(
        "y^5 and z^6 occur coupled under the form of their difference",
        "always",
        error,
        "change of the torques when y^5 and z^6 grow by the same amount",
    )
    yield PaperFinding(
        "number of arithmetical operations",
        "less than 300: 164 + 115 = 279",
        f"plain recursion after the grouping {_grouped()}; the generator {_generated()}",
        _grouped() == 164 + 115 and _generated() < 300,
        "another number",
    )


def figures(folder: Path) -> Iterator[PaperFinding]:
    """The drawings, by what they define."""
    model = random_arm(5, "RPRRPR")
    q = random_state(model)[0]
    _, positions = poses(model, q, standard=False)
    yield PaperFinding(
        "figure 1: numbering of bodies and joints",
        "bodies and joints 1 to n from the mount (body 0); joint i joins bodies i-1 and i",
        f"links and joints in this order: {', '.join(link.name for link in model.links)}",
        [link.coordinate for link in model.links] == list(range(model.dof)),
        "another order",
    )
    yield within(
        "figure 2: points and vectors of body i",
        "p_ij from O_i to O_j, d_ij from O_i to G_j; O_{i-1} where the common normal of axes i-1 and i meets"
        " axis i-1",
        _chained(model, q, positions),
        "p_06 as a sum of p_{i-1,i} (a_{i-1} along x, r_i along z) against the product of homogeneous"
        " matrices",
    )
    yield within(
        "figure 3: augmented body i",
        "body i with the mass of bodies i+1 ... n attached to O_{i+1}",
        _augmented_identity(),
        "f_i = e_i + m*_i (alpha_{i-1} + b_{i-1} p_{i-1,i}) against the sum of m_j times the accelerations"
        " of G_j",
    )
    state = random_state(model, 2)
    yield within(
        "figure 4: forces and torques exerted on body i",
        "f^i, n^i by body i-1 at O_i, -f^{i+1}, -n^{i+1} by body i+1 at O_{i+1}, weight at G_i",
        relative_error(classical(model, *state), craig(model, *state)),
        "forces of the balance drawn there against Craig's recursion",
    )
    yield within(
        "figure 5: frame R_i and its four parameters",
        "T_{i-1,i} = Rx(alpha_{i-1}) Trans(a_{i-1}, 0, 0) Rz(theta_i) Trans(0, 0, r_i)",
        _frame_matrix(),
        "the printed matrix against the product of the four motions",
    )
    yield within(
        "figure 6: robot of the type RRRRRR",
        "a shoulder with intersecting axes, parallel axes 2 and 3, a spherical wrist",
        _wrist(),
        "distance of the origins of frames 4, 5 and 6, and angle between axes 2 and 3, over the parameters"
        " printed",
    )
    yield PaperFinding(
        "figures 1 to 6, as drawings",
        "line drawings of bodies, axes and vectors",
        "no drawing is made",
        None,
        "a drawing defines notation and carries no number; what it defines is evaluated in the items above",
    )


def errata(folder: Path) -> Iterator[PaperFinding]:
    """Errors of the print."""
    yield from (erratum.finding() for erratum in ERRATA)


def _grouped() -> int:
    arm = renaud_arm()
    last = replace(arm.links[-1], first_moment=np.zeros(3))
    tally = count_robot("augmented-body", replace(arm, links=(*arm.links[:-1], last))).shared
    return tally.multiplications + tally.additions


def _generated() -> int:
    tally = count_generated(renaud_arm())
    return tally.multiplications + tally.additions


def _coupled_moments() -> float:
    arm = renaud_arm()
    changed = list(arm.links)
    changed[4] = replace(changed[4], first_moment=changed[4].first_moment + np.array([0.0, 0.7, 0.0]))
    changed[5] = replace(changed[5], first_moment=changed[5].first_moment + np.array([0.0, 0.0, 0.7]))
    state = random_state(arm)
    return relative_error(
        augmented_body(replace(arm, links=tuple(changed)), *state), augmented_body(arm, *state)
    )


def _chained(model: SerialModel, q: np.ndarray, positions: np.ndarray) -> float:
    rotations, _ = poses(model, q, standard=False)
    total_, before = np.zeros(3), np.eye(3)
    rest = np.zeros(model.dof)
    joints = common.joint_motions(model.links, q, rest, rest, FLOATS)
    for link, joint, rotation in zip(model.links, joints, rotations, strict=True):
        turned = np.array([link.a, -joint.distance * link.sin_alpha, joint.distance * link.cos_alpha])
        total_ = total_ + before @ turned
        before = rotation
    return relative_error(total_, positions[-1])


def _augmented_identity() -> float:
    """f_i by augmented bodies at a sliding joint, against Newton's law of all bodies beyond it."""
    model = random_arm(6, "RRPRR")
    q, qd, qdd = random_state(model)
    motion = frame_motion(model, q, qd, qdd, standard=False)
    force = np.zeros(3)
    for i in range(2, model.dof):
        link, rotation = model.links[i], motion.rotation[i]
        s, w = rotation @ link.first_moment, motion.angular_velocity[i]
        force += link.mass * (motion.acceleration[i] - model.gravity)
        force += np.cross(motion.angular_acceleration[i], s) + np.cross(w, np.cross(w, s))
    return float(abs(augmented_body(model, q, qd, qdd)[2] / (motion.rotation[2][:, 2] @ force) - 1.0))


def _frame_matrix() -> float:
    alpha, a, theta, r = 0.7, 0.3, -1.1, 0.4
    ca, sa, c, s = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    printed = np.array(
        [[c, -s, 0, a], [ca * s, ca * c, -sa, -r * sa], [sa * s, sa * c, ca, r * ca], [0, 0, 0, 1.0]]
    )
    about_x, about_z, along = np.eye(4), np.eye(4), np.eye(4)
    about_x[1:3, 1:3] = [[ca, -sa], [sa, ca]]
    about_z[:2, :2] = [[c, -s], [s, c]]
    along[:3, 3] = [0.0, 0.0, r]
    shift = np.eye(4)
    shift[0, 3] = a
    return relative_error(about_x @ shift @ about_z @ along, printed)


def _wrist() -> float:
    arm = renaud_arm()
    rotations, positions = poses(arm, random_state(arm)[0], standard=False)
    spread = np.abs(positions[3:] - positions[3]).max() / np.abs(positions[3]).max()
    return float(max(spread, np.abs(np.cross(rotations[1][:, 2], rotations[2][:, 2])).max()))


PAPER = Paper(
    "renaud",
    "M. Renaud, Quasi-minimal computation of the dynamic model of a robot manipulator utilizing the"
    " Newton-Euler"
    " formalism and the notion of augmented body, ICRA 1987",
    (
        Section("recursions", "Classical and augmented recursion", recursions),
        Section("step-table", "Step table of the 6R example", table),
        Section("figures", "Figures 1 to 6", figures),
        Section("errata", "Errors of the print", errata),
    ),
)
