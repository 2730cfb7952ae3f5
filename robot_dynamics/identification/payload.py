"""Identification of what a robot that is known has picked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.identification import inertial
from robot_dynamics.identification.least_squares import Base, robust_equations
from robot_dynamics.identification.physical import Drives, physical_estimate
from robot_dynamics.identification.result import Identification, earth_or_none
from robot_dynamics.identification.runs import Options, Run, comparisons, drives_of
from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.spatial import Array

GUESS = RigidBody(1.0, np.zeros(3), 0.004 * np.eye(3))
"""Prior of a payload, in the tip frame; it only keeps the payload possible."""
PRIOR_WEIGHT = 1e-3


def identify_payload(
    chain: KinematicChain, prior: Array, runs: Sequence[Run], others: Sequence[Run], options: Options
) -> Identification:
    """The payload at the tip of ``chain`` whose other parameters are ``prior`` (10 k + 4 n,).

    Args:
        chain: of the description.
        prior: parameters of its links and drives.
        runs: to learn from.
        others: to validate with.
        options: how.
    """
    count, n = inertial.COUNT, chain.dof
    last = slice(count * (len(chain.joints) - 1), count * len(chain.joints))
    to_link = inertial.moved_parameters(chain.tip_transform)
    equations = robust_equations(
        [run.regressor[:, :, last] @ to_link for run in runs],
        [run.effort - run.regressor @ prior for run in runs],
        Base(tuple(range(count)), np.eye(count)),
    )
    nothing = Drives(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0))
    guess = inertial.parameters_of(GUESS)[None]
    found = physical_estimate(equations, guess, nothing, allowance=0.0, weight=PRIOR_WEIGHT)
    payload = inertial.body_of(found.parameters)
    joint = chain.joints[-1]
    loaded = replace(joint, body=inertial.with_payload(joint.body, payload, chain.tip_transform))
    parameters = prior.copy()
    parameters[last] = inertial.parameters_of(loaded.body)
    covariance = np.zeros((len(prior), len(prior)))
    covariance[last, last] = to_link @ found.covariance @ to_link.T
    return Identification(
        prior=chain,
        chain=replace(chain, joints=(*chain.joints[:-1], loaded)),
        drives=drives_of(prior[count * len(chain.joints) :], n),
        covariance=covariance,
        gravity=earth_or_none(options.compensates_gravity),
        learn=comparisons(runs, prior, parameters),
        validate=comparisons(others, prior, parameters),
        base=(),
        not_excited=(),
        held=(),
        prior_weight=PRIOR_WEIGHT,
        payload=payload,
    )
