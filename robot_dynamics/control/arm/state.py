"""Where an arm is, as its joints tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.spatial import Array


class JointSpaceState(NamedTuple):
    """Measured positions [rad or m] and velocities [rad/s or m/s] (n,), in chain order."""

    position: Array
    velocity: Array


class JointSpaceObserver:
    """The joints' states are the arm's.

    Args:
        dof: number of independent joints.
    """

    def __init__(self, dof: int) -> None:
        self.state = JointSpaceState(np.zeros(dof), np.zeros(dof))

    def update(self, time: float, position: Array, velocity: Array) -> JointSpaceState:
        """Take measured positions and velocities (n,) at ``time`` [s]."""
        self.state = JointSpaceState(position, velocity)
        return self.state

    def at_rest(self) -> Reference:
        """The reference that holds the arm where it is."""
        return Reference.at_rest(self.state.position)
