"""Decelerations with which an arm in motion can stop within its limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.moving_start import STOP_TIME, Stopping, unlimited_stop
from robot_dynamics.spatial import Array

_TIMES = np.geomspace(1e-3, 10.0, 61)
_PARTS = np.linspace(0.0, 1.0, 5)


def stop_within(dynamics: EffortModel, limits: Array, hardest: Array | None = None) -> Stopping:
    """Decelerations of the shortest stop of all joints together that effort limits allow.

    Every joint decelerates evenly and all come to rest at the same moment. Efforts are evaluated at five
    points of such stops of 1 ms to 10 s.

    Args:
        dynamics: the model with its actuators.
        limits: (n,) effort limits [N·m or N], infinite where there is none.
        hardest: (n,) decelerations that are allowed in any case [rad/s² or m/s²]; no limit when None.
    """

    def stop(position: Array, velocity: Array) -> Array:
        most = unlimited_stop(position, velocity) if hardest is None else hardest
        if not (np.isfinite(limits).any() and velocity.any()):
            return most
        times = (time for time in _TIMES.tolist() if _bearable(dynamics, limits, position, velocity, time))
        return np.minimum(most, np.abs(velocity) / next(times, STOP_TIME))

    return stop


def _bearable(dynamics: EffortModel, limits: Array, position: Array, velocity: Array, time: float) -> bool:
    """True if the efforts of an even stop in ``time`` [s] are within the limits."""
    for part in _PARTS.tolist():
        effort = dynamics.inverse_dynamics(
            position + velocity * time * part * (1.0 - 0.5 * part), velocity * (1.0 - part), -velocity / time
        )
        within: NDArray[np.bool_] = np.abs(effort) <= limits
        if not within.all():
            return False
    return True
