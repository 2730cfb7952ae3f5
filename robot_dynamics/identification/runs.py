"""Runs as equations for the parameters of the links and drives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    """Settings of an identification.

    Attributes:
        cutoff: of the zero-phase filter [Hz]; None: from the coherence of predicted and measured efforts.
        delay: of the efforts behind the positions [s]; None: estimated.
        compensates_gravity: the measured efforts come without the weight.
        payload: only what was picked up is unknown.
        learn_share: first part of each run that is learned from where no runs are given to validate.
        drives: as known, beyond what a description can say; None: as in the description.
        boxes: of the links' centres of mass; None: about their joints.
        tool: name of the mounted tool, for the record.
        static: the runs are poses at rest, each approached from both sides; for a payload.
    """

    cutoff: float | None = None
    delay: float | None = None
    compensates_gravity: bool = False
    payload: bool = False
    learn_share: float = 0.7
    drives: ActuatorParameters | None = None
    boxes: tuple[LinkBox, ...] | None = None
    tool: str = ""
    static: bool = False


@dataclass(frozen=True)
class Run:
    """A run, or part of it, as equations; signals are thinned, and filtered like the efforts.

    Attributes:
        source: of the log.
        time: (N,) [s].
        position: (N, n) [rad or m].
        links: (N, n, 10 k) columns of the links.
        drives: what the parameters of the drives are multiplied by.
        effort: (N, n) measured.
        rate: (N, n) rate of the measured effort, by which an error of the delay shows [N·m/s or N/s].
        moving: (N, n) whether a joint is not at rest: what holds it there is no law's.
        usable: (N, n) whether the effort is not saturated.
        load_of: the signal ``drives.load`` (N, n) of links with given parameters (10 k,).
        building_of: signals ``drives.building`` (T, N, n) over given travels (T, n).
        gain_deviation: (n,) relative standard deviations of the gains by which efforts were measured.
    """

    source: str
    time: Array
    position: Array
    links: Array
    drives: DriveSignals
    effort: Array
    rate: Array
    moving: NDArray[np.bool_]
    usable: NDArray[np.bool_]
    load_of: Callable[[Array], Array]
    building_of: Callable[[Array], Array]
    gain_deviation: Array

    @property
    def doubt(self) -> Array:
        """(N, n) change of the efforts by one standard deviation of their gains."""
        return np.asarray(self.effort * self.gain_deviation)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(N, n) which equations are learned from."""
        return np.asarray(self.moving & self.usable)

    def part(self, chosen: slice | NDArray[np.intp]) -> Run:
        """Some samples of the run."""
        values: dict[str, Any] = {name: getattr(self, name)[chosen] for name in _ARRAYS}
        return replace(
            self,
            **values,
            drives=self.drives.part(chosen),
            load_of=lambda bodies: self.load_of(bodies)[chosen],
            building_of=lambda travels: self.building_of(travels)[:, chosen],
        )

    def loaded(self, bodies: Array) -> Run:
        """The run with the loads of links with the parameters ``bodies`` (10 k,)."""
        return replace(self, drives=replace(self.drives, load=self.load_of(bodies)))

    def sliding(self, law: FrictionLaw) -> Run:
        """The run with the signals of the law's travels after a reversal, and of travels beside them."""
        return replace(self, drives=self.drives.sliding(law, self.building_of))

    def nuisance(self, law: FrictionLaw) -> Array:
        """(N, n, m) columns of what is not exactly known beside the parameters: the delay, and travels.

        They need the signals of `sliding`.
        """
        return np.concatenate([self.rate[:, :, None], self.drives.travel_columns(law)], axis=2)

    def predicted(self, parameters: Array, law: FrictionLaw) -> Array:
        """(N, n) efforts by parameters and a law of friction."""
        run = self.loaded(parameters[: self.links.shape[2]]) if law.loaded.any() else self
        run = run if run.drives.knows(law.presliding_travel) else run.sliding(law)
        return np.asarray(run.regressor(law) @ parameters)

    @classmethod
    def joined(cls, runs: Sequence[Run]) -> Run:
        """Runs of one log, one after the other."""
        first = runs[0]

        values: dict[str, Any] = {
            name: np.concatenate([getattr(run, name) for run in runs]) for name in _ARRAYS
        }
        return replace(
            first,
            **values,
            drives=DriveSignals.joined([run.drives for run in runs]),
            load_of=lambda bodies: np.concatenate([run.load_of(bodies) for run in runs]),
            building_of=lambda travels: np.concatenate([run.building_of(travels) for run in runs], axis=1),
        )

    def regressor(self, law: FrictionLaw) -> Array:
        """(N, n, 10 k + 8 n) columns of the links, then of the drives."""
        return np.concatenate([self.links, self.drives.columns(law)], axis=2)


_ARRAYS = ("time", "position", "links", "effort", "rate", "moving", "usable")


def drives_given(chain: KinematicChain, options: Options) -> Drives:
    """The drives of the description, or those that are known."""
    return (options.drives or ActuatorParameters()).of(chain)


def prior_parameters(chain: KinematicChain, drives: Drives) -> Array:
    """(10 k + 8 n,) parameters of the description; offsets of sensors are zero."""
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
    """The drives' parameters (8 n,) by name, and the Stribeck velocities and travels of their law."""
    n = len(law.stribeck_velocity)
    named = {name: parameters[n * k : n * (k + 1)] for k, name in enumerate(DRIVE_COLUMNS)}
    return {
        **named,
        "stribeck_velocity": law.stribeck_velocity,
        "presliding_travel": law.presliding_travel,
    }


def comparisons(
    runs: Sequence[Run], prior: tuple[Array, FrictionLaw], found: tuple[Array, FrictionLaw]
) -> tuple[Comparison, ...]:
    """Measured efforts, and those predicted without the sensors' offsets, by parameters and friction laws."""
    (before, old), (after, new) = prior, found
    return tuple(
        Comparison(
            run.source,
            run.time,
            run.position,
            run.drives.joint_velocity,
            run.effort,
            run.predicted(without_offsets(after, run.effort.shape[1]), new),
            run.predicted(before, old),
            run.moving,
            run.usable,
            run.predicted(_without_friction(after, run), new),
            run.links @ after[: run.links.shape[2]],
        )
        for run in runs
    )


def _without_friction(parameters: Array, run: Run) -> Array:
    """The parameters of links and rotors, with all others at zero."""
    result = np.zeros_like(parameters)
    kept = run.links.shape[2] + run.effort.shape[1]
    result[:kept] = parameters[:kept]
    return result


def without_offsets(parameters: Array, count: int) -> Array:
    """The parameters with the sensors' offsets of ``count`` joints, which are the last, at zero."""
    return np.concatenate([parameters[:-count], np.zeros(count)])
