"""Runs as equations for the parameters of the links and drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.control.arm.actuators import direction
from robot_dynamics.errors import LogError, ParameterError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.log_checks import check_against_model, check_log
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.regressor import DRIVE_COLUMNS, regressor
from robot_dynamics.identification.result import Comparison, earth_or_none
from robot_dynamics.identification.signals import Motion, filtered
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class Options:
    """How to identify.

    Attributes:
        cutoff: of the zero-phase filter [Hz].
        compensates_gravity: the measured efforts come without the weight.
        payload: only what was picked up is unknown.
        learn_share: first part of each run that is learned from where no runs are given to validate.
        rotor_inertia: (n,) values of the description's drives, which URDF cannot give; empty for zero.
    """

    cutoff: float = 10.0
    compensates_gravity: bool = False
    payload: bool = False
    learn_share: float = 0.7
    rotor_inertia: tuple[float, ...] = field(default=())


@dataclass(frozen=True)
class Run:
    """A run, or part of it, as equations: thinned (N, n, p) regressor and (N, n) efforts, filtered alike."""

    source: str
    time: Array
    regressor: Array
    effort: Array

    def part(self, begin: float, end: float) -> Run:
        """What lies between two shares of the run, from 0 to 1."""
        first, last = round(begin * len(self.time)), round(end * len(self.time))
        chosen = slice(first, last)
        return Run(self.source, self.time[chosen], self.regressor[chosen], self.effort[chosen])


def prior_parameters(chain: KinematicChain, rotor_inertia: Sequence[float] = ()) -> Array:
    """(10 k + 4 n,) parameters of the description; offsets are zero."""
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    rotors = np.array(rotor_inertia) if len(rotor_inertia) else np.zeros(chain.dof)
    if rotors.shape != (chain.dof,):
        raise ParameterError(f"rotor_inertia has {len(rotors)} entries; expected {chain.dof}")
    return np.concatenate(
        [
            inertial.chain_parameters(chain),
            rotors,
            [joint.damping for joint in joints],
            [joint.friction for joint in joints],
            np.zeros(chain.dof),
        ]
    )


def equations_of(log: Log, chain: KinematicChain, prior: Array, options: Options) -> Run:
    """The equations of a log, after it has been checked.

    Raises:
        LogError: it is not this robot's motion.
    """
    check_log(log, chain)
    motion = filtered(log, options.cutoff)
    gravity = earth_or_none(options.compensates_gravity)
    raw = regressor(chain, motion.q, motion.qd, motion.qdd, gravity)
    _check_signs(log, chain, motion, raw, prior, options)
    # The efforts of sharp friction steps are filtered in the log, so they are here.
    columns = np.zeros_like(raw)
    depends = raw.any(axis=0)
    columns[:, depends] = motion.filter(raw[:, depends])
    inner = motion.inner()
    if len(motion.time[inner]) < 2:
        raise LogError(f"{log.source}: nothing is left without the ends of the run")
    return Run(log.source, motion.time[inner], columns[inner], motion.effort[inner])


def _check_signs(
    log: Log, chain: KinematicChain, motion: Motion, raw: Array, prior: Array, options: Options
) -> None:
    links = inertial.COUNT * len(chain.joints)
    inner = motion.inner()
    zero = np.zeros_like(motion.q[inner])
    weight = regressor(chain, motion.q[inner], zero, zero)[:, :, :links] @ prior[:links]
    moving = raw[inner][:, :, :links] @ prior[:links]
    if not options.compensates_gravity:
        moving = moving - weight
    check_against_model(
        log.source,
        chain.joint_names,
        motion.effort[inner],
        moving,
        weight,
        (motion.qdd[inner], motion.qd[inner], direction(motion.qd[inner])),
        options.compensates_gravity,
    )


def parameter_names(chain: KinematicChain) -> list[str]:
    """Names of the links' and drives' parameters, such as ``forearm_link.mcx`` and ``elbow.friction``."""
    return [
        *(f"{joint.link}.{name}" for joint in chain.joints for name in inertial.NAMES),
        *(f"{joint}.{name}" for name in DRIVE_COLUMNS for joint in chain.joint_names),
    ]


def drives_of(parameters: Array, n: int) -> Mapping[str, Array]:
    """The drives' parameters (4 n,) by name."""
    return {name: parameters[n * k : n * (k + 1)] for k, name in enumerate(DRIVE_COLUMNS)}


def comparisons(runs: Sequence[Run], prior: Array, parameters: Array) -> tuple[Comparison, ...]:
    """Measured and predicted efforts of the runs."""
    return tuple(
        Comparison(run.source, run.time, run.effort, run.regressor @ parameters, run.regressor @ prior)
        for run in runs
    )
