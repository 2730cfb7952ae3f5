"""Lee's control law in both forms: (4.1) on D, H and G, and (4.4) inside the Newton-Euler recursion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.dynamics.formulations import FORMULATIONS
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.papers.evidence.finding import relative_error
from robot_dynamics.papers.evidence.kinematics import random_arm, random_state
from robot_dynamics.spatial import Array


def matrices(model: SerialModel, q: Array, qd: Array) -> tuple[Array, Array, Array]:
    """D (n, n), H (n,) and G (n,) of (3.7), from the Lagrange-Euler form (3.8) to (3.10)."""
    run, rest = FORMULATIONS["lagrange-direct"], np.zeros(model.dof)
    gravity = np.asarray(run(model, q, rest, rest), dtype=float)
    weightless = replace(model, gravity=np.zeros(3))
    coriolis = np.asarray(run(weightless, q, qd, rest), dtype=float)
    columns = [run(weightless, q, rest, unit) for unit in np.eye(model.dof)]
    return np.column_stack(columns).astype(float), coriolis, gravity


def explicit_law(
    model: SerialModel, q: Array, qd: Array, q_d: Array, qd_d: Array, qdd_d: Array, kp: Array, kv: Array
) -> Array:
    """(4.1): tau = D (qdd_d + K_v (qd_d - qd) + K_p (q_d - q)) + H + G, with (n, n) gain matrices."""
    d, h, g = matrices(model, q, qd)
    return np.asarray(d @ (qdd_d + kv @ (qd_d - qd) + kp @ (q_d - q)) + h + g)


def substituted_law(
    model: SerialModel, q: Array, qd: Array, q_d: Array, qd_d: Array, qdd_d: Array, kp: Array, kv: Array
) -> Array:
    """(4.4): the Newton-Euler recursion (3.21) to (3.27) with theta'' replaced, joint by joint."""
    acceleration = np.array(
        [
            qdd_d[i]
            + sum(kv[i, s] * (qd_d[s] - qd[s]) for s in range(model.dof))
            + sum(kp[i, s] * (q_d[s] - q[s]) for s in range(model.dof))
            for i in range(model.dof)
        ]
    )
    return np.asarray(FORMULATIONS["newton-euler-nested"](model, q, qd, acceleration), dtype=float)


def closed_loop_error() -> float:
    """D (e'' + K_v e' + K_p e) under (4.4), relative to the torque that the feedback asks for."""
    model, random = random_arm(8), np.random.default_rng(9)
    q, qd, _ = random_state(model)
    q_d, qd_d, qdd_d = random.uniform(-1.0, 1.0, (3, 6))
    kp, kv = 30.0 * np.eye(6) + random.normal(size=(6, 6)), 10.0 * np.eye(6) + random.normal(size=(6, 6))
    tau = substituted_law(model, q, qd, q_d, qd_d, qdd_d, kp, kv)
    d, h, g = matrices(model, q, qd)
    acceleration = np.linalg.solve(d, tau - h - g)
    feedback = kv @ (qd_d - qd) + kp @ (q_d - q)
    return relative_error(d @ (acceleration - qdd_d), d @ feedback)


def controllable() -> tuple[float, float]:
    """Largest real part of the error's modes: conditions (a) to (c) met, and rank too low."""
    kp = np.array([[4.0, 1.0], [1.0, 9.0]])
    damped = np.diag([1.0, 0.0])
    values = [_growth(kp, damped), _growth(np.diag([4.0, 9.0]), damped)]
    ranks = [np.linalg.matrix_rank(np.hstack([damped, k @ damped])) for k in (kp, np.diag([4.0, 9.0]))]
    assert ranks == [2, 1]
    return values[0], values[1]


def _growth(kp: Array, kv: Array) -> float:
    n = len(kp)
    system = np.block([[np.zeros((n, n)), np.eye(n)], [-kp, -kv]])
    return float(np.linalg.eigvals(system).real.max())
