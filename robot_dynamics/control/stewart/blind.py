"""The way down of a platform whose states have stopped coming: by the model's own simulation.

From the last known pose and twist on, the model is simulated under the forces that go out, and these forces
are the ones that bring the simulated platform down to the park pose no faster than declared. There they fade.
What the model does not know grows with time: the slower the way, the longer nobody looks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.control.cross_fade import ramp_down
from robot_dynamics.control.stewart.governed import GovernedMotion
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.dynamics import State, simulate
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_vector,
)

FEEDBACK = (100.0, 20.0)
"""Gains of the simulated error on the acceleration [1/s², 1/s]."""
LONGEST = 0.05
"""Time over which forces are simulated at most at once [s]."""

Forces = Callable[[Motion], Array]
"""Leg forces (6,) of a motion [N]; not finite where there are none."""


class BlindDescent:
    """Forces without states.

    Args:
        machine: the platform with all that it carries.
        motion: the way down, which begins at the last known pose and twist.
        forces: of the model.
        limits: (6,) of the forces [N].
        fade: how long they fade at the park pose [s].

    Attributes:
        state: of the simulated platform.
    """

    def __init__(
        self, machine: Machine, motion: GovernedMotion, forces: Forces, limits: Array, fade: float
    ) -> None:
        self._machine, self._motion, self._forces = machine, motion, forces
        self._limits, self._fade = limits, fade
        start = motion.governor.reference
        quaternion = quaternion_from_rotation(start.rotation)
        self.state = State(start.position, quaternion, start.twist[:3], start.twist[3:])
        self._time = start.time
        self._sent: Array | None = None

    def forces_at(self, time: float) -> Array:
        """(6,) forces from ``time`` [s] until the next call, on the clock of the motion [N]."""
        if time > self._time:
            self._simulate(min(time - self._time, LONGEST))
            self._motion.advance(time)
            self._time = time
        reference = self._motion.sample(time)
        share = ramp_down(time - self._motion.end, self._fade) if time > self._motion.end else 1.0
        if self._sent is None or share == 1.0:
            forces = self._forces(self._corrected(reference))
            self._sent = np.clip(np.nan_to_num(forces), -self._limits, self._limits)
        return share * self._sent

    def _simulate(self, duration: float) -> None:
        sent = self._sent
        if sent is None or self._time >= self._motion.end:
            return
        try:
            self.state = simulate(self._machine, self.state, lambda _, __: sent, duration, duration)[1][-1]
        except RobotDynamicsError:
            # Nothing is known of the platform from here on: what was sent last fades.
            self._motion.end = self._time

    def _corrected(self, reference: Motion) -> Motion:
        """The simulated pose and twist, with the acceleration that brings them to the reference."""
        state = self.state
        rotation = rotation_from_quaternion(state.orientation)
        kp, kv = FEEDBACK
        linear = kp * (reference.position - state.position) + kv * (
            reference.linear_velocity - state.linear_velocity
        )
        angular = kp * rotation_vector(reference.rotation @ rotation.T) + kv * (
            reference.angular_velocity - state.angular_velocity
        )
        return reference._replace(
            position=state.position,
            rotation=rotation,
            linear_velocity=state.linear_velocity,
            angular_velocity=state.angular_velocity,
            linear_acceleration=reference.linear_acceleration + linear,
            angular_acceleration=reference.angular_acceleration + angular,
        )
