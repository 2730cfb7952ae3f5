"""Poses that come one by one, as a target that moves smoothly, a period behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.stewart.envelope import rotated
from robot_dynamics.control.stewart.governor import Target
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_vector

LONGEST_PERIOD = 0.05
"""A longer time between two poses is a gap [s]."""


class Sample(NamedTuple):
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


class PoseStream:
    """Interpolates the last poses of a stream by cubics, one period behind: there is a next one then.

    Args:
        timeout: the stream has ended when its last pose is older [s].
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._samples: deque[Sample] = deque(maxlen=4)
        self.period = 0.0

    def add(self, sample: Sample) -> bool:
        """Take a pose; whether it was used: one that does not come after the last is not."""
        if self._samples:
            elapsed = sample.time - self._samples[-1].time
            if elapsed <= 1e-5:
                return False
            if elapsed > LONGEST_PERIOD:
                self._samples.clear()
            else:
                self.period += (elapsed - self.period) * (0.1 if self.period else 1.0)
        self._samples.append(sample)
        return True

    def ended(self, time: float) -> bool:
        """Whether the last pose is too old at ``time`` [s]."""
        return not self._samples or time - self._samples[-1].time > self._timeout

    def target(self, time: float) -> Target | None:
        """Where the stream was one period before ``time`` [s]; its last pose where that comes late."""
        samples = self._samples
        if not samples:
            return None
        behind = time - self.period
        if len(samples) == 1 or behind >= samples[-1].time + self.period:
            return Target.rest(samples[-1].position, samples[-1].rotation)
        if len(samples) == 4 and all(sample.twist is None for sample in samples):
            return _through(samples, behind)
        k = len(samples) - 1
        while k > 1 and behind < samples[k - 1].time:
            k -= 1
        return _between(samples[k - 1], samples[k], self._twist(k - 1), self._twist(k), behind)

    def _twist(self, k: int) -> Array:
        """That of a sample, or the mean of the slopes to its neighbours."""
        given = self._samples[k].twist
        if given is not None:
            return given
        slopes = [_slope(self._samples[i], self._samples[i + 1]) for i in (k - 1, k) if self._has(i)]
        return np.asarray(np.mean(slopes, axis=0))

    def _has(self, i: int) -> bool:
        return 0 <= i < len(self._samples) - 1


def _through(samples: Sequence[Sample], time: float) -> Target:
    """The cubic through four samples; past the last, straight on."""
    middle, span = samples[2], samples[3].time - samples[2].time
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
    s = min((time - middle.time) / span, 1.0)
    twist = (c[1] + s * (2.0 * c[2] + 3.0 * s * c[3])) / span
    past = max(time - samples[3].time, 0.0)
    moved = c[0] + s * (c[1] + s * (c[2] + s * c[3])) + past * twist
    acceleration = (2.0 * c[2] + 6.0 * s * c[3]) / span**2 if past == 0.0 else np.zeros(6)
    rotation = rotated(middle.rotation, moved[3:])
    return Target(middle.position + moved[:3], rotation, twist, acceleration)


def _slope(a: Sample, b: Sample) -> Array:
    turn = rotation_vector(b.rotation @ a.rotation.T)
    return np.concatenate([b.position - a.position, turn]) / (b.time - a.time)


def _between(a: Sample, b: Sample, start: Array, end: Array, time: float) -> Target:
    """The cubic from one sample to the next; past it, straight on."""
    span = b.time - a.time
    way = _slope(a, b) * span
    s = (time - a.time) / span
    if s > 1.0:
        moved, twist, acceleration = way + end * (time - b.time), end, np.zeros(6)
    else:
        c2, c3 = 3.0 * way - span * (2.0 * start + end), span * (start + end) - 2.0 * way
        moved = s * (span * start + s * (c2 + s * c3))
        twist = start + s * (2.0 * c2 + 3.0 * s * c3) / span
        acceleration = (2.0 * c2 + 6.0 * s * c3) / span**2
    rotation = rotated(a.rotation, moved[3:])
    return Target(a.position + moved[:3], rotation, twist, acceleration)
