"""Samples of a path that are close enough for linear interpolation of its efforts.

A ``joint_trajectory_controller`` interpolates positions by quintics between points that carry velocities and
accelerations, which reproduces a quintic path exactly, but efforts linearly. How far a straight line may
leave the effort of the inverse dynamics is what decides where the points must be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array

LARGEST_TURN = 0.25
"""Largest motion of a joint in an interval [rad or m]; longer ones are cut, so that no wave is missed."""
PROBES = 8
"""Parts into which every interval is cut to look at the efforts between its ends."""
SHORTEST_INTERVAL = 2e-5
"""Points closer than this are never sent; a path that needs them is refused [s]."""
MOST_POINTS = 50_000
_ROUNDING = 1e-9  # messages carry whole nanoseconds [s]


@dataclass(frozen=True)
class PathPoints:
    """Points of a path with the efforts that drive it.

    Attributes:
        times: (K,) [s].
        positions: (K, n) [rad or m].
        velocities: (K, n) [rad/s or m/s].
        accelerations: (K, n) [rad/s² or m/s²].
        efforts: (K, n) [N·m or N].
    """

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array
    efforts: Array


@dataclass(frozen=True)
class EffortSamples(PathPoints):
    """Points between which efforts may be interpolated.

    Their times are whole nanoseconds after the first one; the path's knots are among them.

    Attributes:
        error: (n,) largest difference between interpolated efforts and the model's [N·m or N].
    """

    error: Array


class BuiltUp:
    """Friction that builds up along a path after reversals, beside the efforts of the model.

    Args:
        spline: the path.
        law: of the joints' friction.
        slid: (n,) states of presliding where the path begins.
    """

    def __init__(self, spline: QuinticSpline, law: DriveFriction, slid: Array) -> None:
        self._spline, self._law = spline, law
        # Between these times no joint reverses.
        self._times = _first_points(spline)
        self._positions = spline.at(self._times)[0]
        states = [slid]
        for travel in np.diff(self._positions, axis=0):
            states.append(law.slid_after(states[-1], travel))
        self._states = np.array(states)

    def slid(self, times: Array) -> Array:
        """(N, n) states of presliding at ``times`` (N,) [s]; before and after the path those of its ends."""
        times = np.clip(times, self._times[0], self._times[-1])
        index = np.searchsorted(self._times, times, side="right") - 1
        travel = self._spline.at(times)[0] - self._positions[index]
        return np.asarray(self._law.slid_after(self._states[index], travel))

    def efforts(self, times: Array, velocities: Array) -> Array:
        """(N, n) [N·m or N] at ``times`` (N,) with ``velocities`` (N, n)."""
        return np.asarray(self._law.presliding(velocities, self.slid(times)))


class BuiltUpNow:
    """Friction that builds up along the references of one cycle after the other."""

    def __init__(self) -> None:
        self._slid: Array | float = 0.0
        self._at: Array | None = None

    def carried(self, effort: Array) -> Array:
        """The ``effort`` without a reference; how far the arm moves until there is one again is no travel."""
        self._at = None
        return effort

    def efforts(self, dynamics: EffortModel, reference: Reference) -> Array | float:
        """(n,) beside those of ``dynamics`` [N·m or N]; zero where the drives have no such friction."""
        law = _presliding_law(dynamics)
        if law is None:
            return 0.0
        if self._at is not None:
            self._slid = law.slid_after(self._slid, reference.position - self._at)
        self._at = reference.position
        return np.asarray(law.presliding(reference.velocity, self._slid))


def built_up(
    dynamics: EffortModel, spline: QuinticSpline, velocity: Array, last: BuiltUp | None
) -> BuiltUp | None:
    """Friction that builds up along a path; None where the drives of ``dynamics`` have none.

    Args:
        dynamics: gives the other efforts.
        spline: the path.
        velocity: (n,) where it begins, whose sign the states have if nothing was followed before.
        last: that of the path before.
    """
    law = _presliding_law(dynamics)
    if law is None:
        return None
    return BuiltUp(spline, law, np.sign(velocity) if last is None else last.slid(spline.times[:1])[0])


def _presliding_law(dynamics: EffortModel) -> DriveFriction | None:
    if isinstance(dynamics, ActuatedArm) and dynamics.drives.friction.presliding_friction.any():
        return dynamics.drives.friction
    return None


def sample_efforts(
    spline: QuinticSpline,
    dynamics: EffortModel,
    tolerance: Array,
    most_points: int = MOST_POINTS,
    built: BuiltUp | None = None,
) -> EffortSamples:
    """Choose points on ``spline`` between which the efforts are straight within ``tolerance``.

    Between the first points, every joint's velocity and acceleration keep their signs and no joint moves far,
    so friction steps and turning points cannot hide inside an interval. Each interval is then probed at
    ``PROBES - 1`` inner times. The error there is known; between two probes a smooth effort leaves its own
    chord by an eighth of its second difference, which is added. Intervals above the tolerance are halved.

    Args:
        spline: the path.
        dynamics: gives the efforts; called with batches (N, n).
        tolerance: (n,) largest error of every joint [N·m or N], positive.
        most_points: a path that needs more is refused.
        built: friction beside the efforts of ``dynamics``.

    Raises:
        TrajectoryError: the tolerance cannot be kept; names the joint by its index and the error reached.
    """
    start = float(spline.times[0])
    times = _first_points(spline)
    settled = np.zeros(len(times) - 1, dtype=bool)
    bound = np.zeros((len(times) - 1, len(tolerance)))
    while not settled.all():
        pending = np.flatnonzero(~settled)
        bound[pending] = _interval_errors(spline, dynamics, built, times[pending], times[pending + 1])
        wide = pending[np.any(bound[pending] > tolerance, axis=1)]
        settled[:] = True
        if not len(wide):
            break
        _check_can_split(times, wide, bound, tolerance, most_points)
        middles = start + np.round((0.5 * (times[wide] + times[wide + 1]) - start) / _ROUNDING) * _ROUNDING
        settled[wide] = False
        times = np.insert(times, wide + 1, middles)
        settled = np.insert(settled, wide + 1, False)
        bound = np.insert(bound, wide + 1, bound[wide], axis=0)
    positions, velocities, accelerations = spline.at(times)
    efforts = dynamics.inverse_dynamics(positions, velocities, accelerations)
    if built is not None:
        efforts = efforts + built.efforts(times, velocities)
    return EffortSamples(times, positions, velocities, accelerations, efforts, bound.max(axis=0))


def _first_points(spline: QuinticSpline) -> Array:
    """Knots, turning points of every joint's position and velocity, and cuts where a joint moves far."""
    start = float(spline.times[0])
    points = set(spline.times.tolist())
    for k in range(len(spline.times) - 1):
        t0, h = spline.times[k], spline.times[k + 1] - spline.times[k]
        for joint in spline.coefficients[k].T:
            rates = joint[1:] * np.arange(1.0, 6.0)
            for polynomial in (rates, rates[1:] * np.arange(1.0, 5.0)):
                points.update((t0 + h * _roots_inside(polynomial)).tolist())
    times = np.array(sorted(points))
    # A path's own knots stay exact to the nanosecond that the message can carry.
    times = start + np.unique(np.round((times - start) / _ROUNDING)) * _ROUNDING
    times = times[np.concatenate(([True], np.diff(times) > SHORTEST_INTERVAL))]
    times[-1] = start + np.round((spline.times[-1] - start) / _ROUNDING) * _ROUNDING
    positions = spline.at(times)[0]
    parts = np.ceil(np.abs(np.diff(positions, axis=0)).max(axis=1) / LARGEST_TURN).astype(int)
    cut = [
        np.linspace(a, b, max(count, 1), endpoint=False)
        for a, b, count in zip(times[:-1], times[1:], parts, strict=True)
    ]
    cut_times = np.concatenate([*cut, times[-1:]])
    return np.asarray(start + np.round((cut_times - start) / _ROUNDING) * _ROUNDING)


