"""Retiming of one path by this package, toppra and copp-py, in turn, within the same limits.

The others' rows are made of the same compiled inverse dynamics: differences are those of the methods. toppra
and copp-py are measured where they can be imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from robot_dynamics.benchmark.arms import random_arm
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.retiming.limits import PathLimits
from robot_dynamics.control.retiming.model import DrivenModel
from robot_dynamics.control.retiming.retime import Retimed, retime, through
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

JOINTS = 7
WAYPOINTS = 5
RATE = 20.0
"""As often efforts may cross half of their range in a second, where their rate is limited."""
DENSE = 20
"""Samples of each interval of a profile, from which the largest share of a limit is reported."""


@dataclass(frozen=True)
class RetimingRow:
    """Result of one method.

    Attributes:
        method: its name.
        set_up: shortest time to make the constraints [s]; NaN where it is not separate.
        solve: the same to solve, or of all [s].
        duration: of the motion [s].
        largest: largest share of an effort or velocity limit, of dense samples.
        note: the reason for which there is no result.
    """

    method: str
    set_up: float = np.nan
    solve: float = np.nan
    duration: float = np.nan
    largest: float = np.nan
    note: str = ""


def compare(chain: KinematicChain | None, rounds: int, intervals: int, seed: int = 1) -> list[RetimingRow]:
    """Results of all methods for a path through random waypoints.

    Args:
        chain: the arm; None: one of seven joints at random.
        rounds: measurements of each method, one after the other in turn.
        intervals: of the grid.
        seed: of the waypoints.
    """
    arm = random_arm(JOINTS) if chain is None else chain
    dynamics = compile_dynamics(arm, friction=False)
    points = _waypoints(arm, seed)
    spline = through(points, arm.joint_names)
    limits = _limits(arm, dynamics)
    bare = DrivenModel.of(ActuatedArm(dynamics, arm, _drives(0.0, limits)))
    rubbing = DrivenModel.of(ActuatedArm(dynamics, arm, _drives(0.02, limits)))
    profile = retime(bare, spline, limits, start_speed=0.0, end_speed=0.0, intervals=intervals)

    rated = replace(limits, effort_rate=RATE * np.asarray(limits.effort))
    motions: dict[str, Retimed] = {}

    def own(name: str, model: DrivenModel, within: PathLimits) -> Callable[[], tuple[Array, Array, float]]:
        def run() -> tuple[Array, Array, float]:
            made = retime(model, spline, within, start_speed=0.0, end_speed=0.0, intervals=intervals)
            motions[name] = made
            return made.s, made.x, 0.0

        return run

    names = ("robot_dynamics", "robot_dynamics, viscous and Coulomb friction")
    rate_name = "robot_dynamics, friction and limited effort rates"
    methods: dict[str, tuple[DrivenModel, Callable[[], tuple[Array, Array, float]] | str]] = {
        names[0]: (bare, own(names[0], bare, limits)),
        names[1]: (rubbing, own(names[1], rubbing, limits)),
        rate_name: (rubbing, own(rate_name, rubbing, rated)),
        "copp-py, reachability": (bare, _copp(profile, dynamics, limits, "topp2_ra")),
        "copp-py, second-order cone program": (bare, _copp(profile, dynamics, limits, "copp2_socp")),
        "toppra, collocation": (bare, _toppra(spline, dynamics, limits, intervals, 0)),
        "toppra, interpolation": (bare, _toppra(spline, dynamics, limits, intervals, 1)),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
    results: dict[str, tuple[Array, Array]] = {}
    for _ in range(rounds):
        for name, (_, run) in methods.items():
            if isinstance(run, str):
                continue
            begin = perf_counter()
            s, x, set_up = run()
            times[name].append((set_up, perf_counter() - begin - set_up))
            results[name] = s, x
    rows = []
    for name, (model, run) in methods.items():
        if isinstance(run, str):
            rows.append(RetimingRow(name, note=run))
            continue
        set_up, solve = np.min(np.array(times[name]), axis=0)
        s, x = results[name]
        if name in motions:
            duration, largest = motions[name].duration, _largest_of(model, motions[name], limits)
        else:
            duration = float((2.0 * np.diff(s) / (np.sqrt(x[:-1]) + np.sqrt(x[1:]))).sum())
            largest = _largest(model, spline, s, x, limits)
        rows.append(RetimingRow(name, set_up or np.nan, solve, duration, largest))
    return rows


def _waypoints(chain: KinematicChain, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    limits = [chain.driving_joint(j).limits for j in range(chain.dof)]
    lower = np.array([max(limit.lower, -2.0) for limit in limits])
    upper = np.array([min(limit.upper, 2.0) for limit in limits])
    share = rng.uniform(0.15, 0.85, (WAYPOINTS, chain.dof))
    return np.asarray(lower + share * (upper - lower))


def _limits(chain: KinematicChain, dynamics: CompiledDynamics) -> PathLimits:
    """The description's; twice the largest weight and 3 rad/s where it gives none."""
    given = PathLimits.of(chain).arrays(chain)
    rng = np.random.default_rng(0)
    places = rng.uniform(-2.0, 2.0, (500, chain.dof))
    rest = np.zeros_like(places)
    weight = np.abs(dynamics.inverse_dynamics(places, rest, rest)).max(axis=0)
    inertia = np.abs(dynamics.inverse_dynamics(places, rest, rest + 1.0)).max(axis=0)
    efforts = np.where(np.isfinite(given["effort"]), given["effort"], 2.0 * weight + 2.0 * inertia)
    return PathLimits(
        velocity=np.where(np.isfinite(given["velocity"]), given["velocity"], 3.0), effort=efforts
    )


