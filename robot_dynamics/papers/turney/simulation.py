"""Section 7 of Turney, Mudge and Lee: motion under torques, by strobing, elimination and Runge-Kutta."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics.formulations import modified_newton_euler
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.dynamics.strobing import strobed_mass_matrix
from robot_dynamics.papers.counts.measure import general_formulas, total
from robot_dynamics.papers.evidence.finding import LINKS, PaperFinding, relative_error, within
from robot_dynamics.papers.evidence.kinematics import energies, lagrange_oracle, random_arm, random_state
from robot_dynamics.papers.turney.strobing import mass_matrix_cost
from robot_dynamics.report.plots import blank_figure, save
from robot_dynamics.spatial import Array

_DURATION = 1.0
_STEPS = (0.02, 0.01, 0.005)


def simulation(folder: Path) -> Iterator[PaperFinding]:
    """The method, its order and its cost."""
    model = random_arm(9, "RRR")
    q, qd, _ = random_state(model)
    tau = np.array([0.3, -0.2, 0.1])
    acceleration = accelerations(model, q, qd, tau)
    yield within(
        "theta'' = M^-1 (tau - C - G)",
        "by strobing and Gaussian elimination",
        relative_error(lagrange_oracle(model, q, qd, acceleration), tau),
        "Newton's and Euler's laws with these accelerations against the torques that were given",
    )
    arm = random_arm(4)
    pivots = [smallest_pivot(strobed_mass_matrix(arm, random_state(arm, seed)[0])) for seed in range(200)]
    yield PaperFinding(
        "no pivoting necessary: M is positive definite",
        "Gaussian elimination needs no pivoting",
        f"smallest pivot over 200 random configurations of an arm of six joints: {min(pivots):.2e} kg m² of"
        f" {np.abs(strobed_mass_matrix(arm, random_state(arm)[0])).max():.2g} kg m²",
        min(pivots) > 0.0,
        "a pivot is not positive",
    )
    ends = {step: free_motion(model, q, step) for step in (*_STEPS, _STEPS[-1] / 4.0)}
    exact = ends[_STEPS[-1] / 4.0][-1]
    errors = [float(np.abs(ends[step][-1] - exact).max()) for step in _STEPS]
    order = np.log2(errors[0] / errors[1]), np.log2(errors[1] / errors[2])
    yield PaperFinding(
        "four-point Runge-Kutta integration",
        "y_{n+1} = y_n + (h_1 + 2 h_2 + 2 h_3 + h_4)/6",
        f"free motion of an arm of three joints for {_DURATION} s: halving the step divides the error by"
        f" {2 ** order[0]:.1f} and {2 ** order[1]:.1f} (fourth order: 16)",
        bool(min(order) > 3.5),
        "not of fourth order",
        pictures=(_picture(model, ends, folder),),
    )
    run = total(general_formulas("modified-newton-euler"))
    found = mass_matrix_cost()
    cost = found.kinematic + found.dynamic + run
    at = cost.at(LINKS)
    yield PaperFinding(
        "cost of one evaluation, k_1 n(n+1)/2 + d_1 n(n+1)/2 + k_2 n + d_2 n",
        "of this form",
        f"{cost.multiplications} ×, {cost.additions} + (n = {LINKS}: {at.multiplications} ×, {at.additions}"
        f" +),"
        " elimination not counted",
        len(cost.multiplications.coefficients) == len(cost.additions.coefficients) == 3,
        "another power of n",
    )
    yield PaperFinding(
        "simulated motions",
        "no motion, arm or number is printed",
        f"energy of the free motion changes by {_drift(model, ends[_STEPS[-1]]):.1e} of its kinetic range"
        f" at a step"
        f" of {_STEPS[-1]} s",
        None,
        "the report names the application but prints no result of it",
    )


def accelerations(model: SerialModel, q: Array, qd: Array, tau: Array) -> Array:
    """theta'' (n,): C + G by zero accelerations, M by strobing, elimination without pivoting."""
    bias = np.asarray(modified_newton_euler(model, q, qd, np.zeros(model.dof)), dtype=float)
    return _solve(strobed_mass_matrix(model, q), tau - bias)


def smallest_pivot(matrix: Array) -> float:
    """Smallest pivot of elimination without exchanging rows."""
    work = matrix.copy()
    for k in range(len(work)):
        work[k + 1 :] -= np.outer(work[k + 1 :, k] / work[k, k], work[k])
    return float(np.diag(work).min())


def free_motion(model: SerialModel, q: Array, step: float) -> Array:
    """(steps + 1, 2, n): (theta', theta) of the arm that falls from rest at ``q``."""
    n = model.dof

    def g(y: Array) -> Array:
        return np.array([accelerations(model, y[1], y[0], np.zeros(n)), y[0]])

    states = [np.array([np.zeros(n), q])]
    for _ in range(round(_DURATION / step)):
        y = states[-1]
        h1 = step * g(y)
        h2 = step * g(y + h1 / 2.0)
        h3 = step * g(y + h2 / 2.0)
        h4 = step * g(y + h3)
        states.append(y + (h1 + 2.0 * h2 + 2.0 * h3 + h4) / 6.0)
    return np.array(states)


def _solve(matrix: Array, right: Array) -> Array:
    work = np.column_stack([matrix, right])
    n = len(right)
    for k in range(n):
        work[k + 1 :] -= np.outer(work[k + 1 :, k] / work[k, k], work[k])
    x = np.zeros(n)
    for k in range(n - 1, -1, -1):
        x[k] = (work[k, n] - work[k, k + 1 : n] @ x[k + 1 :]) / work[k, k]
    return x


def _drift(model: SerialModel, states: Array) -> float:
    values = np.array([energies(model, q, qd) for qd, q in states[:: max(1, len(states) // 20)]])
    totals = values.sum(axis=1)
    return float(np.ptp(totals) / np.ptp(values[:, 0]))


def _picture(model: SerialModel, ends: dict[float, Array], folder: Path) -> Path:
    figure = blank_figure(8.0, 3.6, "Free motion of an arm of three joints by the method of section 7")
    axes = figure.subplots()
    states = ends[_STEPS[-1]]
    time = np.arange(len(states)) * _STEPS[-1]
    for joint in range(model.dof):
        axes.plot(time, states[:, 1, joint], label=f"joint {joint + 1}")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("angle [rad]")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return save(figure, folder / "section_7_free_motion.png")
