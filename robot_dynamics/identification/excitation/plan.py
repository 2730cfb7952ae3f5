"""An exciting motion: the most information about a robot inside its bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.extras import lacking
from robot_dynamics.identification.excitation.bounds import Bounds
from robot_dynamics.identification.excitation.clearance import Clearance
from robot_dynamics.identification.excitation.information import Information
from robot_dynamics.identification.excitation.series import Series
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

Progress = Callable[[str, float], None]
"""Told what is being done and how much of it is, from 0 to 1."""
PENALTIES = (1e1, 1e2, 1e3, 1e4)
TIGHTER = 0.99
"""Of the bounds while searching: a penalty keeps them almost."""
ITERATIONS = 40
"""For each penalty."""
STARTS = 2
SAMPLES_A_PERIOD = 10
"""Of the highest harmonic, while searching."""
FINE = 5
"""Times as many in the end."""
_TRIES = 400


@dataclass(frozen=True)
class Excitation:
    """A periodic motion that begins and ends at rest at the same place.

    Attributes:
        chain: that it is for.
        series: its basis.
        parameters: (size, n) of the series.
        information: log det of the information, before the search and after it.
        shrunk: share of the amplitude that was found which the bounds allow.
        nearest: least distance of shapes [m], infinite without any, and between whom.
        effort_share: (n,) of each joint's effort bound that is used; zero where there is none.
        speeds: of its runs, as shares of the planned speed.
    """

    chain: KinematicChain
    series: Series
    parameters: Array
    information: tuple[float, float]
    shrunk: float
    nearest: tuple[float, str]
    effort_share: Array
    speeds: tuple[float, ...] = (1.0,)

    def states(self, time: Array) -> Array:
        """(3, N, n) positions, velocities and accelerations at ``time`` (N,) [s]."""
        return np.asarray([basis @ self.parameters for basis in self.series.basis(time)])


class _ExcitationProblem:
    def __init__(
        self,
        models: Sequence[CompiledDynamics],
        bounds: Bounds,
        clearance: Clearance | None,
        series: Series,
        speeds: Sequence[float],
    ) -> None:
        self.speeds = tuple(speeds)
        self.models, self.bounds, self.clearance, self.series = models, bounds, clearance, series
        chain = models[0].chain
        self.chain = chain
        joints = [chain.driving_joint(j) for j in range(chain.dof)]
        self._damping = np.array([joint.damping for joint in joints])
        self.effort = bounds.effort - np.array([joint.friction for joint in joints])
        self.time = np.linspace(0.0, series.period, SAMPLES_A_PERIOD * series.harmonics, endpoint=False)
        self.basis = series.basis(self.time)
        weights = np.where(np.isfinite(bounds.effort), bounds.effort, np.nan)
        typical = np.nanmedian(weights) if np.isfinite(weights).any() else 1.0
        self.information = Information(models[0], 1.0 / np.where(np.isnan(weights), typical, weights))

    def efforts(self, model: CompiledDynamics, states: Array) -> Array:
        """(N, n) without dry friction, whose share of the bound is taken off already."""
        q, qd, qdd = (np.ascontiguousarray(part) for part in states)
        return np.asarray(model.inverse_dynamics(q, qd, qdd) + self._damping * qd)

    def worst(self, states: Array) -> float:
        """Largest share of its bounds that a motion uses; 1 is all of one of them."""
        b = self.bounds
        half = 0.5 * (b.upper - b.lower)
        shares = [
            np.abs(states[0] - 0.5 * (b.upper + b.lower)) / half,
            np.abs(states[1]) / b.velocity,
            np.abs(states[2]) / b.acceleration,
            *(np.abs(self.efforts(model, states)) / self.effort for model in self.models),
        ]
        return max(float(share.max()) for share in shares)

    def value(self, states: Array) -> float:
        """Information of all runs."""
        return self.information.value(self.at_speeds(states))

    def at_speeds(self, states: Array) -> Array:
        """(3, S N, n) states of all runs, from those (3, N, n) at full speed."""
        powers = np.arange(3)
        runs = [states * (speed**powers)[:, None, None] for speed in self.speeds]
        return np.concatenate(runs, axis=1)

    def _informed(self, states: Array) -> tuple[float, Array]:
        """Information of all runs, and its slopes with the states at full speed."""
        value, slopes = self.information.with_slopes(self.at_speeds(states))
        powers, parts = np.arange(3), np.split(slopes, len(self.speeds), axis=1)
        together = sum(
            part * (speed**powers)[:, None, None] for speed, part in zip(self.speeds, parts, strict=True)
        )
        return value, np.asarray(together)

    def objective(self, x: Array, penalty: float) -> tuple[float, Array]:
        """Objective that is minimised, and its slopes."""
        parameters = x.reshape(self.series.size, self.chain.dof)
        states = np.array([basis @ parameters for basis in self.basis])
        value, slopes = self._informed(states)
        scale = -1.0 / self.information.size
        value, slopes = scale * value, scale * slopes
        cost, more = self._violation(states)
        value, slopes = value + penalty * cost, slopes + penalty * more
        gradient = sum(basis.T @ part for basis, part in zip(self.basis, slopes, strict=True))
        return value, np.asarray(gradient).ravel()

    def _violation(self, states: Array) -> tuple[float, Array]:
        """Half the squares of what exceeds the bounds, and its slopes (3, N, n)."""
        b = self.bounds
        slopes = np.zeros_like(states)
        cost = 0.0
        middle, half = 0.5 * (b.upper + b.lower), 0.5 * (b.upper - b.lower)
        for kind, (value, most) in enumerate(
            ((states[0] - middle, half), (states[1], b.velocity), (states[2], b.acceleration))
        ):
            over = np.maximum(0.0, np.abs(value) / most - TIGHTER)
            cost += 0.5 * float(np.sum(over**2))
            slopes[kind] += over * np.sign(value) / most
        if np.isfinite(self.effort).any():
            for model in self.models:
                effort = self.efforts(model, states)
                over = np.maximum(0.0, np.abs(effort) / self.effort - TIGHTER)
                if not over.any():
                    continue
                cost += 0.5 * float(np.sum(over**2))
                pull = over * np.sign(effort) / self.effort
                q, qd, qdd = (np.ascontiguousarray(part) for part in states)
                by = model.inverse_dynamics_derivatives(q, qd, qdd)
                for kind in range(3):
                    slopes[kind] += np.einsum("ni,nij->nj", pull, by[kind])
                slopes[1] += pull * self._damping
        if self.clearance is not None:
            wanted = self.bounds.clearance / TIGHTER**2
            for sample, distance, slope in self.clearance.near(states[0], wanted):
                under = (wanted - distance) / 0.1
                cost += 0.5 * under**2
                slopes[0, sample] -= under / 0.1 * slope
        return cost, slopes


def plan(
    models: Sequence[CompiledDynamics],
    bounds: Bounds,
    clearance: Clearance | None,
    series: Series,
    progress: Progress = lambda stage, share: None,
    seed: int = 0,
    starts: int = STARTS,
    speeds: Sequence[float] = (1.0,),
) -> Excitation:
    """The motion of ``series`` with the most information inside ``bounds``.

    Args:
        models: of the arm, without and with what it may carry; efforts of all are kept.
        bounds: to stay inside.
        clearance: of the shapes; None where they are not looked at.
        series: harmonics and period.
        progress: called with the share that is done.
        seed: of the starts of the search.
        starts: from which it searches; the best counts.
        speeds: of the runs that will be recorded, as shares of the planned speed.

    Raises:
        RobotDynamicsError: scipy is missing, or there is no place inside the bounds to begin at.
    """
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise RobotDynamicsError(lacking("excitation needs", "scipy")) from error
    problem = _ExcitationProblem(models, bounds, clearance, series, speeds)
    draw = np.random.default_rng(seed)
    centre = _centre(problem, draw)
    best: Excitation | None = None
    steps = starts * len(PENALTIES) * ITERATIONS
    done = 0

    def report(_: Array) -> None:
        nonlocal done
        done += 1
        progress("searching the excitation trajectory", min(1.0, done / steps))

    for start in range(starts):
        x = np.zeros((series.size, models[0].chain.dof))
        x[0] = centre
        x[1:] = 0.1 * (bounds.upper - bounds.lower) * draw.normal(size=x[1:].shape) / np.sqrt(series.size)
        before = problem.value(np.array([basis @ x for basis in problem.basis]))
        for stage, penalty in enumerate(PENALTIES):
            options = {"maxiter": ITERATIONS, "maxcor": 30}
            found = minimize(
                problem.objective,
                x.ravel(),
                (penalty,),
                "L-BFGS-B",
                jac=True,
                callback=report,
                options=options,
            )
            x = found.x.reshape(x.shape)
            done = (start * len(PENALTIES) + stage + 1) * ITERATIONS
        tried = _inside(problem, x, centre, before)
        if best is None or tried.information[1] > best.information[1]:
            best = tried
    assert best is not None
    return best


def _inside(problem: _ExcitationProblem, x: Array, centre: Array, before: float) -> Excitation:
    """The motion made so much smaller that it is inside the bounds at all times."""
    series = problem.series
    fine = np.linspace(0.0, series.period, FINE * SAMPLES_A_PERIOD * series.harmonics + 1)
    basis = series.basis(fine)
    resting = np.zeros_like(x)
    resting[0] = centre

    def fits(share: float) -> bool:
        states = np.array([part @ (resting + share * (x - resting)) for part in basis])
        if problem.worst(problem.at_speeds(states)) > 1.0:
            return False
        wanted = problem.bounds.clearance
        return problem.clearance is None or problem.clearance.least(states[0], wanted)[0] >= wanted

    low, high = 0.0, 1.0
    if not fits(high):
        for _ in range(12):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if fits(middle) else (low, middle)
        high = low
    if high == 0.0:
        raise TrajectoryError("no motion about the place in the middle stays inside the bounds")
    parameters = resting + high * (x - resting)
    states = np.array([part @ parameters for part in basis])
    coarse = np.array([part @ parameters for part in problem.basis])
    efforts = [np.abs(problem.efforts(model, states)).max(axis=0) for model in problem.models]
    nearest = (np.inf, "") if problem.clearance is None else problem.clearance.least(states[0], np.inf)
    return Excitation(
        chain=problem.chain,
        series=series,
        parameters=parameters,
        information=(before, problem.value(coarse)),
        shrunk=high,
        nearest=nearest,
        effort_share=np.max(efforts, axis=0) / problem.effort,
        speeds=problem.speeds,
    )


def _centre(problem: _ExcitationProblem, draw: np.random.Generator) -> Array:
    """A place inside the bounds, as near the middle of the joints' ranges as one is found."""
    b = problem.bounds
    weak = np.flatnonzero(problem.effort <= 0.0)
    if len(weak):
        name = problem.chain.joint_names[weak[0]]
        raise TrajectoryError(f"the friction of {name} alone takes what may be used of its effort limit")
    middle = 0.5 * (b.lower + b.upper)
    tries = [middle, *draw.uniform(b.lower, b.upper, (_TRIES, len(middle)))]
    tries.sort(key=lambda q: float(np.max(np.abs(q - middle) / (b.upper - b.lower))))
    near: Counter[str] = Counter()
    for q in tries:
        states = np.zeros((3, 1, len(middle)))
        states[0, 0] = q
        if problem.worst(states) > 0.95:
            continue
        wanted = 1.1 * b.clearance
        if problem.clearance is None:
            return np.asarray(q)
        distance, pair = problem.clearance.least(states[0], wanted)
        if distance >= wanted:
            return np.asarray(q)
        near[pair] += 1
    if not near:
        raise TrajectoryError(
            f"none of {_TRIES} places inside the joints' ranges leaves the joints the effort to carry the"
            " arm; give other ranges with --range"
        )
    (pair, count), among = near.most_common(1)[0], near.total()
    raise TrajectoryError(
        f"none of {_TRIES} places inside the joints' ranges keeps {b.clearance:g} m between the shapes and"
        f" leaves the joints the effort to carry the arm: {among} leave the effort, and in {count} of them"
        f" {pair} are nearest. Pairs that may touch are disabled by --srdf FILE; give other ranges with"
        " --range"
    )
