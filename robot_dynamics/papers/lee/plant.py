"""Lee's simulation: a PUMA under sampled computed torque, with the law as published and with this package's.

The paper gives the two ends of the move, the gains, the sampling time and its figures; it prints neither the
duration nor the shape of the move, nor any inertial parameter. Ours: a quintic in two seconds, and the PUMA
560 of Armstrong, Khatib and Burdick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import yaml

from robot_dynamics.benchmark.arms import robot
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.resources import resource
from robot_dynamics.spatial import Array

START = np.radians([90.0, 0.0, 90.0, 0.0, 0.0, 0.0])
GOAL = np.radians([45.0, 30.0, 0.0, 45.0, 60.0, 90.0])
DURATION = 2.0
SETTLING = 0.5
SAMPLING = 0.01
KP, KV = 100.0, 20.0
# Steps of the plant's integration in one sample.
_SUBSTEPS = 10


@dataclass(frozen=True)
class LeeRun:
    """A simulated move.

    Attributes:
        time: (N,) [s].
        error: (N, 6) reference minus position, at every step of the integration [rad].
    """

    time: Array
    error: Array

    @property
    def largest(self) -> float:
        """Largest error of any joint at any time [rad]."""
        return float(np.abs(self.error).max())


@cache
def _puma() -> CompiledDynamics:
    return compile_dynamics(robot("puma560"), quantities=("inverse_dynamics", "mass_matrix"), friction=False)


def motor_inertia() -> Array:
    """(6,) inertia of the motors as seen at the joints [kg·m²]."""
    with resource("config/puma560.yaml").open(encoding="utf-8") as stream:
        return np.array(yaml.safe_load(stream)["/**"]["ros__parameters"]["rotor_inertia"], dtype=float)


def reference(time: float, duration: float) -> tuple[Array, Array, Array]:
    """q, qd, qdd (6,) of the quintic."""
    s = min(max(time / duration, 0.0), 1.0)
    inside = 0.0 <= time <= duration
    position = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    rate = 30.0 * s * s * (1.0 - s) ** 2 / duration * inside
    acceleration = 60.0 * s * (1.0 - 3.0 * s + 2.0 * s * s) / duration**2 * inside
    move = GOAL - START
    return START + move * position, move * rate, move * acceleration


@cache
def simulate(*, half_period_ahead: bool, motors: bool, duration: float = DURATION) -> LeeRun:
    """The move under (4.4).

    Args:
        half_period_ahead: whether the law is evaluated half a sampling period ahead, as here; the published
            law takes the measured state and the reference at the same instant.
        motors: whether the motors' inertia is there, in plant and model.
        duration: of the move [s].
    """
    dynamics, armature = _puma(), motor_inertia() * motors
    q, qd = START.copy(), np.zeros(6)
    ahead = 0.5 * SAMPLING * half_period_ahead
    times, errors = [], []
    step = SAMPLING / _SUBSTEPS

    def slope(q: Array, qd: Array, tau: Array) -> Array:
        if not motors:
            return dynamics.forward_dynamics(q, qd, tau)
        bias = dynamics.inverse_dynamics(q, qd, np.zeros(6))
        return np.asarray(np.linalg.solve(dynamics.mass_matrix(q) + np.diag(armature), tau - bias))

    qdd = np.zeros(6)
    for sample in range(round((duration + SETTLING) / SAMPLING)):
        now = sample * SAMPLING
        desired, desired_rate, desired_acceleration = reference(now, duration)
        feedback = KV * (desired_rate - qd) + KP * (desired - q)
        if ahead:
            desired_acceleration = reference(now + ahead, duration)[2]
        seen, seen_rate = q + ahead * qd, qd + ahead * qdd
        qdd = desired_acceleration + feedback
        tau = dynamics.inverse_dynamics(seen, seen_rate, qdd) + armature * qdd
        for k in range(_SUBSTEPS):
            times.append(now + k * step)
            errors.append(reference(times[-1], duration)[0] - q)
            q, qd = _runge_kutta(slope, q, qd, tau, step)
    return LeeRun(np.array(times), np.array(errors))


Slope = Callable[[Array, Array, Array], Array]


def _runge_kutta(slope: Slope, q: Array, qd: Array, tau: Array, step: float) -> tuple[Array, Array]:
    a1 = slope(q, qd, tau)
    a2 = slope(q + 0.5 * step * qd, qd + 0.5 * step * a1, tau)
    a3 = slope(q + 0.5 * step * (qd + 0.5 * step * a1), qd + 0.5 * step * a2, tau)
    a4 = slope(q + step * (qd + 0.5 * step * a2), qd + step * a3, tau)
    return (
        q + step * qd + step * step * (a1 + a2 + a3) / 6.0,
        qd + step * (a1 + 2.0 * a2 + 2.0 * a3 + a4) / 6.0,
    )
