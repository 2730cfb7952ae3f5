"""Identification: from logs and a description to masses, friction and payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import LogError, ParameterError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import less_known
from robot_dynamics.identification.estimation import settled
from robot_dynamics.identification.friction import NOT_DRY, FrictionLaw, drives_at_joints
from robot_dynamics.identification.holding_out import held_out
from robot_dynamics.identification.least_squares import solve_base
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.payload import identify_payload
from robot_dynamics.identification.preparation import prepared_runs
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
    parameter_names,
    prior_parameters,
)
from robot_dynamics.identification.static import static_runs
from robot_dynamics.identification.uncertainty import (
    Knowledge,
    expected_errors,
    posterior_covariance,
    workspace_regressor,
    workspace_squares,
)
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array


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
    if options.static:
        if not options.payload:
            raise ParameterError(
                "poses at rest tell no friction and no inertia: static is for a payload alone"
            )
        every, treatment = static_runs([*learn, *validate], chain, options)
    else:
        every, treatment = prepared_runs(learn, chain, prior, options, validate)
    runs, others = every[: len(learn)], every[len(learn) :]
    if not others and options.learn_share < 1.0 and not options.static:
        runs, others, division = held_out(runs, options.learn_share)
        treatment = replace(treatment, held_out=division)
    law = FrictionLaw.of(drives)
    if options.payload:
        found = identify_payload(chain, (prior, law), runs, others, options)
    else:
        found = _identify_all(chain, (prior, law), runs, others, options)
    return replace(found, treatment=treatment, tool=options.tool)


def _identify_all(
    chain: KinematicChain,
    described: tuple[Array, FrictionLaw],
    runs: list[Run],
    others: list[Run],
    options: Options,
) -> Identification:
    prior, _ = described
    gravity = earth_or_none(options.compensates_gravity)
    system, found = settled(chain, prior, runs, options)
    law, base, estimation = system.law, system.base, system.estimation
    count = estimation.links
    states = workspace_regressor(chain, law, gravity, found.parameters[:count])
    found, kept = estimation.improved(found, workspace_squares(states, found.parameters))
    drives = drives_of(found.parameters[count:], law)
    names = parameter_names(chain)
    values, covariance = solve_base(estimation.equations, base)
    knowledge = Knowledge(base, values, covariance)
    posterior = posterior_covariance(
        estimation.equations, found.parameters, estimation.sizes, len(chain.joints)
    )
    expected = expected_errors(states, found.parameters, posterior)
    other = np.where(np.arange(len(prior)) < len(prior) - chain.dof, prior - found.parameters, 0.0)
    described_error = expected_errors(states, found.parameters, posterior + np.outer(other, other))
    return Identification(
        prior=chain,
        chain=with_parameters(
            chain,
            found.parameters[:count].reshape(-1, inertial.COUNT),
            drives_at_joints(drives, law.coupling),
        ),
        drives=drives,
        knowledge=knowledge,
        gravity=gravity,
        learn=comparisons(runs, described, (found.parameters, law)),
        validate=comparisons(others, described, (found.parameters, law)),
        base=base_table(knowledge, prior, found.parameters, names),
        not_excited=less_known(base, found.parameters, knowledge.deviations, names, count),
        held=tuple(
            name
            for name, stays in zip(names[count:], system.held, strict=True)
            if stays and name.endswith(NOT_DRY)
        ),
        prior_weight=found.prior_weight,
        inaccurate=found.inaccurate,
        expected=expected,
        expected_prior=described_error,
        kept=kept,
        coupling=law.coupling,
    )


def base_table(
    knowledge: Knowledge, prior: Array, found: Array, names: Sequence[str]
) -> tuple[BaseParameter, ...]:
    """The base parameters by the description, the data and in the end."""
    base = knowledge.base
    return tuple(
        BaseParameter(names[column], *(float(x) for x in numbers))
        for column, *numbers in zip(
            base.columns,
            base.grouping @ prior,
            knowledge.values,
            knowledge.deviations,
            base.grouping @ found,
            strict=True,
        )
    )
