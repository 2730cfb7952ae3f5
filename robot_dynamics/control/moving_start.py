"""Paths that leave a moving start: no joint goes farther than its shortest stop and its waypoints take it.

A quintic from a moving start to a waypoint that is due late travels far before it comes back. Such a joint
first slows down, or stops where its waypoint lies behind it, and then goes on from there. Its stop has three
parts with constant jerk: the acceleration goes to the deceleration that is allowed, stays, and goes to zero.
The first and last part take as long as the waypoints leave room for, so that only the nearest ones
ask for the shortest stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.path_bounds import hulls
from robot_dynamics.control.shape import LEAST, LEVELS, allowance, waypoint_spline
from robot_dynamics.control.spline import QuinticSpline, hermite_coefficients
from robot_dynamics.spatial import Array

Stopping = Callable[[Array, Array], Array]
"""Gives decelerations (n,) from positions and velocities (n,); infinite where nothing limits them."""

STOP_TIME = 0.5
"""Duration of a stop with constant deceleration where no acceleration or effort limit is known [s]."""
_LATEST = 0.9
"""Latest end of slowing down, as a share of the time until its first waypoint."""
_BISECTIONS = 60
_SHORTEST = 1e-4
"""Shortest first and last part of a stop [s]."""
_SHORTEST_PART = 1e-6


@dataclass(frozen=True)
class _Knots:
    """Knots of one joint between the start and its first waypoint.

    Attributes:
        times: (M,) after the start [s].
        states: (M, 3) positions, velocities and accelerations.
    """

    times: Array
    states: Array


def unlimited_stop(position: Array, velocity: Array) -> Array:
    """No limit of any joint."""
    return np.full(len(position), np.inf)


def decelerations(found: Array, allowed: Array, velocity: Array, acceleration: Array) -> Array:
    """(n,) finite positive decelerations for a stop.

    Args:
        found: (n,) what efforts allow; infinite where nothing is known.
        allowed: (n,) acceleration limits; infinite where there is none.
        velocity: (n,) at the start.
        acceleration: (n,) at the start.
    """
    both = np.minimum(found, allowed)
    usual = np.maximum(np.abs(velocity) / STOP_TIME, np.abs(acceleration))
    return np.where(np.isfinite(both) & (both > 0.0), both, np.where(usual > 0.0, usual, 1.0))


def moving_spline(
    times: Array, positions: Array, velocities: Array, accelerations: Array, decelerations: Array
) -> QuinticSpline:
    """The path of :func:`waypoint_spline`, whose first knot may be in motion.

    Args:
        times: (K,) [s], strictly increasing, K >= 2; the first is the start.
        positions: (K, n) [rad or m].
        velocities: (K, n) [rad/s or m/s]; NaN leaves it open; the start's are given.
        accelerations: (K, n) [rad/s² or m/s²]; likewise.
        decelerations: (n,) largest deceleration of each joint in a stop, positive [rad/s² or m/s²].

    Raises:
        TrajectoryError: see :func:`waypoint_spline`.
    """
    whole = waypoint_spline(times, positions, velocities, accelerations)
    reach = farthest(positions[0], velocities[0], decelerations)
    lower, upper = (
        choice(np.stack([positions[0], positions[1], reach]), axis=0) for choice in (np.min, np.max)
    )
    slack = allowance(positions[1] - positions[0])
    lowest, highest = hulls(whole.coefficients[0], levels=LEVELS)
    moving = (velocities[0] != 0.0) | (accelerations[0] != 0.0)
    leaving = np.flatnonzero(moving & ((lowest < lower - slack) | (highest > upper + slack)))
    paths: dict[int, QuinticSpline] = {}
    for j in leaving.tolist():
        state = (float(positions[0, j]), float(velocities[0, j]), float(accelerations[0, j]))
        knots = _slowing(state, float(positions[1, j]), float(times[1] - times[0]), float(decelerations[j]))
        if knots is not None:
            paths[j] = _through(knots, times, positions[:, [j]], velocities[:, [j]], accelerations[:, [j]])
    return _joined(whole, paths) if paths else whole


def farthest(position: Array, velocity: Array, decelerations: Array) -> Array:
    """(n,) where the shortest stop of each joint ends [rad or m]."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        way = 0.5 * velocity * np.abs(velocity) / decelerations
    return np.asarray(position + np.where(np.isfinite(way), way, 0.0))


def _through(
    knots: _Knots, times: Array, positions: Array, velocities: Array, accelerations: Array
) -> QuinticSpline:
    """The path (K + M, 1) of one joint by its inner knots."""
    place, rate, second = (
        np.concatenate([given[:1], knots.states[:, [order]], given[1:]])
        for order, given in enumerate((positions, velocities, accelerations))
    )
    inner = np.concatenate([times[:1], times[0] + knots.times, times[1:]])
    return waypoint_spline(inner, place, rate, second, part=0.5)