def _roots_inside(ascending: Array) -> Array:
    """Real roots in (0, 1) of a polynomial given by ascending coefficients."""
    largest = np.abs(ascending).max()
    if largest == 0.0:
        return np.zeros(0)
    significant = np.flatnonzero(np.abs(ascending) > 1e-12 * largest)[-1] + 1
    roots = np.polynomial.polynomial.polyroots(ascending[:significant])
    real = roots.real[np.abs(roots.imag) < 1e-7]
    return np.asarray(real[(real > 0.0) & (real < 1.0)])


def _interval_errors(
    spline: QuinticSpline, dynamics: EffortModel, built: BuiltUp | None, begin: Array, end: Array
) -> Array:
    """(I, n) bound of what linear interpolation misses in each of the intervals (I,)."""
    share = np.linspace(0.0, 1.0, PROBES + 1)
    # The ends belong to this interval: just outside it another polynomial may begin.
    times = begin[:, None] + (end - begin)[:, None] * share
    state = spline.at(times.ravel())
    effort = np.asarray(dynamics.inverse_dynamics(*state))
    if built is not None:
        effort = effort + built.efforts(times.ravel(), state[1])
    effort = effort.reshape(len(begin), PROBES + 1, -1)
    chord = effort[:, :1] + share[:, None] * (effort[:, -1:] - effort[:, :1])
    between = np.abs(np.diff(effort, n=2, axis=1)).max(axis=1) / 8.0
    return np.asarray(np.abs(effort - chord).max(axis=1) + between)


def _check_can_split(times: Array, wide: NDArray[np.intp], bound: Array, tolerance: Array, most: int) -> None:
    shortest = float(np.min(times[wide + 1] - times[wide]))
    if shortest >= 2.0 * SHORTEST_INTERVAL and len(times) + len(wide) <= most:
        return
    excess = (bound[wide] / tolerance).max(axis=0)
    joint = int(np.argmax(excess))
    reason = (
        f"more than {most} points" if shortest >= 2.0 * SHORTEST_INTERVAL else "points too close together"
    )
    raise TrajectoryError(
        f"keeping the interpolated effort of joint {joint + 1} within {tolerance[joint]:.3g} (N·m or N) takes"
        f" {reason}; {bound[wide, joint].max():.3g} is reached: allow a larger effort error or a slower path"
    )
