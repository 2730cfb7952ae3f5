"""Drive gains: effort per current of each joint, from runs with and without a known payload.

The current of a joint is the noisy side. Without a payload it is Φ χ / k, where Φ are the columns of links
and drives and χ their parameters; with a payload of the parameters π it is (Φ χ + L π) / k. Without a payload
χ / k alone is found. What the payload adds fixes 1 / k, because its mass is known (M. Gautier, S. Briot,
"Global identification of joint drive gains and dynamic parameters of robots", J. Dyn. Sys. Meas. Control 136
(2014) 051025). χ / k is free in each joint, and π is common to all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import LogError, ParameterError, quoted, shown
from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import structure
from robot_dynamics.identification.friction import FrictionLaw
from robot_dynamics.identification.friction_choice import chosen_law
from robot_dynamics.identification.least_squares import correlation_times, robust_fit
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.preparation import prepared_runs
from robot_dynamics.identification.result import earth_or_none
from robot_dynamics.identification.runs import Options, Run, drives_given, prior_parameters
from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.spatial import Array

FELT = 0.03
"""Greatest relative standard deviation of a gain that is taken from the payload."""
FARTHEST = 10.0
"""Gains are sought within this factor of those that are given."""
ROUNDS = 2
"""Estimates one after the other: friction and the loads of gears depend on the gains."""
_INDEPENDENT = 1e-7
"""Least share of a column that must not be a combination of others."""


@dataclass(frozen=True)
class Gains:
    """Factors by which the efforts of the runs are to be multiplied.

    Attributes:
        factors: (n,) 1 for joints that do not feel the payload.
        deviations: (n,) relative standard deviations; infinite for a joint that feels nothing of it.
        felt: (n,) whether the factor comes from the payload.
    """

    factors: Array
    deviations: Array
    felt: NDArray[np.bool_]


def drive_gains(
    chain: KinematicChain,
    unloaded: Sequence[Log],
    loaded: Sequence[Log],
    payloads: Mapping[str, tuple[float, Array | None]],
    options: Options | None = None,
) -> Gains:
    """The gains that runs with and without a payload agree with.

    Args:
        chain: of the description, without the payload.
        unloaded: runs without the payload; their efforts are right but for a factor a joint.
        loaded: runs with it.
        payloads: of each tip that carries one: its mass [kg], and its centre (3,) in the frame of the tip
            [m], or None where that is not known.
        options: how.

    Raises:
        LogError: no runs of one kind, a log is not this robot's motion, or no joint feels the payload.
        ParameterError: a mass that is not above 0, or no such tip.
    """
    for mass, _ in payloads.values():
        if not (np.isfinite(mass) and mass > 0.0):
            raise ParameterError(f"the payload's mass is {mass:g} kg; a known mass above 0 is needed")
    carried = _Carried.of(chain, payloads)
    for name, logs in (("without", unloaded), ("with", loaded)):
        if not logs:
            raise LogError(f"no run {name} the payload; drive gains need runs of both kinds")
    options = options or Options()
    prior = prior_parameters(chain, drives_given(chain, options))
    bare, treatment = prepared_runs(unloaded, chain, prior, options)
    # The payload would pass for a delay, and for what is not coherent.
    same = replace(options, cutoff=treatment.cutoff, delay=treatment.delay.seconds)
    heavy, _ = prepared_runs(loaded, chain, prior, same)
    bodies = prior[: inertial.COUNT * len(chain.joints)]
    plain, _ = structure(chain, earth_or_none(options.compensates_gravity))
    found = Gains(np.ones(chain.dof), np.full(chain.dof, np.inf), np.zeros(chain.dof, dtype=bool))
    for _ in range(ROUNDS):
        scaled = [replace(run, effort=run.effort * found.factors).loaded(bodies) for run in bare]
        law = chosen_law(scaled, plain, load=True)
        bodies = _bodies(chain, scaled, prior, law, options)
        found = _gains((bare, heavy), bodies, carried, law)
    weight = " and ".join(f"{mass:g} kg" for mass, _ in payloads.values())
    far = found.felt & (np.abs(np.log(found.factors)) > 0.99 * np.log(FARTHEST))
    if far.any():
        named = shown(*(name for name, is_far in zip(chain.joint_names, far, strict=True) if is_far))
        raise LogError(
            f"the gain of {named} would be more than {FARTHEST:g} times off: is the payload of {weight}"
            " mounted in the runs that are said to have it, and in no other?"
        )
    if not found.felt.any():
        raise LogError(
            f"no joint feels the payload of {weight} well enough for its gain: record larger and slower"
            " motion of the joints that carry it, with a heavier payload"
        )
    return found


@dataclass(frozen=True)
class _Carried:
    """Payloads with what is known of them.

    Attributes:
        columns: (10 p,) where the parameters of the links that carry them are, among those of all links.
        to_links: (10 p, 10 p) from parameters in the frames of the tips to those in the links' frames.
        values: (10 p,) parameters in the frames of the tips, as far as they are known.
        known: (10 p,) which of them are.
    """

    columns: NDArray[np.intp]
    to_links: Array
    values: Array
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, chain: KinematicChain, payloads: Mapping[str, tuple[float, Array | None]]) -> _Carried:
        tips, size = {tip.link: tip for tip in chain.tips}, inertial.COUNT * len(payloads)
        columns, values = np.zeros(size, dtype=np.intp), np.zeros(size)
        to_links, known = np.zeros((size, size)), np.zeros(size, dtype=bool)
        for k, (name, (mass, center)) in enumerate(payloads.items()):
            if name not in tips:
                raise ParameterError(f"a payload at {quoted(name)}; the tips are {', '.join(tips)}")
            own, tip = slice(inertial.COUNT * k, inertial.COUNT * (k + 1)), tips[name]
            columns[own] = inertial.COUNT * tip.joint + np.arange(inertial.COUNT)
            to_links[own, own] = inertial.moved_parameters(tip.transform)
            place = np.zeros(3) if center is None else np.asarray(center, dtype=float)
            values[own] = inertial.parameters_of(RigidBody(mass, place, np.zeros((3, 3))))
            # Of a centre that is not known, first moments are free, and inertias always.
            known[own.start : own.start + (1 if center is None else 4)] = True
        return cls(columns, to_links, values, known)


def _bodies(
    chain: KinematicChain, runs: Sequence[Run], prior: Array, law: FrictionLaw, options: Options
) -> Array:
    """(10 k,) links with the base parameters of ``runs`` that differ least from the description."""
    base, _ = structure(chain, earth_or_none(options.compensates_gravity), law)
    columns = [run.regressor(law)[:, :, list(base.columns)] for run in runs]
    fit = robust_fit(
        np.concatenate(columns),
        np.concatenate([run.effort for run in runs]),
        np.concatenate([run.counted for run in runs]),
    )
    change = np.linalg.lstsq(base.grouping, fit.values - base.grouping @ prior, rcond=1e-9)[0]
    return np.asarray((prior + change)[: inertial.COUNT * len(chain.joints)])


def _gains(
    runs: tuple[Sequence[Run], Sequence[Run]], bodies: Array, carried: _Carried, law: FrictionLaw
) -> Gains:
    """Gains by the friction ``law`` and gears loaded by links with the parameters ``bodies`` (10 k,).

    Args:
        runs: without and with the payloads.
        bodies: of the links.
        carried: the payloads.
        law: of friction.
    """
    bare, heavy = runs
    together = bodies.copy()
    np.add.at(together, carried.columns, carried.to_links @ carried.values)
    every = [*(run.loaded(bodies) for run in bare), *(run.loaded(together) for run in heavy)]
    columns = np.concatenate([run.regressor(law) for run in every])
    effort, counted = (
        np.concatenate([getattr(run, name) for run in every]) for name in ("effort", "counted")
    )
    tip = np.concatenate([
        *(np.zeros((*run.effort.shape, len(carried.values))) for run in bare),
        *(run.links[:, :, carried.columns] @ carried.to_links for run in heavy),
    ])  # fmt: skip
    ends = np.cumsum([len(run.time) for run in every])[:-1]
    # Of each joint, [tip columns, effort] without what its links and drives explain, whitened.
    rests = []
    for j in range(effort.shape[1]):
        free, own = columns[:, j, _independent(columns[counted[:, j], j])], tip[:, j]
        both = np.column_stack([free, own[:, _independent(own[counted[:, j]])]])
        chosen = both[:, _independent(both[counted[:, j]])]
        fit = robust_fit(chosen[:, None], effort[:, j : j + 1], counted[:, j : j + 1])
        weights = fit.weights / np.sqrt(correlation_times(np.split(fit.residual, ends)))
        triangle: Any = np.linalg.qr(np.column_stack([free, own, effort[:, j]]) * weights, mode="r")
        rests.append(triangle[free.shape[1] :, free.shape[1] :])
    return _agreeing(rests, carried)


def _agreeing(rests: Sequence[Array], carried: _Carried) -> Gains:
    """Shares s and payloads π that minimise Σ ‖effort_j − s_j columns_j π‖².

    Args:
        rests: of each joint, columns (r, 10 p) of the payloads' parameters and effort (r, 1), whitened.
        carried: the payloads, as a start.
    """
    from scipy.optimize import least_squares

    joints, free = len(rests), np.flatnonzero(~carried.known)

    def payload(values: Array) -> Array:
        whole: Array = carried.values.copy()
        whole[free] = values[joints:]
        return whole

    def residual(values: Array) -> Array:
        parts = [
            rest[:, -1] - share * (rest[:, :-1] @ payload(values))
            for rest, share in zip(rests, values[:joints], strict=True)
        ]
        return np.concatenate(parts)

    def jacobian(values: Array) -> Array:
        rows = []
        for j, rest in enumerate(rests):
            own = np.zeros((len(rest), joints + len(free)))
            own[:, j] = -rest[:, :-1] @ payload(values)
            own[:, joints:] = -values[j] * rest[:, free]
            rows.append(own)
        return np.concatenate(rows)

    given = np.where(carried.known, carried.values, 0.0)
    shifted = np.concatenate([rest[:, -1] - rest[:, :-1] @ given for rest in rests])
    start = np.linalg.lstsq(np.concatenate([rest[:, free] for rest in rests]), shifted, rcond=1e-9)[0]
    least = np.concatenate([np.full(joints, 1.0 / FARTHEST), np.full(len(free), -np.inf)])
    most = np.concatenate([np.full(joints, FARTHEST), np.full(len(free), np.inf)])
    found = least_squares(
        residual, np.concatenate([np.ones(joints), start]), jacobian, (least, most), x_scale="jac", xtol=1e-12
    )
    shares = found.x[:joints]
    _, singular, axes = np.linalg.svd(jacobian(found.x), full_matrices=False)
    inverse = axes.T / np.maximum(singular, 1e-9 * singular.max(initial=1e-300))
    deviations = np.linalg.norm(inverse[:joints], axis=1) / shares
    felt = deviations < FELT
    return Gains(np.where(felt, 1.0 / shares, 1.0), deviations, felt)


def _independent(columns: Array) -> NDArray[np.intp]:
    """Indices of columns of (N, p) that span all of it."""
    from scipy.linalg import qr

    size = np.linalg.norm(columns, axis=0)
    there = np.flatnonzero(size > 1e-12 * size.max(initial=1e-300))
    triangle, order = qr(columns[:, there] / size[there], mode="r", pivoting=True)
    count = int(np.sum(np.abs(np.diag(triangle)) > _INDEPENDENT))
    return np.asarray(there[order[:count]])
