"""Samples of a path with the shares of its limits, for display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.spatial import Array
from robot_dynamics.view.samples import StateSample

BEYOND = 1.0 + 1e-9
"""A larger share of a limit exceeds it, beyond rounding."""


@dataclass(frozen=True)
class PathSamples:
    """A path of an arm at some of its times.

    Attributes:
        joints: names (n,).
        quantities: with limits, by name (k,).
        times: (N,) from its start, increasing [s].
        positions: (N, n) [rad or m].
        efforts: (N, n) [N·m or N].
        shares: (k, N, n) of the limits.
    """

    joints: Sequence[str]
    quantities: Sequence[str]
    times: Array
    positions: Array
    efforts: Array
    shares: Array

    @cached_property
    def largest(self) -> Array:
        """(N,) largest share of any limit."""
        return np.asarray(self.shares.max(axis=(0, 2)))

    @cached_property
    def beyond(self) -> NDArray[np.bool_]:
        """(N,) where a limit is exceeded."""
        return np.asarray(self.largest > BEYOND)

    @cached_property
    def stretches(self) -> list[tuple[float, float]]:
        """Times from which and to which limits are exceeded without interruption [s]."""
        edges = np.flatnonzero(np.diff(np.concatenate(([0], self.beyond.astype(int), [0]))))
        return [(float(self.times[a]), float(self.times[b - 1])) for a, b in edges.reshape(-1, 2)]

    def index(self, time: float) -> int:
        """Index of the sample that is nearest to a time [s]."""
        return int(np.abs(self.times - time).argmin())

    def state(self, k: int) -> StateSample:
        """Positions and efforts of sample ``k``, by joint."""
        positions, efforts = (self._by_joint(rows[k]) for rows in (self.positions, self.efforts))
        return StateSample(float(self.times[k]), positions, efforts)

    def exceeded(self, k: int) -> list[str]:
        """Limits that sample ``k`` exceeds, in words, the worst first."""
        shares = self.shares[:, k, :]
        order = np.argsort(-shares, axis=None)
        found = [tuple(map(int, np.unravel_index(one, shares.shape))) for one in order]
        return [
            f"{self.joints[j]}: {self.quantities[kind]} {100.0 * shares[kind, j]:.0f} % of its limit"
            for kind, j in found
            if shares[kind, j] > BEYOND
        ]

    def _by_joint(self, values: Array) -> Mapping[str, float]:
        return dict(zip(self.joints, values.tolist(), strict=True))