def _drives(share: float, limits: PathLimits) -> ActuatorParameters:
    """Friction of this share of the effort limits: Coulomb, and viscous at 1 rad/s."""
    sizes = tuple((share * np.asarray(limits.effort)).tolist())
    return ActuatorParameters(damping=sizes, friction=sizes)


def _largest(model: DrivenModel, spline: QuinticSpline, s: Array, x: Array, limits: PathLimits) -> float:
    part = (np.arange(DENSE) + 0.5) / DENSE
    at = (s[:-1, None] + np.diff(s)[:, None] * part).ravel()
    squares = (x[:-1, None] + np.diff(x)[:, None] * part).ravel()
    u = np.repeat(0.5 * np.diff(x) / np.diff(s), DENSE)
    q, qp, qpp = spline.at(at)
    qd = qp * np.sqrt(squares)[:, None]
    efforts = model.efforts(q, qd, qp * u[:, None] + qpp * squares[:, None])
    shares = (np.abs(efforts) / limits.effort).max(), (np.abs(qd) / limits.velocity).max()
    return float(max(shares))


def _largest_of(model: DrivenModel, made: Retimed, limits: PathLimits) -> float:
    """The same of the motion as it is delivered."""
    part = (np.arange(DENSE) + 0.5) / DENSE
    at = (made.times[:-1, None] + np.diff(made.times)[:, None] * part).ravel()
    q, qd, qdd = made.spline.at(at)
    efforts = model.efforts(q, qd, qdd)
    return float(max((np.abs(efforts) / limits.effort).max(), (np.abs(qd) / limits.velocity).max()))


