"""The estimate of links and drives of which some keep their described values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.identification.base_parameters import RegroupedBase, structure
from robot_dynamics.identification.friction import DRIVE_COLUMNS, FrictionLaw, generators
from robot_dynamics.identification.friction_choice import best_travels, chosen_law
from robot_dynamics.identification.improvement import groups_of, groups_to_keep
from robot_dynamics.identification.inertial import COUNT
from robot_dynamics.identification.least_squares import Equations, robust_equations
from robot_dynamics.identification.link_boxes import LinkBox, link_boxes
from robot_dynamics.identification.physical import DriveInertias, Estimate, physical_estimate
from robot_dynamics.identification.result import earth_or_none
from robot_dynamics.identification.runs import Options, Run
from robot_dynamics.identification.uncertainty import posterior_covariance
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

OFFSET_SHARE = 0.02
"""Typical offset of a torque sensor, as a share of the efforts of its joint, before anything is known."""
LIGHTEST = 0.1
"""Least effort that a sensor is made for, as a share of that of the strongest joint."""
LEAST_OFFSET, MOST_OFFSET = 0.005, 0.1
"""Limits of the typical offset by the data."""
LEAST_SHARE, MOST_SHARE = 1e-4, 0.2
"""Friction per load that is plausible for a gear."""
LOAD_ROUNDS = 12
"""Most estimates with loads of the one before."""
SETTLED = 2e-4
"""Change of the friction per load between two estimates that agree."""


@dataclass(frozen=True)
class Estimation:
    """Data of an estimate.

    Attributes:
        chain: of the description.
        boxes: of the links' centres of mass.
        prior: (p,) parameters of the description.
        law: of the friction.
        fixed: (p − 10 k,) parameters of the drives that are known.
        typical: (n,) root mean square of the joints' efforts.
        used: (p − 10 k,) root mean square of the drives' columns.
        offset_share: standard deviation of the sensors' offsets without any data, as a share of these.
        equations: whitened, of what is left without known parameters, in all parameters.
    """

    chain: KinematicChain
    boxes: Sequence[LinkBox]
    prior: Array
    law: FrictionLaw
    fixed: NDArray[np.bool_]
    typical: Array
    used: Array
    offset_share: float
    equations: Equations

    @property
    def links(self) -> int:
        """Number of the links' parameters."""
        return COUNT * len(self.chain.joints)

    @property
    def offsets(self) -> Array:
        """(n,) standard deviations of the sensors' offsets without any data."""
        return self.offset_share * self.sensed

    @property
    def sensed(self) -> Array:
        """(n,) efforts that the sensors are made for, where wrists are moved little."""
        return np.maximum(self.typical, max(LIGHTEST * float(self.typical.max()), 1e-12))

    @cached_property
    def sizes(self) -> Array:
        """(p − 10 k,) parameters of the drives, beyond which they cannot be; those of offsets are likely."""
        every = np.tile(self.typical, len(self.used) // self.chain.dof)
        result = np.where(self.used > 0.0, every / np.maximum(self.used, 1e-12), 1.0)
        result[-self.chain.dof :] = self.offsets
        result[self.fixed] = 1e-9 * np.maximum(result[self.fixed], 1e-9)
        return np.asarray(result)

    def offset_share_of(self, found: Estimate) -> float:
        """Typical offset by those that the data tell, as a share of the efforts.

        It is the share under which the data are most probable (MacKay, see `physical`).
        """
        n = self.chain.dof
        covariance = posterior_covariance(
            self.equations, found.parameters, self.sizes, len(self.chain.joints)
        )
        free = ~self.fixed[-n:] & ~self.law.asymmetric
        shares = (found.parameters[-n:] / self.sensed)[free]
        unsure = (np.diag(covariance)[-n:] / self.offsets**2)[free]
        known = float(np.sum(np.maximum(0.0, 1.0 - unsure)))
        if not known > 0.5:
            return self.offset_share
        return float(np.clip(np.sqrt(np.sum(shares**2) / known), LEAST_OFFSET, MOST_OFFSET))

    def drives(self, kept: Collection[str] = ()) -> DriveInertias:
        """The possible drives, where those of the joints ``kept`` are as described."""
        known = self.fixed.copy()
        for j, name in enumerate(self.chain.joint_names):
            if name in kept:
                known[j : self.chain.dof * (len(DRIVE_COLUMNS) - 1) : self.chain.dof] = True
        return DriveInertias(*generators(self.law, known, self.prior[self.links :], self.offsets))

    def solved(self, kept: Collection[str] = (), weight: float | None = None) -> Estimate:
        """The estimate with the links and joints ``kept`` as described; see `physical_estimate`."""
        described = np.array([joint.link in kept for joint in self.chain.joints])
        free = np.concatenate([~np.repeat(described, COUNT), np.ones(len(self.fixed), dtype=bool)])
        links = self.prior[: self.links].reshape(-1, COUNT)
        matrix = self.equations.matrix
        right = self.equations.right - matrix[:, ~free] @ self.prior[~free]
        found = physical_estimate(
            Equations(matrix[:, free], right, self.equations.rest),
            links[~described],
            [box for box, stays in zip(self.boxes, described, strict=True) if not stays],
            self.drives(kept),
            weight,
            typical_mass=float(np.mean(links[:, 0])),
        )
        parameters = self.prior.copy()
        parameters[free] = found.parameters
        return Estimate(parameters, found.prior_weight, found.inaccurate)

    def improved(self, found: Estimate, workspace: Array) -> tuple[Estimate, tuple[str, ...]]:
        """The estimate in which links and drives that are no better keep the description, and their names.

        Args:
            found: with none of them as described.
            workspace: (p, p) of the squared efforts over the workspace.
        """
        drives = self.drives()
        kept = groups_to_keep(
            self.equations,
            self.prior[: self.links].reshape(-1, COUNT),
            drives,
            found.prior_weight,
            workspace,
            groups_of(self.chain, self.prior, drives),
        )
        return (self.solved(kept, weight=found.prior_weight) if kept else found), kept


def equations_without(
    runs: Sequence[Run], blocks: list[Array], law: FrictionLaw, base: RegroupedBase, known: Array
) -> Equations:
    """Whitened equations of runs with the regressors ``blocks``, weighted without what is ``known`` (p,)."""
    efforts = [run.effort - block @ known for run, block in zip(runs, blocks, strict=True)]
    equations = robust_equations(
        blocks,
        efforts,
        base,
        [run.counted for run in runs],
        [run.nuisance(law) for run in runs],
        [run.doubt for run in runs],
    )
    equations.right[:] += equations.matrix @ known
    return equations


@dataclass(frozen=True)
class Equated:
    """Runs as equations by a law of friction.

    Attributes:
        law: of friction.
        base: combinations that the efforts depend on.
        held: (8 n,) drive parameters that no motion separates from others.
        estimation: what the estimates are made from.
    """

    law: FrictionLaw
    base: RegroupedBase
    held: NDArray[np.bool_]
    estimation: Estimation


def equated(
    chain: KinematicChain,
    prior: Array,
    runs: Sequence[Run],
    law: FrictionLaw,
    options: Options,
    offset_share: float = OFFSET_SHARE,
) -> Equated:
    """The equations of ``runs`` by a law of friction; arguments as of `settled` and `Estimation`."""
    base, held = structure(chain, earth_or_none(options.compensates_gravity), law)
    count = COUNT * len(chain.joints)
    described = np.concatenate([prior[:count], law.described(prior[count:])])
    fixed = held.copy()
    if options.drives is None:
        # The prior shares what no motion separates between the rotor and the link.
        fixed[: chain.dof] = False
    known = np.zeros(len(prior))
    known[count:][fixed] = described[count:][fixed]
    blocks = [run.regressor(law) for run in runs]
    effort = np.sqrt(np.mean(np.concatenate([run.effort for run in runs]) ** 2, axis=0))
    equations = equations_without(runs, blocks, law, base, known)
    boxes = options.boxes or link_boxes(chain)
    used = np.sqrt(np.mean(np.concatenate(blocks)[:, :, count:] ** 2, axis=(0, 1)))
    return Equated(
        law,
        base,
        held,
        Estimation(chain, boxes, described, law, fixed, effort, used, offset_share, equations),
    )


def settled(
    chain: KinematicChain, prior: Array, runs: Sequence[Run], options: Options
) -> tuple[Equated, Estimate]:
    """The law of friction that the runs ask for, and the estimate of everything by it.

    Friction that grows with the load is linear in its parameters once the loads are known. So loads come from
    the last estimate, and estimates follow until both agree.

    Args:
        chain: of the description.
        prior: (p,) its parameters.
        runs: to learn from.
        options: how.
    """
    simple = FrictionLaw.plain(chain.dof, runs[0].drives.coupling)
    gravity = earth_or_none(options.compensates_gravity)
    plain = structure(chain, gravity, simple)[0]
    law = chosen_law(runs, plain)
    runs, law = best_travels(runs, law, structure(chain, gravity, law)[0])
    system = equated(chain, prior, runs, law, options)
    found = system.estimation.solved()
    share = system.estimation.offset_share_of(found)
    estimation = replace(system.estimation, offset_share=share)
    system, found = replace(system, estimation=estimation), estimation.solved()
    count = COUNT * len(chain.joints)
    runs = [run.loaded(found.parameters[:count]) for run in runs]
    law = chosen_law(runs, plain, load=True)
    runs, law = best_travels(runs, law, structure(chain, gravity, law)[0])
    unloaded = system, found
    while law.loaded.any():
        weight: float | None = None
        for _ in range(LOAD_ROUNDS):
            before = found.parameters[-2 * chain.dof : -chain.dof]
            system = equated(chain, prior, runs, law, options, share)
            found = system.estimation.solved(weight=weight)
            weight = found.prior_weight
            runs = [run.loaded(found.parameters[:count]) for run in runs]
            rubbed = found.parameters[-2 * chain.dof : -chain.dof]
            if (np.abs(rubbed - before) < SETTLED).all():
                break
        possible = law.loaded & (rubbed > LEAST_SHARE) & (rubbed <= MOST_SHARE)
        if possible[law.loaded].all():
            return system, found
        law = replace(law, loaded=possible)
    return unloaded
