"""Check of a description's masses and friction for simulation with feedback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

SMALLEST_INERTIA = 1e-9
"""About a joint's axis, below which it is taken as massless [kg·m² or kg]."""
SINGULAR = 1.5e-3
"""Least eigenvalue of a usable mass matrix whose diagonal has been scaled to 1."""
STIFFEST = 20.0
"""Greatest damping over the inertia that a joint moves [1/s]."""
ROUGHEST = 5.0
"""Greatest acceleration of a joint by its own Coulomb friction [rad/s² or m/s²]."""
ROUGHEST_ACROSS = 0.5
"""Greatest acceleration of another joint by the Coulomb friction of one [rad/s² or m/s²]. Where that one
comes to rest a little off its place, light joints behind it rest off theirs by far more."""
_SAMPLES = 25


@dataclass(frozen=True)
class SimulationCheck:
    """Result of the check along a path.

    Attributes:
        reason: why the masses cannot be used; empty when they can.
        stuck: joints whose friction is too large beside the inertia that they or others move.
    """

    reason: str
    stuck: tuple[str, ...] = ()


def check_simulation(
    chain: KinematicChain, positions: Array, mass_matrix: Callable[[Array], Array]
) -> SimulationCheck:
    """Check the mass matrix along straight lines between positions (K, n) [rad or m].

    A joint that moves no mass has no acceleration under any effort. Where axes of massless links align, as
    in a shoulder of three joints, the matrix is singular there only.
    """
    most, across = np.zeros(chain.dof), np.zeros(chain.dof)
    for first, last in pairwise(positions):
        for share in np.linspace(0.0, 1.0, _SAMPLES):
            try:
                matrix = mass_matrix(first + share * (last - first))
            except RobotDynamicsError as error:
                return SimulationCheck(str(error))
            diagonal = np.diag(matrix)
            if (diagonal <= SMALLEST_INERTIA).any():
                name = chain.joint_names[int(np.argmin(diagonal))]
                return SimulationCheck(f"joint {name} moves an inertia of {diagonal.min():.2g} only")
            scale = 1.0 / np.sqrt(diagonal)
            if np.linalg.eigvalsh(scale[:, None] * matrix * scale)[0] <= SINGULAR:
                return SimulationCheck("the mass matrix is singular where joints of massless links align")
            inverse = np.abs(np.linalg.inv(matrix))
            most = np.maximum(most, np.diag(inverse))
            np.fill_diagonal(inverse, 0.0)
            across = np.maximum(across, inverse.max(axis=0))
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    damping, friction = (
        np.array([getattr(joint, kind) for joint in joints]) for kind in ("damping", "friction")
    )
    rough = (friction * most > ROUGHEST) | (friction * across > ROUGHEST_ACROSS)
    stuck = np.flatnonzero((damping * most > STIFFEST) | rough)
    return SimulationCheck("", tuple(chain.joint_names[j] for j in stuck))
