"""Identification of what a robot that is known has picked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import RegroupedBase
from robot_dynamics.identification.friction import FrictionLaw
from robot_dynamics.identification.least_squares import robust_equations, solve_base
from robot_dynamics.identification.link_boxes import LinkBox
from robot_dynamics.identification.physical import DriveInertias, physical_estimate
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
    """The payload at every tip of ``chain``, of which all else is known.

    Args:
        chain: of the description.
        described: parameters (10 k + 8 n,) of its links and drives, and the law of its friction.
        runs: to learn from.
        others: to validate with.
        options: how.

    Raises:
        ParameterError: two tips are on one link, so that nothing separates their payloads.
    """
    (prior, law), tips = described, chain.tips
    places = _places(chain)
    columns = np.concatenate([np.arange(place.start, place.stop) for place in places])
    moved = [inertial.moved_parameters(tip.transform) for tip in tips]
    to_links = np.zeros((len(columns), len(columns)))
    for k, matrix in enumerate(moved):
        own = slice(inertial.COUNT * k, inertial.COUNT * (k + 1))
        to_links[own, own] = matrix
    own_base = RegroupedBase(tuple(range(len(columns))), np.eye(len(columns)))
    nothing = DriveInertias(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    guess = np.tile(inertial.parameters_of(GUESS), (len(tips), 1))
    bodies = prior[: inertial.COUNT * len(chain.joints)].copy()
    # Friction that grows with the load depends on the payload.
    for _ in range(LOAD_ROUNDS if law.loaded.any() else 1):
        equations = robust_equations(
            [run.links[:, :, columns] @ to_links for run in runs],
            [run.effort - run.loaded(bodies).regressor(law) @ prior for run in runs],
            own_base,
            [run.counted for run in runs],
            [run.rate[:, :, None] for run in runs],
            [run.doubt for run in runs],
        )
        boxes = (ANYWHERE,) * len(tips)
        found = physical_estimate(equations, guess, boxes, nothing, weight=PRIOR_WEIGHT)
        before = bodies[columns].copy()
        bodies[columns] = prior[columns] + to_links @ found.parameters
        if np.allclose(bodies[columns], before, rtol=1e-4, atol=1e-6):
            break
    _, covariance = solve_base(equations, own_base)
    joints, payloads = list(chain.joints), {}
    parameters = prior.copy()
    for tip, place, values in zip(tips, places, found.parameters.reshape(-1, inertial.COUNT), strict=True):
        payload = payloads[tip.link] = inertial.body_of(values)
        body = inertial.with_payload(joints[tip.joint].body, payload, tip.transform)
        joints[tip.joint] = replace(joints[tip.joint], body=body)
        parameters[place] = inertial.parameters_of(body)
    grouping = np.zeros((len(columns), len(prior)))
    grouping[np.arange(len(columns)), columns] = 1.0
    base = RegroupedBase(tuple(columns.tolist()), grouping)
    return Identification(
        prior=chain,
        chain=replace(chain, joints=tuple(joints)),
        drives=drives_of(prior[inertial.COUNT * len(chain.joints) :], law),
        knowledge=Knowledge(base, parameters[columns], to_links @ covariance @ to_links.T),
        gravity=earth_or_none(options.compensates_gravity),
        learn=comparisons(runs, described, (parameters, law)),
        validate=comparisons(others, described, (parameters, law)),
        base=(),
        not_excited=(),
        held=(),
        prior_weight=PRIOR_WEIGHT,
        payloads=payloads,
        inaccurate=found.inaccurate,
    )


def _places(chain: KinematicChain) -> list[slice]:
    """Slices of the parameters of the links that carry the tips, among those of all links."""
    carried: dict[int, str] = {}
    for tip in chain.tips:
        if tip.joint in carried:
            link = chain.joints[tip.joint].link
            raise ParameterError(
                f"the tips {carried[tip.joint]} and {tip.link} are both on the link {link}: nothing separates"
                " their payloads; give one of them"
            )
        carried[tip.joint] = tip.link
    return [slice(inertial.COUNT * joint, inertial.COUNT * (joint + 1)) for joint in carried]
