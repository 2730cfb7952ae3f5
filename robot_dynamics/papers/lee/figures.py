"""Figures 2 to 8: a PUMA under sampled computed torque, with the law as published and with this package's.

The paper gives the two ends of the move, the gains, the sampling time and its figures; it prints neither the
duration nor the shape of the move, nor any inertial parameter. Ours: a quintic in two seconds, and the PUMA
560 of Armstrong, Khatib and Burdick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import yaml

from robot_dynamics.benchmark.arms import robot
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.papers.evidence.finding import PaperFinding
from robot_dynamics.report.plots import RESOLUTION, panels, save
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
_NOT_STATED = (
    "the paper prints neither the move's duration and shape nor the arm's inertial parameters, and its"
    " curves have no"
    f" numbers in the text; here a quintic of {DURATION:g} s and the PUMA 560 of Armstrong et al."
)
_CASES = (
    ("published law, links alone", {"half_period_ahead": False, "motors": False}),
    ("published law, with the motors' inertia", {"half_period_ahead": False, "motors": True}),
    ("evaluated half a period ahead, links alone", {"half_period_ahead": True, "motors": False}),
    ("evaluated half a period ahead, with the motors' inertia", {"half_period_ahead": True, "motors": True}),
)


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


def figures(folder: Path) -> Iterator[PaperFinding]:
    """The simulation's flow, the errors of the six joints, and the statement about them."""
    runs = {name: simulate(**conditions) for name, conditions in _CASES}
    published = runs[_CASES[0][0]]
    yield PaperFinding(
        "figure 2: flow of the simulation",
        f"set point, law (4.4), arm, state, every {SAMPLING} s",
        f"the same loop: torque held over {SAMPLING} s, plant integrated by Runge-Kutta in steps of"
        f" {SAMPLING / 10 * 1e3:g} ms",
        None,
        "a flow chart carries no number",
    )
    picture = _picture(runs, folder)
    for joint in range(6):
        errors = ", ".join(f"{name}: {np.abs(run.error[:, joint]).max():.2e}" for name, run in runs.items())
        yield PaperFinding(
            f"figure {joint + 3}: position error of joint {joint + 1}",
            "a curve, slightly oscillatory, less than 4.26e-4 rad",
            f"largest [rad]: {errors}",
            None,
            _NOT_STATED,
            pictures=(picture,) if joint == 0 else (),
        )
    for name, run in runs.items():
        yield PaperFinding(
            f"errors always below 4.26e-4 rad: {name}",
            "always well below the resolution of a 12-bit converter",
            f"{run.largest:.2e} rad",
            run.largest < RESOLUTION,
            _reason(name, run),
        )
    slow = _slowest(published)
    yield PaperFinding(
        "how slow the move would have to be",
        "nothing; the duration is not stated",
        f"the published law on the links alone stays below 4.26e-4 rad from a duration of {slow:.1f} s on",
        None,
        "the paper does not state the duration",
    )


def _reason(name: str, run: LeeRun) -> str:
    where = int(np.abs(run.error).max(axis=0).argmax()) + 1
    return (
        f"in our plant, in joint {where}: the torque is computed for the state at the sampling instant and"
        f" held for"
        f" {SAMPLING} s, while inertia and velocity change; duration, shape and arm of the paper are not"
        f" stated"
    )


def _slowest(run: LeeRun) -> float:
    low, high = DURATION, 12.0
    assert run.largest > RESOLUTION
    while high - low > 0.1:
        middle = 0.5 * (low + high)
        below = simulate(half_period_ahead=False, motors=False, duration=middle).largest < RESOLUTION
        low, high = (low, middle) if below else (middle, high)
    return high


def _picture(runs: dict[str, LeeRun], folder: Path) -> Path:
    figure, grid = panels(6, "Figures 3 to 8: position error of each joint", "rad")
    for joint, axes in enumerate(grid):
        for name, run in runs.items():
            axes.plot(run.time, run.error[:, joint], lw=1.0, label=name)
        for side in (-RESOLUTION, RESOLUTION):
            axes.axhline(side, color="k", ls=":", lw=0.8)
        axes.set_title(f"figure {joint + 3}: joint {joint + 1}", fontsize="medium")
        axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2))
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
    return save(figure, folder / "figures_3_to_8_position_errors.png")
