"""Streams of poses; see ``control/smoothing.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.smoothing import DELAY, StreamFilter
from robot_dynamics.control.stewart.envelope import rotated
from robot_dynamics.control.stewart.reference_governor import PoseTarget
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_vector


class PoseSample(NamedTuple):
    """A pose of a stream.

    Attributes:
        time: its stamp [s]; None where the sender gives none.
        position: (3,) [m].
        rotation: (3, 3).
        twist: (6,) base frame; None where the sender gives none.
        arrival: time of its arrival [s]; None: that of the last state of the legs.
    """

    time: float | None
    position: Array
    rotation: Array
    twist: Array | None
    arrival: float | None = None


class PoseFilter(StreamFilter[PoseSample]):
    """Smooth motion through the poses of a stream, ``DELAY`` periods behind them."""

    def ways(self, middle: PoseSample, samples: Sequence[PoseSample]) -> Array:
        """(K, 6) translations and rotation vectors, base frame."""
        return np.array([_way(middle, one) for one in samples])

    def rates(self, samples: Sequence[PoseSample]) -> Array | None:
        """(K, 6) twists."""
        twists = [one.twist for one in samples if one.twist is not None]
        return np.array(twists) if len(twists) == len(samples) else None

    def target(self, time: float) -> PoseTarget | None:
        """Target ``DELAY`` periods before ``time`` [s]; None where the reference has to stop."""
        found = self.smoothed(time - DELAY * self.period)
        if found is None:
            return None
        position = found.middle.position + found.way[:3]
        rotation = rotated(found.middle.rotation, found.way[3:])
        return PoseTarget(position, rotation, found.rate, found.second, found.third)


def _way(a: PoseSample, b: PoseSample) -> Array:
    """(6,) from one pose to another: translation and rotation vector, base frame."""
    return np.concatenate([b.position - a.position, rotation_vector(b.rotation @ a.rotation.T)])
