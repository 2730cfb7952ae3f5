"""Trajectories of some joints beside those that other joints follow: one path for all, joint by joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.spatial import Array

SHORTEST = 1e-5
"""Segments that are shorter are left to the one before: a quintic goes on as it is for so long [s]."""
_BINOMIALS = np.array([[float(comb(i, j)) for i in range(6)] for j in range(6)])
_POWERS = np.maximum(np.arange(6)[None, :] - np.arange(6)[:, None], 0)  # without a power the binomial is zero


@dataclass(frozen=True)
class Ahead:
    """Trajectories that are followed from a time on, one after the other; between them joints rest.

    Attributes:
        since: when each begins to count, in ascending order [s].
        trajectories: each until the next one counts; with ``spline``, ``joints`` and ``carried``.
    """

    since: tuple[float, ...]
    trajectories: tuple[Any, ...]

    @property
    def end(self) -> float:
        """End of the last one [s]."""
        return float(self.trajectories[-1].end)

    def going_on(self, moved: Sequence[int], start: float) -> tuple[Any, ...]:
        """Trajectories that go on whole beside another of the joints ``moved`` from ``start`` [s] on."""
        found: list[Any] = []
        last = len(self.since) - 1
        for k, trajectory in enumerate(self.trajectories):
            for one in (trajectory, *trajectory.carried):
                whole = k == last or one.arrival <= self.since[k + 1]
                if whole and one.arrival > start and one.joints and not set(one.joints) & set(moved):
                    found.append(one)
        return tuple(found)

    def knots(self, start: float) -> Array:
        """Times after ``start`` at which the path has another polynomial [s]."""
        found = []
        for k, (since, trajectory) in enumerate(zip(self.since, self.trajectories, strict=True)):
            until = self.since[k + 1] if k + 1 < len(self.since) else np.inf
            times = np.append(trajectory.spline.times, since)
            found.append(times[(times > start) & (times >= since) & (times <= until)])
        return np.concatenate(found)

    def segments(self, times: Array) -> Array:
        """(K - 1, 6, n) coefficients of the path between ``times`` (K,) [s]."""
        middle = 0.5 * (times[1:] + times[:-1])
        which = np.maximum(np.searchsorted(self.since, middle, side="right") - 1, 0)
        found = np.empty((len(middle), *self.trajectories[0].spline.coefficients.shape[1:]))
        for k, trajectory in enumerate(self.trajectories):
            chosen = which == k
            if chosen.any():
                found[chosen] = _between(trajectory.spline, times[:-1][chosen], times[1:][chosen])
        return found


def ahead_of(queue: Sequence[Any], start: float) -> Ahead | None:
    """Trajectories that are followed from ``start`` [s] on; None: all joints rest.

    Args:
        queue: trajectories that are followed or wait, the last one first.
        start: [s].
    """
    found: list[tuple[float, Any]] = []
    until = np.inf
    for trajectory in queue:
        if trajectory.start < until:
            found.append((float(trajectory.start), trajectory))
            until = trajectory.start
        if trajectory.start <= start:
            break
    if not found or found[0][1].end <= start:
        return None
    since, trajectories = zip(*reversed(found), strict=True)
    return Ahead(since, trajectories)


def beside(spline: QuinticSpline, moved: Sequence[int], others: Ahead) -> QuinticSpline:
    """The path in which the joints ``moved`` follow ``spline`` and the other joints what they follow now."""
    start, end = float(spline.times[0]), max(float(spline.times[-1]), others.end)
    times = np.unique(np.concatenate((spline.times, others.knots(start))))
    kept = [start]
    for time in times[1:].tolist():
        if time - kept[-1] >= SHORTEST and end - time >= SHORTEST:
            kept.append(time)
    times = np.array([*kept, end])
    coefficients = others.segments(times)
    coefficients[..., list(moved)] = _between(spline, times[:-1], times[1:])[..., list(moved)]
    return QuinticSpline(times, coefficients)


def _between(spline: QuinticSpline, begins: Array, ends: Array) -> Array:
    """(M, 6, n) coefficients of a spline on other intervals, each within one of its own or beyond all."""
    middle = 0.5 * (begins + ends)
    k = np.clip(np.searchsorted(spline.times, middle, side="right") - 1, 0, len(spline.times) - 2)
    length = np.diff(spline.times)[k]
    first, width = (begins - spline.times[k]) / length, (ends - begins) / length
    shift = _BINOMIALS * first[:, None, None] ** _POWERS * (width[:, None, None] ** np.arange(6)[:, None])
    found = np.einsum("mji,min->mjn", shift, spline.coefficients[k])
    for outside, place in ((middle < spline.times[0], 0), (middle > spline.times[-1], -1)):
        if outside.any():
            found[outside] = 0.0
            found[outside, 0] = spline.sample(float(spline.times[place]))[0]
    return np.asarray(found)
