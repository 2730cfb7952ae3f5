"""The way down of a platform whose states have stopped coming: by the model's own simulation.

From the last known pose and twist on, the model is simulated under the forces that go out, and these forces
are the ones that bring the simulated platform down to the park pose no faster than declared. There they fade.
The time before anybody has noticed is simulated too. What the model does not know grows about fourfold a
second: the slower the way, the longer nobody looks.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.control.cross_fade import ramp_down
from robot_dynamics.control.stewart.envelope import Forces
from robot_dynamics.control.stewart.governed import GovernedMotion
from robot_dynamics.control.stewart.governor import Reference
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_vector

FEEDBACK = (100.0, 20.0)
"""Gains of the simulated error on the acceleration [1/s², 1/s]."""
LONGEST = 0.05
"""Time over which forces are simulated at most at once [s]."""
STEP = 0.005
"""Longest step of the simulation [s]."""
LONGEST_UNSEEN = 0.5
"""Time between the last state and its loss that is simulated at most [s]."""
PROBES = np.vstack([np.zeros(6), np.eye(6)])
"""Accelerations whose forces tell those of any other, since these are linear in it."""


class BlindDescent:
    """Forces without states.

    Args:
        forces: the model with all that the platform carries.
        last: where the platform was known last, and how it moved.
        limits: (6,) of the forces [N].
        fade: how long they fade at the park pose [s].

    Attributes:
        state: of the simulated platform.
    """

    def __init__(self, forces: Forces, last: Reference, limits: Array, fade: float) -> None:
        self._forces = forces
        self._limits, self._fade = limits, fade
        self.state = last
        self._motion: GovernedMotion | None = None
        self._sent: Array = np.zeros(6)
        self._begun = False

    def coast(self, sent: Array, time: float) -> None:
        """Go on to ``time`` [s] under forces (6,) that have stayed since the last known state [N]."""
        last, self._sent = self.state, sent
        try:
            self._go_on(min(time - last.time, LONGEST_UNSEEN))
        except (RobotDynamicsError, np.linalg.LinAlgError):
            self.state = last
        self.state = self.state.seen_from(time)

    def descend(self, motion: GovernedMotion) -> None:
        """Follow a way down from the present state on."""
        self._motion = motion

    def forces_at(self, time: float) -> Array:
        """(6,) forces from ``time`` [s] until the next call, on the clock of the motion [N]."""
        motion, before = self._motion, self.state.time
        if motion is None:
            return np.zeros(6)
        if time > before:
            self._simulate(motion, min(time - before, LONGEST))
            motion.advance(time)
            self.state = self.state.seen_from(time)
        reference = motion.sample(time)
        share = ramp_down(time - motion.end, self._fade) if time > motion.end else 1.0
        if not self._begun or share == 1.0:
            self._sent, self._begun = self._wanted(reference), True
        return share * self._sent

    def _simulate(self, motion: GovernedMotion, duration: float) -> None:
        if not self._begun or self.state.time >= motion.end:
            return
        try:
            self._go_on(duration)
        except (RobotDynamicsError, np.linalg.LinAlgError):
            # Nothing is known of the platform from here on: what was sent last fades.
            motion.end = self.state.time

    def _go_on(self, duration: float) -> None:
        """Go on under what was sent last, by midpoint steps."""
        count = max(1, math.ceil(duration / STEP - 1e-9))
        step = duration / count
        for _ in range(count):
            state = self.state
            middle = state.accelerated(self._acceleration(state)).at(state.time + 0.5 * step)
            self.state = state.accelerated(self._acceleration(middle)).at(state.time + step)

    def _acceleration(self, state: Reference) -> Array:
        """(6,) of the simulated platform under what was sent last."""
        forces = self._forces_of(state, PROBES)
        return np.asarray(np.linalg.solve((forces[1:] - forces[0]).T, self._sent - forces[0]))

    def _wanted(self, reference: Motion) -> Array:
        """(6,) forces that bring the simulated platform to a reference."""
        state, (kp, kv) = self.state, FEEDBACK
        rate = np.concatenate([reference.linear_velocity, reference.angular_velocity])
        error = np.concatenate(
            [reference.position - state.position, rotation_vector(reference.rotation @ state.rotation.T)]
        )
        wanted = np.concatenate([reference.linear_acceleration, reference.angular_acceleration])
        wanted = wanted + kp * error + kv * (rate - state.twist)
        try:
            forces = self._forces_of(state, wanted[None])[0]
        except RobotDynamicsError:
            return np.zeros(6)
        return np.asarray(np.clip(np.nan_to_num(forces), -self._limits, self._limits))

    def _forces_of(self, state: Reference, accelerations: Array) -> Array:
        """(N, 6) of a pose and twist with accelerations (N, 6)."""
        count = len(accelerations)
        quaternion = quaternion_from_rotation(state.rotation)
        forces = self._forces(
            np.tile(state.position, (count, 1)),
            np.tile(quaternion, (count, 1)),
            np.tile(state.rotation, (count, 1, 1)),
            np.tile(state.twist, (count, 1)),
            accelerations,
        )
        return np.asarray(forces)
