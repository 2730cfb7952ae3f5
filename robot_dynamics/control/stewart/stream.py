"""Streams of poses: interpolation of poses that come one by one, a period behind.

The motion follows from the stamps alone, so poses may come late, in bursts or not at
all. Arrivals only decide whether the stream goes on.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.stewart.envelope import rotated
from robot_dynamics.control.stewart.reference_governor import PoseTarget
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_vector

LONGEST_PERIOD = 0.05
"""A longer time between the stamps of two poses without twists is a gap; a target without a next pose goes on
for so long [s]."""
MOST_AHEAD = 1.0
"""Stamps further ahead of the states are of another clock [s]."""
LEAST_STEP = 1e-5
"""Stamps nearer to each other are the same [s]."""
LEAST_SPAN = 0.005
"""Between poses from which it is taken how a stream goes on [s]."""
KEPT = 256
"""Poses, at most."""
GAPS = 16
"""Number of times between two poses whose lower quartile is the period: some poses may be lost."""


class PoseSample(NamedTuple):
    """A pose of a stream.

    Attributes:
        time: its stamp [s].
        position: (3,) [m].
        rotation: (3, 3).
        twist: (6,) base frame; None where the sender gives none.
    """

    time: float
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
            f" state; it must be between {timeout:g} s before and {MOST_AHEAD:g} s after it"
        )


class StreamInterpolator:
    """Cubic interpolation of a stream, one period behind, where a next pose is known.

    Where the next comes late, the target goes straight on with the last acceleration for ``LONGEST_PERIOD``,
    and stops then.

    Args:
        timeout: the stream has ended when no pose has come for so long [s].

    Attributes:
        period: time between two poses, as the last ones came [s].
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._samples: list[PoseSample] = []
        self._times: list[float] = []
        self._gaps: deque[float] = deque(maxlen=GAPS)
        self._alive = -np.inf
        self.period = 0.0

    def add(self, sample: PoseSample, now: float) -> bool:
        """Take a pose that has come at ``now`` [s]; False for one that is no newer, which is not used."""
        if self._samples:
            last = self._samples[-1]
            elapsed = sample.time - last.time
            if elapsed <= LEAST_STEP:
                return False
            twists = sample.twist is not None and last.twist is not None
            if elapsed > (self._timeout if twists else LONGEST_PERIOD):
                self._forget(len(self._samples))
            else:
                self._gaps.append(elapsed)
                self.period = sorted(self._gaps)[len(self._gaps) // 4]
        if len(self._samples) >= KEPT:
            self._forget(KEPT // 2)
        self._samples.append(sample)
        self._times.append(sample.time)
        self._alive = max(now, sample.time)
        return True

    def ended(self, time: float) -> bool:
        """Check whether no pose has come for too long at ``time`` [s]."""
        return time - self._alive > self._timeout

    def target(self, time: float) -> PoseTarget | None:
        """Target one period before ``time`` [s]; None where the reference has to stop."""
        samples, times = self._samples, self._times
        if not samples:
            return None
        behind = time - self.period
        if behind > times[-1]:
            return self._beyond(behind - times[-1])
        k = bisect_left(times, behind)
        if k == 0:
            return PoseTarget.rest(samples[0].position, samples[0].rotation)
        a, b = samples[k - 1], samples[k]
        if a.twist is not None and b.twist is not None:
            return _between(a, b, a.twist, b.twist, behind)
        if len(samples) < 4:
            return _between(a, b, self._slope_at(k - 1), self._slope_at(k), behind)
        first = min(max(k - 2, 0), len(samples) - 4)
        return _through(samples[first : first + 4], samples[k - 1], b.time - a.time, behind)

    def _slope_at(self, k: int) -> Array:
        """Twist of a sample as given, or the mean of the slopes to its neighbours."""
        given = self._samples[k].twist
        if given is not None:
            return given
        near = self._samples[max(k - 1, 0) : k + 2]
        return np.asarray(np.mean([_slope(near[i], near[i + 1]) for i in range(len(near) - 1)], axis=0))

    def _beyond(self, late: float) -> PoseTarget | None:
        """The last pose, gone on with for ``late`` seconds.

        How it moves is taken from poses at least as far apart: noise grows little then.
        """
        last = self._samples[-1]
        if len(self._samples) == 1 and last.twist is None:
            return PoseTarget.rest(last.position, last.rotation)
        if late > LONGEST_PERIOD:
            return None
        span = max(late, self.period, LEAST_SPAN) * (1.0 - 1e-6)
        nodes = [last]
        while len(nodes) < 4 and nodes[-1] is not self._samples[0]:
            nodes.append(self._before(nodes[-1].time - span))
        twist, acceleration, jerk = _ends(nodes)
        moved = late * (twist + late * (0.5 * acceleration + late / 6.0 * jerk))
        return PoseTarget(
            last.position + moved[:3],
            rotated(last.rotation, moved[3:]),
            twist + late * (acceleration + 0.5 * late * jerk),
            acceleration + late * jerk,
        )

    def _before(self, time: float) -> PoseSample:
        """The newest sample that is not after ``time`` [s]; the first where there is none."""
        return self._samples[max(bisect_right(self._times, time) - 1, 0)]

    def _forget(self, count: int) -> None:
        del self._samples[:count], self._times[:count]


def _through(samples: Sequence[PoseSample], middle: PoseSample, span: float, time: float) -> PoseTarget:
    """The cubic through four samples, in spans from one of them."""
    nodes = (np.array([sample.time for sample in samples]) - middle.time) / span
    places = np.array(
        [
            np.concatenate(
                [sample.position - middle.position, rotation_vector(sample.rotation @ middle.rotation.T)]
            )
            for sample in samples
        ]
    )
    c = np.linalg.solve(nodes[:, None] ** np.arange(4), places)
    s = (time - middle.time) / span
    moved = c[0] + s * (c[1] + s * (c[2] + s * c[3]))
    twist = (c[1] + s * (2.0 * c[2] + 3.0 * s * c[3])) / span
    acceleration = (2.0 * c[2] + 6.0 * s * c[3]) / span**2
    return PoseTarget(middle.position + moved[:3], rotated(middle.rotation, moved[3:]), twist, acceleration)


def _ends(nodes: Sequence[PoseSample]) -> tuple[Array, Array, Array]:
    """Twist, acceleration and jerk at the first of up to four samples, of which each is older than the next.

    By Newton's divided differences: of the twists where these are given, else of the poses.
    """
    t, zero = [node.time for node in nodes], np.zeros(6)
    given = [node.twist for node in nodes[:3] if node.twist is not None]
    if len(given) == len(nodes[:3]):
        slopes = [(given[i] - given[i + 1]) / (t[i] - t[i + 1]) for i in range(len(given) - 1)]
        if not slopes:
            return given[0], zero, zero
        bend = (slopes[0] - slopes[1]) / (t[0] - t[2]) if len(slopes) == 2 else zero
        return given[0], slopes[0] + (t[0] - t[1]) * bend, 2.0 * bend
    slopes = [_slope(older, newer) for newer, older in itertools.pairwise(nodes)]
    bends = [(slopes[i] - slopes[i + 1]) / (t[i] - t[i + 2]) for i in range(len(slopes) - 1)]
    if not bends:
        return slopes[0], zero, zero
    third = (bends[0] - bends[1]) / (t[0] - t[3]) if len(bends) == 2 else zero
    near, far = t[0] - t[1], t[0] - t[2]
    twist = slopes[0] + near * (bends[0] + far * third)
    return twist, 2.0 * (bends[0] + (near + far) * third), 6.0 * third


def _slope(a: PoseSample, b: PoseSample) -> Array:
    turn = rotation_vector(b.rotation @ a.rotation.T)
    return np.concatenate([b.position - a.position, turn]) / (b.time - a.time)


def _between(a: PoseSample, b: PoseSample, start: Array, end: Array, time: float) -> PoseTarget:
    """The cubic from one sample to the next."""
    span = b.time - a.time
    way = _slope(a, b) * span
    s = (time - a.time) / span
    c2, c3 = 3.0 * way - span * (2.0 * start + end), span * (start + end) - 2.0 * way
    moved = s * (span * start + s * (c2 + s * c3))
    twist = start + s * (2.0 * c2 + 3.0 * s * c3) / span
    acceleration = (2.0 * c2 + 6.0 * s * c3) / span**2
    return PoseTarget(a.position + moved[:3], rotated(a.rotation, moved[3:]), twist, acceleration)
