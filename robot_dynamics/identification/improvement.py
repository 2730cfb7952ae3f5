"""Choice of the links and drives that keep the description, because the data tell them no better.

Let δ be the change of all estimates where some links and drives are as described, Σ the covariance of the
estimate in which all are free, and C that of δ by the noise alone. In the run the squares grow by δᵀMδ with
the information M of the data; chance alone makes that tr(M C). In efforts over the workspace, of weight W,
the expected square of the errors grows by δᵀWδ from tr(W Σ). Described values are kept as long as both
stay small: Mallows' C_p, and the focused information criterion (Claeskens, Hjort, JASA 98 (2003) 900-916).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.identification.friction import DRIVE_COLUMNS
from robot_dynamics.identification.inertial import (
    COUNT,
    divergence_hessians,
    pseudo_inertia,
)
from robot_dynamics.identification.least_squares import Equations
from robot_dynamics.identification.physical import DriveInertias
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

SAFETY = 2.0
"""Growth of the squares in the run, over that by chance, up to which the data do not contradict."""
LEAST_CHANGE = 1.0
"""Least that counts as growth by chance."""
HARMLESS = 0.25
"""Growth of the expected squared errors over the workspace, as a share of them, that is put up with."""
NO_DIFFERENCE = 1e-12
"""Squared relative error of efforts that makes no difference."""
_NOTHING = 1e-200
"""Information of an unknown of which the data say nothing."""


@dataclass(frozen=True)
class Group:
    """Parameters that keep their described values together, or are all free.

    Attributes:
        name: of the link or the joint.
        places: of its unknowns, links first, then the drives' generators.
        described: their values by the description.
    """

    name: str
    places: NDArray[np.intp]
    described: Array


def groups_to_keep(
    equations: Equations,
    links: Array,
    drives: DriveInertias,
    weight: float,
    workspace: Array,
    groups: Sequence[Group],
) -> tuple[str, ...]:
    """Names of the groups that may as well be as described, those that matter least first.

    Args:
        equations: whitened, in the parameters of the links and then of the drives.
        links: (k, 10) of the description.
        drives: the possible values of the others.
        weight: λ of the links' prior.
        workspace: (p, p) squared efforts over the workspace by the parameters.
        groups: to be judged.
    """
    linear = _Linear(equations, links, drives, weight, workspace)
    kept: list[Group] = []
    free = linear.estimate(kept)
    while True:
        # All that are kept are compared with none: of many small changes in a row none would be seen.
        harm = {
            group.name: linear.harm(free, linear.estimate([*kept, group]))
            for group in groups
            if group not in kept
        }
        least = min(harm, key=lambda name: harm[name], default=None)
        if least is None or harm[least] > 1.0:
            break
        kept.append(next(group for group in groups if group.name == least))
    return tuple(group.name for group in kept)


@dataclass(frozen=True)
class _Estimate:
    """Unknowns (u,), and their change (u, u) by a change of the normal equations' right side."""

    values: Array
    gain: Array


class _Linear:
    """The programme of `physical_estimate` without its inequalities, to second order in the links."""

    def __init__(
        self, equations: Equations, links: Array, drives: DriveInertias, weight: float, workspace: Array
    ) -> None:
        split = links.size
        matrix = np.column_stack([equations.matrix[:, :split], equations.matrix[:, split:] @ drives.matrix])
        right = equations.right - equations.matrix[:, split:] @ drives.given
        size = matrix.shape[1]
        information: Array = matrix.T @ matrix
        prior = np.zeros((size, size))
        described = np.zeros(size)
        for index, hessian in enumerate(divergence_hessians(links)):
            own = slice(COUNT * index, COUNT * (index + 1))
            prior[own, own] = weight * hessian
            described[own] = links[index]
        others = np.arange(split, size)
        prior[others, others] = 1.0 / drives.spread**2
        # What neither data nor prior know stays at its described value.
        known = np.diag(information)[others]
        prior[others, others] += np.where(known > _NOTHING, 1e-12 * known, 1.0)
        self._information = information
        self._doubt = matrix.T @ equations.doubt if equations.doubt.size else np.zeros((size, 0))
        self._whole = information + prior
        self._target = matrix.T @ right + prior @ described
        full = np.zeros((len(equations.matrix), size))
        full[:split, :split] = np.eye(split)
        full[split:, split:] = drives.matrix
        self._workspace = full.T @ workspace @ full

    def estimate(self, kept: Sequence[Group]) -> _Estimate:
        """The unknowns with some groups at their described values."""
        size = len(self._whole)
        values: Array = np.zeros(size)
        free = np.ones(size, dtype=bool)
        for group in kept:
            free[group.places] = False
            values[group.places] = group.described
        chosen = np.flatnonzero(free)
        part = self._whole[np.ix_(chosen, chosen)]
        scale = 1.0 / np.sqrt(np.diag(part))
        inverse = np.linalg.pinv(part * np.outer(scale, scale), hermitian=True) * np.outer(scale, scale)
        gain = np.zeros((size, size))
        gain[np.ix_(chosen, chosen)] = inverse
        values[chosen] = inverse @ (self._target - self._whole @ values)[chosen]
        return _Estimate(values, gain)

    def harm(self, free: _Estimate, kept: _Estimate) -> float:
        """The greater of the growths in the run and over the workspace, as a share of what is put up with."""
        change, gain = free.values - kept.values, free.gain - kept.gain
        information, moved = self._information, gain @ self._doubt
        chance = float(np.sum(information * (gain @ information @ gain.T + moved @ moved.T)))
        moved = free.gain @ self._doubt
        unsure = float(np.sum(self._workspace * (free.gain + moved @ moved.T)))
        return max(
            float(change @ information @ change) / (SAFETY * max(chance, LEAST_CHANGE)),
            float(change @ self._workspace @ change) / max(HARMLESS * unsure, NO_DIFFERENCE),
        )


def groups_of(chain: KinematicChain, prior: Array, drives: DriveInertias) -> list[Group]:
    """A group for each moving link of ``chain``, and for each drive that the law of friction can describe.

    A link that no body has, such as one without inertia in the description, cannot be kept.

    Args:
        chain: of the description.
        prior: (10 k + 8 n,) its parameters.
        drives: the possible values of those of the drives.
    """
    split = COUNT * len(chain.joints)
    groups = [
        Group(joint.link, np.arange(COUNT * k, COUNT * (k + 1)), prior[COUNT * k : COUNT * (k + 1)])
        for k, joint in enumerate(chain.joints)
        if np.linalg.eigvalsh(pseudo_inertia(prior[COUNT * k : COUNT * (k + 1)]))[0] > 0.0
    ]
    for j, name in enumerate(chain.joint_names):
        rows = np.array(
            [chain.dof * k + j for k, kind in enumerate(DRIVE_COLUMNS) if kind != "torque_offset"]
        )
        columns = np.flatnonzero(drives.matrix[rows].any(axis=0))
        part, wanted = drives.matrix[np.ix_(rows, columns)], (prior[split:] - drives.given)[rows]
        described = np.linalg.lstsq(part, wanted, rcond=None)[0]
        if len(columns) and np.allclose(part @ described, wanted, rtol=0.0, atol=1e-9):
            groups.append(Group(name, split + columns, described))
    return groups
