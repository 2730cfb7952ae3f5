"""Streams of poses: a smooth motion through poses that come one by one.

The motion follows from the times of the poses alone, so poses may come late, in bursts or not at all. Local
polynomials smooth it: least squares of a cubic through the poses around a moment, with weights that fade to
zero at both ends of the window (Lancaster and Salkauskas 1981, moving least squares). So neither a pose that
enters the window nor one that leaves it makes a step in position, velocity or acceleration.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.stewart.envelope import rotated
from robot_dynamics.control.stewart.reference_governor import PoseTarget
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_vector

LONGEST_PERIOD = 0.25
"""Longest period of a stream; poses farther apart are no stream [s]."""
GAP = 4.5
"""Time without a pose that is a gap, in periods."""
SHORTEST_GAP = 0.05
"""Shortest gap [s]."""
MOST_AHEAD = 1.0
"""Stamps further ahead of the states are of another clock [s]."""
LEAST_STEP = 1e-5
"""Poses nearer to each other in time are the same [s]."""
DELAY = 1.7
"""Delay of the motion behind the times of the poses, in periods."""
AHEAD, BEHIND = 1.5, 4.5
"""Ends of the window of poses around a moment, in periods after and before it."""
BEYOND = 1.3
"""Time after the last pose for which the motion continues, in periods."""
SHORTEST_BEYOND = 0.02
"""Shortest such time [s]."""
WIDENED = 3.0
"""Beginning of the window before a moment after the last pose, in times since that pose."""
NEEDED = 6
"""Number of poses in a row that make a stream."""
DEGREE = 3
RIDGE = 1e-9
"""Regularisation, for poses of which several have nearly the same time."""
USUAL_JERK = 10.0
"""Expected jerk of a motion; where poses scatter, one that is not needed is not believed [m/s³, rad/s³]."""
SLOW = 0.02
"""Share of a new scatter in its mean."""
KEPT = 64
"""Poses, at most."""


class PoseSample(NamedTuple):
    """A pose of a stream.

    Attributes:
        time: its stamp [s]; None where the sender gives none.
        position: (3,) [m].
        rotation: (3, 3).
        twist: (6,) base frame; None where the sender gives none.
    """

    time: float | None
    position: Array
    rotation: Array
    twist: Array | None


def check_stamp(stamp: float, now: float, timeout: float) -> None:
    """Check that a stamp [s] is of the controller's clock, and no older than the stream's timeout.

    Raises:
        TrajectoryError: it is not.
    """
    ahead = stamp - now
    if not -timeout <= ahead <= MOST_AHEAD:
        raise TrajectoryError(
            f"its stamp is {abs(ahead):.3g} s {'after' if ahead > 0.0 else 'before'} that of the last joint"
            f" state; it must be between {timeout:g} s before and {MOST_AHEAD:g} s after it;"
            " a stamp of 0 or stream_clock: recovered needs no common clock"
        )


class StreamFilter:
    """Smooth motion through the poses of a stream, ``DELAY`` periods behind them.

    Where the next pose comes late the motion goes on for ``BEYOND`` periods, and stops then. After a gap
    the filter begins anew.

    Args:
        timeout: the stream has ended when no pose has come for so long, or for a gap of its period [s].

    Attributes:
        period: time between two poses [s]; 0 before the second.
        window: shortest time before a moment from which poses count [s].
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._samples: list[PoseSample] = []
        self._times: list[float] = []
        self._alive = -np.inf
        self._noise = 0.0
        self.period = self.window = 0.0

    def add(self, sample: PoseSample, time: float, now: float, period: float) -> bool:
        """Take a pose of a ``time``; False for one that is not newer.

        Args:
            sample: the pose.
            time: when it was meant [s].
            now: when it has come [s].
            period: time between two poses [s].
        """
        self._alive = max(now, time)
        if self._times and time - self._times[-1] <= LEAST_STEP:
            return False
        self.period = period
        self._samples = [*self._samples[1 - KEPT :], sample]
        self._times = [*self._times[1 - KEPT :], time]
        return True

    def clear(self) -> None:
        """Begin anew."""
        self._samples, self._times, self.period = [], [], 0.0

    @property
    def last(self) -> PoseSample | None:
        """The newest pose."""
        return self._samples[-1] if self._samples else None

    @property
    def count(self) -> int:
        """Number of poses in the filter."""
        return len(self._times)

    @property
    def gap(self) -> float:
        """Time without a pose that is a gap [s]."""
        if not self.ready:
            return LONGEST_PERIOD
        return max(GAP * self.period, SHORTEST_GAP)

    @property
    def ready(self) -> bool:
        """True when there are enough poses to follow."""
        return len(self._times) >= NEEDED

    def ended(self, time: float) -> bool:
        """Check whether no pose has come for too long at ``time`` [s]."""
        return time - self._alive > max(self._timeout, GAP * self.period)

    def target(self, time: float) -> PoseTarget | None:
        """Target ``DELAY`` periods before ``time`` [s]; None where the reference has to stop."""
        if not self.ready:
            return None
        period, at = self.period, time - DELAY * self.period
        late = at - self._times[-1]
        if late > max(BEYOND * period, SHORTEST_BEYOND):
            return None
        behind = max(BEHIND * period, WIDENED * late, self.window)
        first = max(0, min(bisect_left(self._times, at - behind), len(self._times) - DEGREE - 1))
        return self._fit(first, at, behind)

    def _fit(self, first: int, at: float, behind: float) -> PoseTarget:
        """Moving least squares at a moment, of the poses from the ``first`` on."""
        period, samples = self.period, self._samples[first:]
        s = (np.array(self._times[first:]) - at) / period
        reach = np.where(s > 0.0, AHEAD, behind / period)
        weights = np.maximum(1.0 - (s / np.maximum(reach, np.abs(s[0]) * 1.01 * (s <= 0.0))) ** 2, 0.0) ** 3
        middle = samples[int(np.argmin(np.abs(s)))]
        places = np.array([_way(middle, one) for one in samples])
        powers = s[:, None] ** np.arange(DEGREE + 1)
        weighted = weights[:, None] * powers
        left, right = weighted.T @ powers, weighted.T @ places
        given = [k for k, one in enumerate(samples) if one.twist is not None]
        if len(given) == len(samples):
            rates = np.zeros_like(powers)
            rates[:, 1:] = powers[:, :-1] * np.arange(1, DEGREE + 1)
            twists = period * np.array([one.twist for one in samples])
            left += rates.T @ (weights[:, None] * rates)
            right += rates.T @ (weights[:, None] * twists)
        left += RIDGE * np.diag(np.diag(left))
        left[DEGREE, DEGREE] += self._noise / (USUAL_JERK * period**DEGREE / 6.0) ** 2
        c = np.linalg.solve(left, right)
        scatter = float((weights @ (places - powers @ c) ** 2).mean() / weights.sum())
        self._noise += SLOW * (scatter - self._noise)
        return PoseTarget(
            middle.position + c[0, :3],
            rotated(middle.rotation, c[0, 3:]),
            c[1] / period,
            2.0 * c[2] / period**2,
            6.0 * c[3] / period**3,
        )


def _way(a: PoseSample, b: PoseSample) -> Array:
    """(6,) from one pose to another: translation and rotation vector, base frame."""
    return np.concatenate([b.position - a.position, rotation_vector(b.rotation @ a.rotation.T)])
