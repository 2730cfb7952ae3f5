"""Identification of what a robot that is known has picked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import Base
from robot_dynamics.identification.friction import FrictionLaw
from robot_dynamics.identification.least_squares import robust_equations, solve_base
from robot_dynamics.identification.link_boxes import LinkBox
from robot_dynamics.identification.physical import Drives, physical_estimate
from robot_dynamics.identification.result import Identification, earth_or_none
from robot_dynamics.identification.runs import Options, Run, comparisons, drives_of
from robot_dynamics.identification.uncertainty import Knowledge
from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.spatial import Array

GUESS = RigidBody(1.0, np.zeros(3), 0.004 * np.eye(3))
"""Prior of a payload, in the tip frame; it only keeps the payload possible."""
PRIOR_WEIGHT = 1e-3
LOAD_ROUNDS = 8
"""Most rounds in which the payload and the friction that depends on it are made to agree."""
ANYWHERE = LinkBox(np.full(3, -1.0), np.full(3, 1.0))
"""Bounds of the centre of a payload in the tip frame [m]."""


def identify_payload(
    chain: KinematicChain,
    described: tuple[Array, FrictionLaw],
    runs: Sequence[Run],
    others: Sequence[Run],
    options: Options,
) -> Identification:
    """The payload at the tip of ``chain``, of which all else is known.

    Args:
        chain: of the description.
        described: parameters (10 k + 7 n,) of its links and drives, and the law of its friction.
        runs: to learn from.
        others: to validate with.
        options: how.
    """
    (prior, law), count = described, inertial.COUNT
    chain.only_serial("identification of a payload")
    last = slice(count * (len(chain.joints) - 1), count * len(chain.joints))
    to_link = inertial.moved_parameters(chain.tip_transform)
    own = Base(tuple(range(count)), np.eye(count))
    nothing = Drives(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    guess = inertial.parameters_of(GUESS)[None]
    bodies = prior[: count * len(chain.joints)].copy()
    # Friction that grows with the load depends on the payload.
    for _ in range(LOAD_ROUNDS if law.loaded.any() else 1):
        equations = robust_equations(
            [run.links[:, :, last] @ to_link for run in runs],
            [run.effort - run.loaded(bodies).regressor(law) @ prior for run in runs],
            own,
            [run.counted for run in runs],
            [run.rate for run in runs],
            [run.doubt for run in runs],
        )
        found = physical_estimate(equations, guess, (ANYWHERE,), nothing, allowance=0.0, weight=PRIOR_WEIGHT)
        before = bodies[last].copy()
        bodies[last] = prior[last] + to_link @ found.parameters
        if np.allclose(bodies[last], before, rtol=1e-4, atol=1e-6):
            break
    _, covariance = solve_base(equations, own)
    payload = inertial.body_of(found.parameters)
    joint = chain.joints[-1]
    loaded = replace(joint, body=inertial.with_payload(joint.body, payload, chain.tip_transform))
    parameters = prior.copy()
    parameters[last] = inertial.parameters_of(loaded.body)
    grouping = np.zeros((count, len(prior)))
    grouping[:, last] = np.eye(count)
    base = Base(tuple(range(last.start, last.stop)), grouping)
    knowledge = Knowledge(base, parameters[last], to_link @ covariance @ to_link.T)
    return Identification(
        prior=chain,
        chain=replace(chain, joints=(*chain.joints[:-1], loaded)),
        drives=drives_of(prior[count * len(chain.joints) :], law),
        knowledge=knowledge,
        gravity=earth_or_none(options.compensates_gravity),
        learn=comparisons(runs, described, (parameters, law)),
        validate=comparisons(others, described, (parameters, law)),
        base=(),
        not_excited=(),
        held=(),
        prior_weight=PRIOR_WEIGHT,
        payload=payload,
        inaccurate=found.inaccurate,
    )
