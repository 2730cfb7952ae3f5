"""Stops of a trajectory that another controller follows: along its path, with the model's efforts.

The path's clock runs ever slower, by the smoothest step, so that velocities and accelerations go to zero
without a jump: s = T (τ - τ³ + τ⁴/2), τ = t/T. The stop takes as long as its decelerations and efforts need.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.control.spline import QuinticSpline, hermite_spline
from robot_dynamics.spatial import Array

SHORTEST, LONGEST = 0.04, 5.0
"""Duration of a stop [s]."""
STEP = 0.02
"""Between its knots [s]."""
PEAK = 1.5
"""Largest rate at which the path's clock slows down, times the duration of the stop."""
GROWTH = 1.25
"""From one duration that is tried to the next."""
EFFORT_SHARE = 0.9
"""Share of the effort limits that a stop may need, unless its path needs more already."""


def stop_spline(
    reference: Callable[[float], Reference],
    start: float,
    deceleration: Array,
    dynamics: EffortModel,
    limits: Array,
) -> QuinticSpline:
    """A path that leaves another at ``start``, and comes to rest on it.

    Args:
        reference: of the other path, by time [s].
        start: when the stop begins [s].
        deceleration: (n,) largest of each joint [rad/s² or m/s²].
        dynamics: gives the efforts.
        limits: (n,) of the efforts [N·m or N].
    """
    first = reference(start)
    rate = float(np.max(np.abs(first.velocity) / deceleration))
    duration = max(SHORTEST, PEAK * rate)
    while True:
        knots, positions, velocities, accelerations, along = _slowed(reference, start, duration)
        efforts = np.abs(dynamics.inverse_dynamics(positions, velocities, accelerations))
        cruising = np.abs(dynamics.inverse_dynamics(*along))
        brakes = (np.abs(accelerations) <= np.maximum(deceleration, np.abs(along[2])) * (1.0 + 1e-9)).all()
        if (brakes and (efforts <= np.maximum(EFFORT_SHARE * limits, cruising)).all()) or duration >= LONGEST:
            states = np.stack([positions, velocities, accelerations], axis=1)
            return hermite_spline(knots, states[:-1], states[1:])
        duration = min(GROWTH * duration, LONGEST)


def _slowed(
    reference: Callable[[float], Reference], start: float, duration: float
) -> tuple[Array, Array, Array, Array, tuple[Array, Array, Array]]:
    """Knots of a stop, its states there, and those of the path itself."""
    share = np.linspace(0.0, 1.0, max(2, round(duration / STEP)) + 1)
    clock = start + duration * (share - share**3 + 0.5 * share**4)
    pace, change = (1.0 - share) ** 2 * (1.0 + 2.0 * share), -6.0 * share * (1.0 - share) / duration
    passed = [reference(float(time)) for time in clock]
    q, v, a = (
        np.array([getattr(one, name) for one in passed]) for name in ("position", "velocity", "acceleration")
    )
    pace, change = pace[:, None], change[:, None]
    return start + duration * share, q, v * pace, a * pace**2 + v * change, (q, v, a)
