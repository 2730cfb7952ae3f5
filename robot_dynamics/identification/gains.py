"""Drive gains: effort per current of each joint, from runs with and without a known payload.

The current of a joint is the noisy side. Without a payload it is Φ χ / k, where Φ are the columns of links
and drives and χ their parameters; with a payload of the parameters π it is (Φ χ + L π) / k. Without a payload
χ / k alone is found. What the payload adds fixes 1 / k, because its mass is known (M. Gautier, S. Briot,
"Global identification of joint drive gains and dynamic parameters of robots", J. Dyn. Sys. Meas. Control 136
(2014) 051025). χ / k is free in each joint, and π is common to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import LogError, ParameterError, shown
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
    payload: tuple[float, Array | None],
    options: Options | None = None,
) -> Gains:
    """The gains that runs with and without a payload agree with.

    Args:
        chain: of the description, without the payload.
        unloaded: runs without the payload; their efforts are right but for a factor a joint.
        loaded: runs with it.
        payload: its mass [kg], and its centre (3,) in the tip frame [m], or None where that is not known.
        options: how.

    Raises:
        LogError: no runs of one kind, a log is not this robot's motion, or no joint feels the payload.
        ParameterError: a mass that is not above 0.
    """
    mass, center = payload
    if not (np.isfinite(mass) and mass > 0.0):
        raise ParameterError(f"the payload's mass is {mass:g} kg; a known mass above 0 is needed")
    for name, logs in (("without", unloaded), ("with", loaded)):
        if not logs:
            raise LogError(f"no run {name} the payload; drive gains need runs of both kinds")
    options = options or Options()
    chain.only_serial("identification of gains")
    prior = prior_parameters(chain, drives_given(chain, options))
    bare, treatment = prepared_runs(unloaded, chain, prior, options)
    # The payload would pass for a delay, and for what is not coherent.
    same = replace(options, cutoff=treatment.cutoff, delay=treatment.delay.seconds)
    heavy, _ = prepared_runs(loaded, chain, prior, same)
    carried = inertial.parameters_of(
        RigidBody(mass, np.zeros(3) if center is None else np.asarray(center, dtype=float), np.zeros((3, 3)))
    )
    bodies = prior[: inertial.COUNT * len(chain.joints)]
    plain, _ = structure(chain, earth_or_none(options.compensates_gravity))
    found = Gains(np.ones(chain.dof), np.full(chain.dof, np.inf), np.zeros(chain.dof, dtype=bool))
    for _ in range(ROUNDS):
        scaled = [replace(run, effort=run.effort * found.factors).loaded(bodies) for run in bare]
        law = chosen_law(scaled, plain, load=True)
        bodies = _bodies(chain, scaled, prior, law, options)
        # Of a centre that is not known, first moments are free, and inertias always.
        found = _gains(chain, (bare, heavy), bodies, (carried, 1 if center is None else 4), law)
    far = found.felt & (np.abs(np.log(found.factors)) > 0.99 * np.log(FARTHEST))
    if far.any():
        named = shown(*(name for name, is_far in zip(chain.joint_names, far, strict=True) if is_far))
        raise LogError(
            f"the gain of {named} would be more than {FARTHEST:g} times off: is the payload of {mass:g} kg"
            " mounted in the runs that are said to have it, and in no other?"
        )
    if not found.felt.any():
        raise LogError(
            f"no joint feels the payload of {mass:g} kg well enough for its gain: record larger and slower"
            " motion of the joints that carry it, with a heavier payload"
        )
    return found


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
    chain: KinematicChain,
    runs: tuple[Sequence[Run], Sequence[Run]],
    bodies: Array,
    payload: tuple[Array, int],
    law: FrictionLaw,
) -> Gains:
    """Gains by the friction ``law`` and gears loaded by links with the parameters ``bodies`` (10 k,).

    Args:
        chain: of the description.
        runs: without and with the payload.
        bodies: of the links.
        payload: its parameters (10,) in the tip frame, and how many of them are known.
        law: of friction.
    """
    (bare, heavy), (carried, known) = runs, payload
    last = slice(inertial.COUNT * (len(chain.joints) - 1), inertial.COUNT * len(chain.joints))
    to_link = inertial.moved_parameters(chain.tip_transform)
    together = bodies.copy()
    together[last] += to_link @ carried
    every = [*(run.loaded(bodies) for run in bare), *(run.loaded(together) for run in heavy)]
    columns = np.concatenate([run.regressor(law) for run in every])
    effort, counted = (
        np.concatenate([getattr(run, name) for run in every]) for name in ("effort", "counted")
    )
    tip = np.concatenate([
        *(np.zeros((*run.effort.shape, inertial.COUNT)) for run in bare),
        *(run.links[:, :, last] @ to_link for run in heavy),
    ])  # fmt: skip
    ends = np.cumsum([len(run.time) for run in every])[:-1]
    # Of each joint, [tip columns, effort] without what its links and drives explain, whitened.
    rests = []
    for j in range(chain.dof):
        free, own = columns[:, j, _independent(columns[counted[:, j], j])], tip[:, j]
        both = np.column_stack([free, own[:, _independent(own[counted[:, j]])]])
        chosen = both[:, _independent(both[counted[:, j]])]
        fit = robust_fit(chosen[:, None], effort[:, j : j + 1], counted[:, j : j + 1])
        weights = fit.weights / np.sqrt(correlation_times(np.split(fit.residual, ends)))
        triangle: Any = np.linalg.qr(np.column_stack([free, own, effort[:, j]]) * weights, mode="r")
        rests.append(triangle[free.shape[1] :, free.shape[1] :])
    return _agreeing(rests, carried, known)


def _agreeing(rests: Sequence[Array], carried: Array, known: int) -> Gains:
    """Shares s and payload π that minimise Σ ‖effort_j − s_j columns_j π‖².

    Args:
        rests: of each joint, columns (r, 10) of the payload's parameters and effort (r, 1), whitened.
        carried: (10,) parameters of the payload, as a start.
        known: so many of them, from the first on, are known.
    """
    from scipy.optimize import least_squares

    joints, unknown = len(rests), inertial.COUNT - known

    def payload(values: Array) -> Array:
        return np.concatenate([carried[:known], values[joints:]])

    def residual(values: Array) -> Array:
        parts = [
            rest[:, -1] - share * (rest[:, :-1] @ payload(values))
            for rest, share in zip(rests, values[:joints], strict=True)
        ]
        return np.concatenate(parts)

    def jacobian(values: Array) -> Array:
        rows = []
        for j, rest in enumerate(rests):
            own = np.zeros((len(rest), joints + unknown))
            own[:, j] = -rest[:, :-1] @ payload(values)
            own[:, joints:] = -values[j] * rest[:, known:-1]
            rows.append(own)
        return np.concatenate(rows)

    shifted = np.concatenate([rest[:, -1] - rest[:, :known] @ carried[:known] for rest in rests])
    start = np.linalg.lstsq(np.concatenate([rest[:, known:-1] for rest in rests]), shifted, rcond=1e-9)[0]
    least = np.concatenate([np.full(joints, 1.0 / FARTHEST), np.full(unknown, -np.inf)])
    most = np.concatenate([np.full(joints, FARTHEST), np.full(unknown, np.inf)])
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
