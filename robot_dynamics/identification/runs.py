"""Runs as equations for the parameters of the links and drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm.actuators import ActuatorParameters, Drives
from robot_dynamics.dynamics.friction import direction
from robot_dynamics.errors import LogError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.friction import DRIVE_COLUMNS, SPEEDS, DriveSignals, FrictionLaw
from robot_dynamics.identification.log_checks import check_against_model, check_log
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.regressor import inertial_regressor
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
        drives: as known, beyond what a description can say; None: as in the description.
    """

    cutoff: float = 10.0
    compensates_gravity: bool = False
    payload: bool = False
    learn_share: float = 0.7
    drives: ActuatorParameters | None = None


@dataclass(frozen=True)
class Run:
    """A run, or part of it, as equations; signals are thinned, and filtered like the efforts.

    Attributes:
        source: of the log.
        time: (N,) [s].
        links: (N, n, 10 k) columns of the links.
        drives: what the parameters of the drives are multiplied by.
        effort: (N, n) measured.
        moving: (N, n) whether a joint is not at rest: what holds it there is no law's.
    """

    source: str
    time: Array
    links: Array
    drives: DriveSignals
    effort: Array
    moving: NDArray[np.bool_]

    def part(self, begin: float, end: float) -> Run:
        """What lies between two shares of the run, from 0 to 1."""
        chosen = slice(round(begin * len(self.time)), round(end * len(self.time)))
        drives = self.drives.changed(lambda signal: signal[chosen])
        return Run(
            self.source,
            self.time[chosen],
            self.links[chosen],
            drives,
            self.effort[chosen],
            self.moving[chosen],
        )

    def regressor(self, law: FrictionLaw) -> Array:
        """(N, n, 10 k + 6 n) columns of the links, then of the drives."""
        return np.concatenate([self.links, self.drives.columns(law)], axis=2)


def drives_given(chain: KinematicChain, options: Options) -> Drives:
    """The drives of the description, or those that are known."""
    return (options.drives or ActuatorParameters()).of(chain)


def prior_parameters(chain: KinematicChain, drives: Drives) -> Array:
    """(10 k + 6 n,) parameters of the description; offsets of sensors are zero."""
    friction = [getattr(drives.friction, name) for name in DRIVE_COLUMNS[1:-1]]
    parts = (inertial.chain_parameters(chain), drives.rotor_inertia, *friction, np.zeros(chain.dof))
    return np.concatenate(parts)


def equations_of(log: Log, chain: KinematicChain, prior: Array, options: Options) -> Run:
    """The equations of a log, after it has been checked.

    Raises:
        LogError: it is not this robot's motion.
    """
    check_log(log, chain)
    motion = filtered(log, options.cutoff)
    links = inertial_regressor(
        chain, motion.q, motion.qd, motion.qdd, earth_or_none(options.compensates_gravity)
    )
    _check_signs(log, chain, motion, links, prior, options)
    # The efforts of sharp friction steps are filtered in the log, so they are here.
    columns = np.zeros_like(links)
    depends = links.any(axis=0)
    columns[:, depends] = motion.filter(links[:, depends])
    inner = motion.inner()
    if len(motion.time[inner]) < 2:
        raise LogError(f"{log.source}: nothing is left without the ends of the run")
    speeds = np.repeat(np.array(SPEEDS)[:, None], chain.dof, axis=1)
    known = FrictionLaw.of(drives_given(chain, options)).stribeck_velocity
    signals = DriveSignals.of(motion.qd, motion.qdd, np.vstack([speeds, known]))
    return Run(
        log.source,
        motion.time[inner],
        columns[inner],
        signals.changed(lambda signal: motion.filter(signal)[inner]),
        motion.effort[inner],
        motion.moving()[inner],
    )


def _check_signs(
    log: Log, chain: KinematicChain, motion: Motion, links: Array, prior: Array, options: Options
) -> None:
    bodies = prior[: inertial.COUNT * len(chain.joints)]
    inner = motion.inner()
    zero = np.zeros_like(motion.q[inner])
    weight = inertial_regressor(chain, motion.q[inner], zero, zero) @ bodies
    moving = links[inner] @ bodies
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


def drives_of(parameters: Array, law: FrictionLaw) -> Mapping[str, Array]:
    """The drives' parameters (6 n,) by name, and the Stribeck velocities of their law."""
    n = len(law.stribeck_velocity)
    named = {name: parameters[n * k : n * (k + 1)] for k, name in enumerate(DRIVE_COLUMNS)}
    return {**named, "stribeck_velocity": law.stribeck_velocity}


def comparisons(
    runs: Sequence[Run], prior: tuple[Array, FrictionLaw], found: tuple[Array, FrictionLaw]
) -> tuple[Comparison, ...]:
    """Measured and predicted efforts of the runs, by parameters and laws of friction."""
    (before, old), (after, new) = prior, found
    return tuple(
        Comparison(run.source, run.time, run.effort, run.regressor(new) @ after, run.regressor(old) @ before)
        for run in runs
    )
