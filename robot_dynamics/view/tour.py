"""A tour: every joint of an arm gently through its range and back, within speed and effort."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robot_dynamics.model.chain import JointKind, JointLimits, KinematicChain
from robot_dynamics.spatial import Array

SPEED_SHARE = 0.5
"""Of the velocity limits."""
FASTEST = {JointKind.REVOLUTE: 1.6, JointKind.PRISMATIC: 0.3}
"""Greatest speed of any joint [rad/s or m/s]."""
BRISKEST = {JointKind.REVOLUTE: 4.0, JointKind.PRISMATIC: 1.0}
"""Greatest acceleration of any joint [rad/s² or m/s²]."""
FARTHEST = {JointKind.REVOLUTE: math.pi, JointKind.PRISMATIC: 0.5}
"""Largest distance from the start of a joint without nearer limits [rad or m]."""
MARGIN = 0.02
"""Share of its range that a joint keeps from each limit."""
GROUPS = 4
"""Joints move in at most so many groups, one group after the other."""
SHORTEST, LONGEST = 0.5, 8.0
"""Least duration of one move [s], and the greatest: a slow joint does not go through all of its range."""
EFFORT_SHARE = 0.9
"""Of the effort limits, that the tour may take."""
SLOWEST = 4.0
"""The tour is made so many times slower at most to keep the effort limits."""
_PEAK_SPEED, _PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / math.sqrt(3.0)  # of a quintic over unit way and time
_SAMPLES = 24

InverseDynamics = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class Tour:
    """Waypoints at rest, joined by quintics.

    Attributes:
        times: (K,) from the start [s].
        positions: (K, n) in chain order [rad or m].
        weak: joints whose effort limit the tour would exceed however slowly it is made, and what it takes at
            most [N·m or N].
    """

    times: Array
    positions: Array
    weak: dict[str, float]

    @property
    def duration(self) -> float:
        """[s]."""
        return float(self.times[-1])


def plan_tour(chain: KinematicChain, start: Array, inverse_dynamics: InverseDynamics | None) -> Tour:
    """Each joint from ``start`` to the upper end of its range, to the lower one, and back.

    Args:
        chain: the arm.
        start: (n,) where it begins and ends, in chain order [rad or m].
        inverse_dynamics: efforts (N, n) of positions, velocities and accelerations (N, n); None where the
            masses are unknown.
    """
    home = start
    drivers = [chain.driving_joint(j) for j in range(chain.dof)]
    ranges = [_range(joint.kind, joint.limits, q) for joint, q in zip(drivers, home, strict=True)]
    stride = min(GROUPS, chain.dof)
    positions, times = [home], [0.0]
    for group in range(stride):
        members = range(group, chain.dof, stride)
        for goals in ([ranges[j][1] for j in members], [ranges[j][0] for j in members], home[list(members)]):
            goal = positions[-1].copy()
            goal[list(members)] = goals
            way = np.abs(goal - positions[-1])
            times.append(
                times[-1] + max(_duration(drivers[j].kind, drivers[j].limits, way[j]) for j in members)
            )
            positions.append(goal)
    tour = Tour(np.array(times), np.array(positions), {})
    return tour if inverse_dynamics is None else _within_efforts(chain, tour, inverse_dynamics)


def _range(kind: JointKind, limits: JointLimits, start: float) -> tuple[float, float]:
    """Lower and upper end of a joint's tour [rad or m]."""
    # From one end to the other in the longest duration.
    reach = min(FARTHEST[kind], 0.5 * LONGEST * _speed(kind, limits) / _PEAK_SPEED)
    low, high = max(limits.lower, start - reach), min(limits.upper, start + reach)
    margin = MARGIN * (high - low)
    return min(low + margin, start), max(high - margin, start)


def _speed(kind: JointKind, limits: JointLimits) -> float:
    return min(FASTEST[kind], SPEED_SHARE * limits.velocity if limits.velocity > 0.0 else np.inf)


def _duration(kind: JointKind, limits: JointLimits, way: float) -> float:
    fastest = _PEAK_SPEED * way / _speed(kind, limits)
    return max(SHORTEST, fastest, math.sqrt(_PEAK_ACCELERATION * way / BRISKEST[kind]))


def _within_efforts(chain: KinematicChain, tour: Tour, inverse_dynamics: InverseDynamics) -> Tour:
    """The tour, as much slower as the effort limits ask."""
    limits = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])
    limits[limits <= 0.0] = np.inf
    for slower in (1.0, 1.5, 2.0, 3.0, SLOWEST):
        times = slower * tour.times
        largest = _largest_efforts(times, tour.positions, inverse_dynamics)
        if (largest <= EFFORT_SHARE * limits).all():
            return Tour(times, tour.positions, {})
    over = np.flatnonzero(largest > EFFORT_SHARE * limits)
    weak = {chain.joint_names[j]: float(largest[j]) for j in over}
    # Slowness does not help those that cannot carry the weight; the others are kept within their limits.
    others = [j for j in range(chain.dof) if j not in over]
    for slower in (1.0, 1.5, 2.0, 3.0, SLOWEST):
        times = slower * tour.times
        largest = _largest_efforts(times, tour.positions, inverse_dynamics)
        if (largest[others] <= EFFORT_SHARE * limits[others]).all():
            break
    return Tour(times, tour.positions, weak)


def _largest_efforts(times: Array, positions: Array, inverse_dynamics: InverseDynamics) -> Array:
    """(n,) greatest magnitude on the way."""
    share = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    bend = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    slope = 30.0 * share**2 * (1.0 - share) ** 2
    curvature = 60.0 * share * (1.0 - share) * (1.0 - 2.0 * share)
    largest = np.zeros(positions.shape[1])
    for first, last, duration in zip(positions, positions[1:], np.diff(times), strict=False):
        way = last - first
        efforts = inverse_dynamics(
            np.ascontiguousarray(first + bend * way),
            np.ascontiguousarray(slope * way / duration),
            np.ascontiguousarray(curvature * way / duration**2),
        )
        largest = np.maximum(largest, np.abs(efforts).max(axis=0))
    return largest
