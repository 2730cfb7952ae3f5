"""Drives that close the loop: servos of position or velocity that take cyclic setpoints."""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array

SPEED_BANDWIDTH = 120.0
"""Bandwidth of the velocity loop [rad/s]."""
POSITION_GAIN = 40.0
"""Velocity per position error [1/s]."""
RESET = 0.25
"""Rate of the integrator, as a share of the bandwidth of the velocity loop."""


class SetpointDrives:
    """Cascaded control of each joint: position to velocity, and velocity to force with an integrator.

    Args:
        command: ``position`` or ``velocity``, the quantity of the setpoints.
        mass: that each joint moves, roughly [kg].
        limits: (n,) forces [N].

    Attributes:
        command: as given.
    """

    def __init__(self, command: str, mass: float, limits: Array) -> None:
        self.command = command
        self._gain, self._limits = mass * SPEED_BANDWIDTH, limits
        self.reset()

    def reset(self) -> None:
        """Forget the load."""
        self._carried = np.zeros(len(self._limits))

    def force(self, setpoint: Array, position: Array, velocity: Array, step: float, braked: bool) -> Array:
        """Forces (n,) for the next step.

        Args:
            setpoint: (n,) [m or m/s].
            position: (n,) measured [m].
            velocity: (n,) measured [m/s].
            step: [s].
            braked: engaged brakes hold the joints, so that the integrator rests.
        """
        wanted = POSITION_GAIN * (setpoint - position) if self.command == "position" else setpoint
        error = self._gain * (wanted - velocity)
        if not braked:
            self._carried = self._cut(self._carried + RESET * SPEED_BANDWIDTH * step * error)
        return self._cut(self._carried + error)

    def _cut(self, force: Array) -> Array:
        return np.clip(force, -self._limits, self._limits)
