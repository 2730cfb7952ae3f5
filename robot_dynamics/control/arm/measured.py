"""Measured joints of a controller: joints of the same robot that another controller moves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.control.core.library import doubles, ffi, load_core
from robot_dynamics.dynamics.constant_inputs import measured_vector
from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.arrays import measured, real_number, real_vector
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array

MOST_OF_LIMIT = 2.0
"""Largest velocity that is believed, as a multiple of the joint's limit."""
FASTEST = {JointKind.REVOLUTE: 50.0, JointKind.PRISMATIC: 10.0}
"""The same of a joint without a limit [rad/s, m/s]."""


GAP = 0.1
"""Longest time between two references of which an acceleration is taken, and for which it counts [s]."""
NOTABLE = 0.05
"""Share of a joint's effort limit from which unknown accelerations are a warning."""


def measured_bounds(chain: KinematicChain) -> Array:
    """(3 m,) lowest and highest position [rad or m], and largest velocity that is believed."""
    joints = [chain.modelled.driving_joint(i) for i in chain.measured_coordinates]
    limits = ((j.limits.velocity, FASTEST[j.kind]) for j in joints)
    fastest = [MOST_OF_LIMIT * limit if np.isfinite(limit) else most for limit, most in limits]
    return np.array([*(j.limits.lower for j in joints), *(j.limits.upper for j in joints), *fastest])


class Missed(NamedTuple):
    """Error that unknown accelerations of the measured joints leave.

    Attributes:
        effort: (n,) largest effort since the last look that their measured accelerations would have taken
            beside the accelerations that were given [N·m or N].
        age: of the oldest joint state; infinite before every joint has one [s].
    """

    effort: Array
    age: float


class MeasuredJoints:
    """The state of the measured joints, which the control core takes into its model.

    Attributes:
        names: of the joints, in their order.
        pointer: ``rd_measured *``.

    Args:
        chain: of the controller.
        timeout: after which a joint without a new state counts as at rest [s].
    """

    def __init__(self, chain: KinematicChain, timeout: float) -> None:
        self.names = chain.measured_joints
        rest, bounds = measured_vector(chain), measured_bounds(chain)
        self._n, self._core = chain.dof, load_core()
        made = self._core.rd_measured_new(len(self.names), chain.dof, timeout, doubles(rest), doubles(bounds))
        if not made:
            raise MemoryError("no memory for the measured joints")
        self.pointer = ffi().gc(made, self._core.rd_measured_free)

    def take(self, time: float, position: Array, velocity: Array | None = None) -> None:
        """Take a state of the joints, before the cycle that it belongs to and in the cycle's thread.

        Args:
            time: of the state, on the controller's clock [s].
            position: (m,) [rad or m].
            velocity: (m,) [rad/s or m/s]; estimated from the positions where omitted.

        Raises:
            StateError: not one finite number for each joint.
        """
        given = self._doubles("position of measured joints", position)
        rate = ffi().NULL if velocity is None else self._doubles("velocity of measured joints", velocity)
        self._core.rd_measured_take(self.pointer, real_number("time", time), given, rate)

    def _doubles(self, name: str, values: Array) -> Any:
        return doubles(np.array(measured(name, values, len(self.names)), dtype=float))

    def accelerate(self, acceleration: Array, until: float) -> None:
        """Take the accelerations that the joints' own controller intends; without them they are zero.

        Args:
            acceleration: (m,) [rad/s² or m/s²].
            until: time after which they are zero again, on the controller's clock [s].

        Raises:
            ParameterError: not one finite number for each joint.
        """
        given = np.array(real_vector("acceleration", acceleration, len(self.names), ParameterError))
        self._core.rd_measured_accelerate(self.pointer, doubles(given), real_number("until", until))

    @property
    def awaits(self) -> str:
        """Line about a joint without a state; empty: all have one."""
        if self._core.rd_measured_known(self.pointer):
            return ""
        return f"no joint state yet of the measured joints {', '.join(self.names)}"

    def motion(self) -> Array:
        """(3, m) positions, velocities and accelerations in the last cycle; in the cycle's thread."""
        motion = np.zeros((3, len(self.names)))
        self._core.rd_measured_motion(self.pointer, doubles(motion))
        return motion

    def missed(self) -> Missed:
        """Error that unknown accelerations have left since the last call."""
        effort = np.zeros(self._n)
        age = self._core.rd_measured_report(self.pointer, doubles(effort))
        return Missed(effort, float(age))
