"""An arm's model as control needs it, and derived quantities."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.spatial import Array


class EffortModel(Protocol):
    """Efforts for a motion."""

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Joint efforts (n,) for the motion."""


def feedforward(dynamics: EffortModel, reference: Reference) -> Array:
    """(n,) efforts of the reference motion; the arm's state is not used."""
    return dynamics.inverse_dynamics(reference.position, reference.velocity, reference.acceleration)


def gravity_load(dynamics: EffortModel, q: Array) -> Array:
    """(n,) efforts that carry the arm at rest in ``q`` (n,)."""
    rest = np.zeros(len(q))
    return dynamics.inverse_dynamics(q, rest, rest)
