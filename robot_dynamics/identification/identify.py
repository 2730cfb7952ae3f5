"""Identification: from logs and a description to masses, friction and payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import LogError, ParameterError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import less_known, structure
from robot_dynamics.identification.friction import NOT_DRY, FrictionLaw, generators
from robot_dynamics.identification.friction_choice import chosen_law
from robot_dynamics.identification.least_squares import robust_equations, solve_base
from robot_dynamics.identification.link_boxes import link_boxes
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.payload import identify_payload
from robot_dynamics.identification.physical import Drives, physical_estimate
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
from robot_dynamics.identification.uncertainty import Knowledge, expected_errors, posterior_covariance
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

OFFSET_SHARE = 0.02
"""Typical offset of a torque sensor, as a share of the efforts of its joint."""


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
    every, treatment = prepared_runs([*learn, *validate], chain, prior, options)
    runs, others = every[: len(learn)], every[len(learn) :]
    if not others and options.learn_share < 1.0:
        others = [run.part(options.learn_share, 1.0) for run in runs]
        runs = [run.part(0.0, options.learn_share) for run in runs]
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
    law = chosen_law(runs, structure(chain, gravity)[0])
    base, held = structure(chain, gravity, law)
    blocks = [run.regressor(law) for run in runs]
    count = inertial.COUNT * len(chain.joints)
    known = np.zeros(len(prior))
    fixed = held.copy()
    if options.drives is None:
        # The prior shares what no motion separates between the rotor and the link.
        fixed[: chain.dof] = False
    known[count:][fixed] = prior[count:][fixed]
    efforts = [run.effort - block @ known for run, block in zip(runs, blocks, strict=True)]
    equations = robust_equations(
        blocks, efforts, base, [run.counted for run in runs], [run.rate for run in runs]
    )
    equations.right[:] += equations.matrix @ known
    effort = np.sqrt(np.mean(np.concatenate([run.effort for run in runs]) ** 2, axis=0))
    found = physical_estimate(
        equations,
        prior[:count].reshape(-1, inertial.COUNT),
        options.boxes or link_boxes(chain),
        Drives(*generators(law, fixed, prior[count:], OFFSET_SHARE * effort)),
        allowance=float(len(base.columns)),
    )
    drives = drives_of(found.parameters[count:], law)
    names = parameter_names(chain)
    values, covariance = solve_base(equations, base)
    knowledge = Knowledge(base, values, covariance)
    sizes = np.tile(effort, len(prior[count:]) // chain.dof)
    size = np.sqrt(np.mean(np.concatenate(blocks)[:, :, count:] ** 2, axis=(0, 1)))
    spread = np.where(size > 0.0, sizes / np.maximum(size, 1e-12), 1.0)
    spread[-chain.dof :] = OFFSET_SHARE * np.maximum(effort, 1e-12)
    spread[fixed] = 1e-9 * np.maximum(spread[fixed], 1e-9)
    given_up = {f"{chain.joint_names[j]}.torque_offset" for j in np.flatnonzero(law.asymmetric)}
    posterior = posterior_covariance(equations, found.parameters, spread, len(chain.joints))
    whole, each = expected_errors(chain, law, gravity, found.parameters, posterior)
    return Identification(
        prior=chain,
        chain=with_parameters(chain, found.parameters[:count].reshape(-1, inertial.COUNT), drives),
        drives=drives,
        knowledge=knowledge,
        gravity=gravity,
        learn=comparisons(runs, described, (found.parameters, law)),
        validate=comparisons(others, described, (found.parameters, law)),
        base=base_table(knowledge, prior, found.parameters, names),
        not_excited=less_known(base, found.parameters, knowledge.deviations, names, count),
        held=tuple(
            name
            for name, stays in zip(names[count:], held, strict=True)
            if stays and name.endswith(NOT_DRY) and name not in given_up
        ),
        prior_weight=found.prior_weight,
        inaccurate=found.inaccurate,
        expected_error=whole,
        expected_joint_errors=tuple(each),
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