def _joined(whole: QuinticSpline, paths: dict[int, QuinticSpline]) -> QuinticSpline:
    """One path of all joints; those of ``paths`` along these."""
    times = _merged(whole.times, np.concatenate([path.times for path in paths.values()]))
    rows = [np.array(row) for row in whole.at(times)]
    for j, path in paths.items():
        for row, own in zip(rows, path.at(times), strict=True):
            row[:, [j]] = own
    return QuinticSpline(times, hermite_coefficients(np.diff(times), *rows))


def _merged(times: Array, others: Array) -> Array:
    """``times`` and ``others``, ascending; of those that differ only by rounding one, of ``times`` all.

    Joints that move alike have knots at almost the same time, and no quintic fits an interval of 1e-15 s.
    """
    others = np.sort(others)
    others = others[np.diff(others, prepend=-np.inf) > 0.5 * _SHORTEST_PART]
    away = np.abs(others[:, None] - times).min(axis=1) > 0.5 * _SHORTEST_PART
    return np.sort(np.concatenate([times, others[away]]))


def _slowing(
    state: tuple[float, float, float], goal: float, duration: float, deceleration: float
) -> _Knots | None:
    """Place and duration of slowing down before a joint goes to its first waypoint.

    Args:
        state: position, velocity and acceleration at the start.
        goal: position of the first waypoint.
        duration: time until it is due [s].
        deceleration: largest allowed.

    Returns:
        None: there is no time for it.
    """
    position, velocity, acceleration = state
    leading = velocity
    if velocity * acceleration < 0.0 and velocity * velocity < 0.5 * LEAST * abs(acceleration):
        leading = 0.0  # it turns round by itself, next to where it is
    sense = 1.0 if (leading or acceleration) > 0.0 else -1.0
    v, a, way = sense * velocity, sense * acceleration, sense * (goal - position)
    deceleration = max(deceleration, abs(a))
    found = _slower(v, a, way, duration, deceleration) or _stop(v, a, way, duration, deceleration)
    if found is None:
        return None
    times, states = found
    return _Knots(times, sense * states + np.array([position, 0.0, 0.0]))


def _slower(
    v: float, a: float, way: float, duration: float, deceleration: float
) -> tuple[Array, Array] | None:
    """Down to the mean speed of the way's second half, on its first half; None where that is too hard."""
    if way <= 0.0:
        return None
    end = 0.5 * duration
    low, high = 0.0, end
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        slow = 0.5 * way / (duration - middle)
        travelled = 0.5 * (v + slow) * middle + a * middle * middle / 12.0
        low, high = (middle, high) if travelled < 0.5 * way else (low, middle)
    time = low
    slow = 0.5 * way / (duration - time)
    if time >= end * (1.0 - 1e-9) or slow >= v or time <= 0.0:
        return None
    # The velocity is a cubic with the Bernstein coefficients v, v + a T/3, slow, slow.
    hardest = 3.0 * max(v + a * time / 3.0 - slow, 0.0) / time
    if v + a * time / 3.0 < 0.0 or hardest > 1.5 * deceleration or -a > deceleration:
        return None
    return np.array([time]), np.array([[0.5 * way, slow, 0.0]])


def _stop(v: float, a: float, way: float, duration: float, deceleration: float) -> tuple[Array, Array] | None:
    """A stop as gentle as the room for it allows; the way back from it may use the rest of the allowance."""
    room = max(way, 0.5 * v * v / deceleration) + 0.5 * float(allowance(np.array(way)))
    low, high = 0.0, _LATEST * duration
    if v < 0.0:
        low = min(-2.0 * v / a, high)
    elif a < 0.0:
        high = min(high, 2.0 * v / -a)
    for _ in range(_BISECTIONS):
        ramp = 0.5 * (low + high)
        times, states = _stopping(v, a, ramp, deceleration)
        short = times[-1] <= _LATEST * duration and states[-1][0] <= room
        low, high = (ramp, high) if short else (low, ramp)
    times, states = _stopping(v, a, max(low, _SHORTEST), deceleration)
    if not times[-1] <= _LATEST * duration:
        return None
    keep = np.diff(times, prepend=0.0) > _SHORTEST_PART
    return np.array(times)[keep], np.array(states)[keep]


def _stopping(
    v: float, a: float, ramp: float, deceleration: float
) -> tuple[list[float], list[tuple[float, float, float]]]:
    """Ends and states of the three parts of a stop whose first and last part take ``ramp`` each [s]."""
    steady = (v + 0.5 * a * ramp) / deceleration - ramp
    if steady < 0.0:
        steady, deceleration = 0.0, 0.5 * a + v / ramp
    position, velocity, acceleration, time = 0.0, v, a, 0.0
    times, states = [], []
    for duration, after in ((ramp, -deceleration), (steady, -deceleration), (ramp, 0.0)):
        position += duration * velocity + duration * duration * (2.0 * acceleration + after) / 6.0
        velocity += 0.5 * duration * (acceleration + after)
        acceleration, time = after, time + duration
        times.append(time)
        states.append((position, velocity, acceleration))
    states[-1] = (position, 0.0, 0.0)
    return times, states
