"""Runs as equations for the parameters of the links and drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm.actuators import ActuatorParameters, Drives
from robot_dynamics.identification import inertial
from robot_dynamics.identification.friction import DRIVE_COLUMNS, DriveSignals, FrictionLaw
from robot_dynamics.identification.link_boxes import LinkBox
from robot_dynamics.identification.result import Comparison
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class Options:
    """How to identify.

    Attributes:
        cutoff: of the zero-phase filter [Hz]; None: from the coherence of predicted and measured efforts.
        delay: of the efforts behind the positions [s]; None: estimated.
        compensates_gravity: the measured efforts come without the weight.
        payload: only what was picked up is unknown.
        learn_share: first part of each run that is learned from where no runs are given to validate.
        drives: as known, beyond what a description can say; None: as in the description.
        boxes: of the links' centres of mass; None: about their joints.
        tool: name of the mounted tool, for the record.
    """

    cutoff: float | None = None
    delay: float | None = None
    compensates_gravity: bool = False
    payload: bool = False
    learn_share: float = 0.7
    drives: ActuatorParameters | None = None
    boxes: tuple[LinkBox, ...] | None = None
    tool: str = ""


@dataclass(frozen=True)
class Run:
    """A run, or part of it, as equations; signals are thinned, and filtered like the efforts.

    Attributes:
        source: of the log.
        time: (N,) [s].
        links: (N, n, 10 k) columns of the links.
        drives: what the parameters of the drives are multiplied by.
        effort: (N, n) measured.
        rate: (N, n) rate of the measured effort, by which an error of the delay shows [N·m/s or N/s].
        moving: (N, n) whether a joint is not at rest: what holds it there is no law's.
        usable: (N, n) whether the effort is not saturated.
    """

    source: str
    time: Array
    links: Array
    drives: DriveSignals
    effort: Array
    rate: Array
    moving: NDArray[np.bool_]
    usable: NDArray[np.bool_]

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(N, n) which equations are learned from."""
        return np.asarray(self.moving & self.usable)

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
            self.rate[chosen],
            self.moving[chosen],
            self.usable[chosen],
        )

    @classmethod
    def joined(cls, runs: Sequence[Run]) -> Run:
        """Runs of one log, one after the other."""
        first = runs[0]

        def all_of(name: str) -> Any:
            return np.concatenate([getattr(run, name) for run in runs])

        drives = DriveSignals.joined([run.drives for run in runs])
        names = ("effort", "rate", "moving", "usable")
        return cls(first.source, all_of("time"), all_of("links"), drives, *map(all_of, names))

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
    """Measured efforts, and those predicted without the sensors' offsets, by parameters and friction laws."""
    (before, old), (after, new) = prior, found
    return tuple(
        Comparison(
            run.source,
            run.time,
            run.effort,
            run.regressor(new) @ without_offsets(after, run.effort.shape[1]),
            run.regressor(old) @ before,
            run.moving,
            run.usable,
        )
        for run in runs
    )


def without_offsets(parameters: Array, count: int) -> Array:
    """The parameters with the sensors' offsets of ``count`` joints, which are the last, at zero."""
    return np.concatenate([parameters[:-count], np.zeros(count)])
