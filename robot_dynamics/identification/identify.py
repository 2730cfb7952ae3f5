"""Identification: from logs and a description to masses, friction and payload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import LogError, ParameterError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.friction import NOT_DRY, FrictionLaw, generators
from robot_dynamics.identification.friction_choice import chosen_law
from robot_dynamics.identification.least_squares import Base, base_of, robust_equations, solve_base
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.payload import identify_payload
from robot_dynamics.identification.physical import Drives, divergence_hessian, physical_estimate
from robot_dynamics.identification.regressor import regressor
from robot_dynamics.identification.result import (
    BaseParameter,
    Identification,
    earth_or_none,
    with_parameters,
)
from robot_dynamics.identification.runs import (
    Options,
    Run,
    comparisons,
    drives_given,
    drives_of,
    equations_of,
    parameter_names,
    prior_parameters,
)
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

_STATES = 60


def identify(
    chain: KinematicChain, learn: Sequence[Log], validate: Sequence[Log] = (), options: Options | None = None
) -> Identification:
    """The robot that made the runs ``learn``.

    Args:
        chain: of the description; its masses are the prior.
        learn: runs to learn from.
        validate: runs that are only predicted; without any, the last part of each run of ``learn``.
        options: how.

    Raises:
        LogError: a log is not this robot's motion; the message says why.
        ParameterError: an option outside its range.
    """
    options = options or Options()
    if not learn:
        raise LogError("no run to learn from")
    if not 0.0 < options.learn_share <= 1.0:
        raise ParameterError(f"learn_share is {options.learn_share:g}; it must be in (0, 1]")
    drives = drives_given(chain, options)
    prior = prior_parameters(chain, drives)
    runs = [equations_of(log, chain, prior, options) for log in learn]
    others = [equations_of(log, chain, prior, options) for log in validate]
    if not others and options.learn_share < 1.0:
        others = [run.part(options.learn_share, 1.0) for run in runs]
        runs = [run.part(0.0, options.learn_share) for run in runs]
    law = FrictionLaw.of(drives)
    if options.payload:
        return identify_payload(chain, (prior, law), runs, others, options)
    return _identify_all(chain, (prior, law), runs, others, options)


def structure(
    chain: KinematicChain, gravity: tuple[float, float, float], law: FrictionLaw | None = None
) -> tuple[Base, NDArray[np.bool_]]:
    """Base parameters of all columns, and which drive parameters (6 n,) cannot be told from the links'."""
    draw = np.random.default_rng(0)
    q, qd, qdd = draw.uniform(-3.0, 3.0, (3, _STATES, chain.dof))
    # Friction that depends on speed shows at low ones, its asymmetry only near standstill.
    qd *= draw.choice([1.0, 0.1, 0.003], qd.shape)
    matrix = regressor(chain, q, qd, qdd, gravity, law).reshape(_STATES * chain.dof, -1)
    links = inertial.COUNT * len(chain.joints)
    kept = list(range(links))
    held = np.zeros(matrix.shape[1] - links, dtype=bool)
    rank = len(base_of(matrix[:, :links]).columns)
    for column in range(links, matrix.shape[1]):
        found = len(base_of(matrix[:, [*kept, column]]).columns)
        if found == rank:
            held[column - links] = True
        else:
            rank = found
            kept.append(column)
    part = base_of(matrix[:, kept])
    grouping = np.zeros((len(part.columns), matrix.shape[1]))
    grouping[:, kept] = part.grouping
    columns = [kept[k] for k in part.columns]
    alike = links + np.flatnonzero(held)
    grouping[:, alike] = np.linalg.lstsq(matrix[:, columns], matrix[:, alike], rcond=None)[0]
    return Base(tuple(columns), grouping), held


def _identify_all(
    chain: KinematicChain,
    described: tuple[Array, FrictionLaw],
    runs: list[Run],
    others: list[Run],
    options: Options,
) -> Identification:
    prior, _ = described
    gravity = earth_or_none(options.compensates_gravity)
    law = chosen_law(runs, structure(chain, gravity)[0])
    base, held = structure(chain, gravity, law)
    blocks = [run.regressor(law) for run in runs]
    links = inertial.COUNT * len(chain.joints)
    known = np.zeros(len(prior))
    known[links:][held] = prior[links:][held]
    efforts = [run.effort - block @ known for run, block in zip(runs, blocks, strict=True)]
    equations = robust_equations(blocks, efforts, base, [run.moving for run in runs])
    equations.right[:] += equations.matrix @ known
    found = physical_estimate(
        equations,
        prior[:links].reshape(-1, inertial.COUNT),
        Drives(*generators(law, held, prior[links:])),
        allowance=float(len(base.columns)),
    )
    drives = drives_of(found.parameters[links:], law)
    fitted = with_parameters(chain, found.parameters[:links].reshape(-1, inertial.COUNT), drives)
    names = parameter_names(chain)
    given_up = {f"{chain.joint_names[j]}.torque_offset" for j in np.flatnonzero(law.asymmetric)}
    values, covariance = solve_base(equations, base)
    deviations = np.sqrt(np.maximum(0.0, np.diag(covariance)))
    table = tuple(
        BaseParameter(names[column], *(float(x) for x in numbers))
        for column, *numbers in zip(
            base.columns,
            base.grouping @ prior,
            values + base.grouping @ known,
            deviations,
            base.grouping @ found.parameters,
            strict=True,
        )
    )
    return Identification(
        prior=chain,
        chain=fitted,
        drives=drives,
        covariance=found.covariance,
        gravity=gravity,
        learn=comparisons(runs, described, (found.parameters, law)),
        validate=comparisons(others, described, (found.parameters, law)),
        base=table,
        not_excited=less_known(base, found.parameters, deviations, names, links),
        held=tuple(
            name
            for name, stays in zip(names[links:], held, strict=True)
            if stays and name.endswith(NOT_DRY) and name not in given_up
        ),
        prior_weight=found.prior_weight,
        inaccurate=found.inaccurate,
    )


def less_known(
    base: Base, parameters: Array, deviations: Array, names: Sequence[str], links: int
) -> tuple[str, ...]:
    """Combinations that the data leave as uncertain as a body's own size: the unit of the log-det prior."""
    spread = np.zeros((len(parameters), len(parameters)))
    for first in range(0, links, inertial.COUNT):
        own = slice(first, first + inertial.COUNT)
        spread[own, own] = np.linalg.inv(divergence_hessian(parameters[own]))
    size = np.sqrt(np.einsum("ij,jk,ik->i", base.grouping, spread, base.grouping))
    return tuple(
        names[column]
        for column, deviation, own in zip(base.columns, deviations, size, strict=True)
        if column < links and deviation > own
    )
