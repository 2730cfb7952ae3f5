"""Base parameters: the combinations of inertial and drive parameters that the efforts depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.identification import inertial
from robot_dynamics.identification.friction import FrictionLaw
from robot_dynamics.identification.regressor import regressor
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

_INDEPENDENT = 1e-7
_STATES = 60


@dataclass(frozen=True)
class RegroupedBase:
    """Combinations of parameters that the efforts depend on.

    Attributes:
        columns: index of the parameter that each combination is named after.
        grouping: (b, p) combinations = grouping @ parameters; identity in ``columns``.
    """

    columns: tuple[int, ...]
    grouping: Array


def base_of(regressor: Array) -> RegroupedBase:
    """The base parameters of a regressor (M, p) at states that excite everything."""
    from scipy.linalg import qr

    scale = np.linalg.norm(regressor, axis=0)
    scale[scale < 1e-12 * max(1.0, float(scale.max(initial=0.0)))] = np.inf
    factors: Any = qr(regressor / scale, mode="r", pivoting=True)
    triangle, order = factors[0], factors[1]
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.sum(diagonal > _INDEPENDENT * diagonal[0]))
    weights = np.linalg.solve(triangle[:rank, :rank], triangle[:rank, rank:])
    size = np.where(np.isinf(scale), 1.0, scale)
    grouping = np.zeros((rank, regressor.shape[1]))
    grouping[np.arange(rank), order[:rank]] = 1.0
    grouping[:, order[rank:]] = weights * size[order[rank:]] / size[order[:rank], None]
    grouping[:, np.isinf(scale)] = 0.0
    return RegroupedBase(tuple(int(k) for k in order[:rank]), grouping)


def structure(
    chain: KinematicChain, gravity: tuple[float, float, float], law: FrictionLaw | None = None
) -> tuple[RegroupedBase, NDArray[np.bool_]]:
    """Base parameters of all columns, and a mask (8 n,) of drive parameters that those of links absorb."""
    draw = np.random.default_rng(0)
    q, qd, qdd = draw.uniform(-3.0, 3.0, (3, _STATES, chain.dof))
    # Friction that depends on speed shows at low ones, its asymmetry only near standstill.
    qd *= draw.choice([1.0, 0.1, 0.003], qd.shape)
    slid = draw.uniform(-1.0, 1.0, qd.shape)
    matrix = regressor(chain, q, qd, qdd, gravity, law, slid=slid).reshape(_STATES * chain.dof, -1)
    links = inertial.COUNT * len(chain.joints)
    kept = list(range(links))
    held = np.zeros(matrix.shape[1] - links, dtype=bool)
    rank = len(base_of(matrix[:, :links]).columns)
    for column in range(links, matrix.shape[1]):
        found = len(base_of(matrix[:, [*kept, column]]).columns)
        if found == rank:
            held[column - links] = True
        else:
            rank = found
            kept.append(column)
    part = base_of(matrix[:, kept])
    grouping = np.zeros((len(part.columns), matrix.shape[1]))
    grouping[:, kept] = part.grouping
    columns = [kept[k] for k in part.columns]
    alike = links + np.flatnonzero(held)
    grouping[:, alike] = np.linalg.lstsq(matrix[:, columns], matrix[:, alike], rcond=None)[0]
    return RegroupedBase(tuple(columns), grouping), held


def less_known(
    base: RegroupedBase, parameters: Array, deviations: Array, names: Sequence[str], links: int
) -> tuple[str, ...]:
    """Combinations that the data leave as uncertain as a body's own size: the unit of the log-det prior."""
    spread = np.zeros((len(parameters), len(parameters)))
    bodies = parameters[:links].reshape(-1, inertial.COUNT)
    for index, hessian in enumerate(inertial.divergence_hessians(bodies)):
        own = slice(inertial.COUNT * index, inertial.COUNT * (index + 1))
        spread[own, own] = np.linalg.inv(hessian)
    size = np.sqrt(np.einsum("ij,jk,ik->i", base.grouping, spread, base.grouping))
    return tuple(
        names[column]
        for column, deviation, own in zip(base.columns, deviations, size, strict=True)
        if column < links and deviation > own
    )
