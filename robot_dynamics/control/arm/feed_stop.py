"""Stops of a trajectory that another controller follows: along its path, with the model's efforts.

The path's clock runs ever slower, by the smoothest step, so that velocities and accelerations go to zero
without a jump: s = T (τ - τ³ + τ⁴/2), τ = t/T. The stop takes as long as its decelerations and efforts need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
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
BEYOND = 1.3
"""Deceleration of a stop in those of its path, where that brakes with all that it may: none brakes less."""
WAIT, LAST_TRIED = 0.1, 5
"""Between the times at which a stop is tried that has to wait [s]; of its first so many durations every
second one is tried. Where a path speeds up as it may, its stop needs 2.4 times the shortest."""

ROUNDING = 1e-9
"""Share of an acceleration by which rounding may exceed it."""

Path = Callable[[Array], tuple[Array, Array, Array]]
"""Positions, velocities and accelerations (m, n) of a path at times (m,)."""
States = tuple[Array, Array, Array, Array]
"""Times (m,), positions, velocities and accelerations (m, n) of knots."""


def stop_spline(
    path: Path,
    start: float,
    deceleration: Array,
    dynamics: EffortModel,
    limits: Array,
) -> QuinticSpline:
    """A path that leaves another at ``start``, and comes to rest on it.

    Where efforts and decelerations do not permit that, it goes on along the path to where they do, such as
    where the path turns back. It does not wait for longer than a stop of LONGEST would follow the path.

    Args:
        path: the other path.
        start: when the stop begins [s].
        deceleration: (n,) largest of each joint [rad/s² or m/s²].
        dynamics: gives the efforts.
        limits: (n,) of the efforts [N·m or N].
    """

    def tried(begin: float, duration: float) -> tuple[States, float]:
        """A stop, and the share of the permitted deceleration that it needs, infinite beyond the efforts."""
        states, along = _slowed(path, begin, duration)
        efforts = np.abs(dynamics.inverse_dynamics(*states[1:]))
        cruising = np.abs(dynamics.inverse_dynamics(*along))
        share = float((np.abs(states[3]) / np.maximum(deceleration, np.abs(along[2]))).max())
        return states, share if (efforts <= np.maximum(EFFORT_SHARE * limits, cruising)).all() else np.inf

    harder = None
    for duration in _durations(path, start, deceleration):
        states, share = tried(start, duration)
        if share <= 1.0 + ROUNDING:
            return _through(states)
        if harder is None and share <= BEYOND:
            harder = states
    if harder is not None:
        return _through(harder)
    for begin in start + np.arange(WAIT, 0.5 * LONGEST, WAIT):
        for duration in islice(_durations(path, begin, deceleration), 0, LAST_TRIED, 2):
            later, share = tried(begin, duration)
            if share <= 1.0 + ROUNDING:
                return _through(_joined(_along(path, start, begin), later))
    return _through(states)


def _durations(path: Path, begin: float, deceleration: Array) -> Iterator[float]:
    """Durations that are tried of a stop from a time on, the longest last [s]."""
    _, [leaves], _ = path(np.array([begin]))
    shortest = max(SHORTEST, PEAK * float(np.max(np.abs(leaves) / deceleration)))
    duration = shortest
    while duration < LONGEST:
        yield duration
        duration *= GROWTH
    yield max(LONGEST, shortest)


def _through(states: States) -> QuinticSpline:
    times, *motion = states
    rows = np.stack(motion, axis=1)
    return hermite_spline(times, rows[:-1], rows[1:])


def _joined(first: States, then: States) -> States:
    """Knots, and others behind them."""
    times, q, v, a = (np.concatenate(parts) for parts in zip(first, then, strict=True))
    return times, q, v, a


def _along(path: Path, start: float, end: float) -> States:
    """Knots of the path itself, but for the last."""
    times = np.linspace(start, end, max(2, round((end - start) / STEP)) + 1)[:-1]
    return (times, *path(times))


def _slowed(path: Path, start: float, duration: float) -> tuple[States, tuple[Array, Array, Array]]:
    """Knots of a stop, and states of the path itself there."""
    share = np.linspace(0.0, 1.0, max(2, round(duration / STEP)) + 1)
    clock = start + duration * (share - share**3 + 0.5 * share**4)
    pace, change = (1.0 - share) ** 2 * (1.0 + 2.0 * share), -6.0 * share * (1.0 - share) / duration
    q, v, a = path(clock)
    pace, change = pace[:, None], change[:, None]
    return (start + duration * share, q, v * pace, a * pace**2 + v * change), (q, v, a)