def _copp(
    profile: Retimed, dynamics: CompiledDynamics, limits: PathLimits, solver: str
) -> Callable[[], tuple[Array, Array, float]] | str:
    """The same rows at the points of this package's grid."""
    try:
        copp = importlib.import_module("copp_py")
        chosen = importlib.import_module(f"copp_py.solver.{solver}")
    except ImportError as error:
        return f"not here: {error}"
    s, q, qp, qpp = (np.array(part) for part in (profile.s, profile.q, profile.qp, profile.qpp))
    count, last = q.shape[1], len(s) - 1
    effort = np.asarray(limits.effort)

    def run() -> tuple[Array, Array, float]:
        begin = perf_counter()
        rest = np.zeros_like(q)
        c = dynamics.inverse_dynamics(q, rest, rest)
        a = dynamics.inverse_dynamics(q, rest, qp) - c
        b = dynamics.inverse_dynamics(q, qp, qpp) - c
        robot = copp.Robot(count)
        robot.append_s(s)
        robot.set_q(q, qp, qpp, 0)
        rows = robot.constraints
        with np.errstate(divide="ignore"):
            most = (limits.velocity / np.abs(qp)).min(axis=1) ** 2
        rows.add_constraint_1st(most[:, None], 0)
        rows.add_constraint_2nd(
            np.hstack([b, -b]), np.hstack([a, -a]), np.hstack([effort - c, effort + c]), 0
        )
        if solver == "topp2_ra":
            problem = chosen.Problem(rows, (0, last), (0.0, 0.0))
        else:
            problem = chosen.Problem(robot, [copp.objective.Time(1.0)], (0, last), (0.0, 0.0))
        set_up = perf_counter() - begin
        return s, np.maximum(np.asarray(chosen.solve(problem)), 0.0), set_up

    try:
        run()
    except Exception as error:
        return f"fails: {error}"
    return run


def _toppra(
    spline: QuinticSpline, dynamics: CompiledDynamics, limits: PathLimits, intervals: int, scheme: int
) -> Callable[[], tuple[Array, Array, float]] | str:
    try:
        toppra = importlib.import_module("toppra")
        importlib.import_module("toppra.algorithm")
    except Exception as error:  # compiled for another numpy, it fails in many ways
        return f"not here: {str(error).splitlines()[0]}"
    constraint = toppra.constraint
    grid = np.linspace(spline.times[0], spline.times[-1], intervals + 1)
    velocity, effort = (np.column_stack([-np.asarray(v), v]) for v in (limits.velocity, limits.effort))

    class Path(toppra.interpolator.AbstractGeometricPath):  # type: ignore[misc, name-defined]
        """The same quintics."""

        def __call__(self, at: Any, order: int = 0) -> Any:
            return spline.at(np.asarray(at, dtype=float))[order]

        @property
        def dof(self) -> int:
            return len(effort)

        @property
        def path_interval(self) -> Any:
            return np.array([grid[0], grid[-1]])

        @property
        def waypoints(self) -> Any:
            return grid, self(grid)

    def run() -> tuple[Array, Array, float]:
        begin = perf_counter()
        kind = constraint.DiscretizationType(scheme)
        torque = constraint.JointTorqueConstraint(
            dynamics.inverse_dynamics, effort, np.zeros(len(effort)), discretization_scheme=kind
        )
        given = [constraint.JointVelocityConstraint(velocity), torque]
        solver = toppra.algorithm.TOPPRA(given, Path(), gridpoints=grid, solver_wrapper="seidel")
        set_up = perf_counter() - begin
        _, rate, _ = solver.compute_parameterization(0.0, 0.0)
        if rate is None:
            raise ValueError("no result")
        return grid, np.maximum(np.asarray(rate), 0.0) ** 2, set_up

    try:
        run()
    except Exception as error:
        return f"fails: {error}"
    return run


def table(rows: list[RetimingRow], name: str, intervals: int) -> str:
    """The results as text."""
    lines = [
        f"{name}, about {intervals} intervals; times are the shortest of this run's rounds",
        f"{'':52}{'set-up':>10}{'solving':>10}{'duration':>12}{'largest share':>15}",
    ]
    for row in rows:
        if row.note:
            lines.append(f"{row.method:52}{row.note}")
            continue
        set_up = "" if np.isnan(row.set_up) else f"{1e3 * row.set_up:.2f} ms"
        solve = f"{1e3 * row.solve:.2f} ms"
        lines.append(f"{row.method:52}{set_up:>10}{solve:>11}{row.duration:>10.4f} s{row.largest:>15.6f}")
    return "\n".join(lines)
