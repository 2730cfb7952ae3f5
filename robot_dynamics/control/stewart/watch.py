"""Whether a measured state is within what the machine may do, or too far beyond."""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.tracking import PoseTracker


class StateWatch:
    """Strokes, leg speeds and joint angles of measured states.

    Args:
        machine: the platform.
        margin: how far beyond a limit is still no reason to act, as a share of stroke, speed and angle.
    """

    def __init__(self, machine: Machine, margin: float) -> None:
        limits = [leg.limits for leg in machine.legs]
        self._names = machine.leg_names
        self._home, self._local = machine.home_directions, machine.home_directions @ machine.home_rotation
        shortest = np.array([one.shortest for one in limits])
        longest = np.array([one.longest for one in limits])
        slack = np.where(np.isfinite(longest), margin * (longest - shortest), 0.0)
        self._shortest, self._longest = shortest - slack, longest + slack
        self._speed = (1.0 + margin) * np.array([one.speed for one in limits])
        self._base = self._cosine([one.base_angle for one in limits], margin)
        self._platform = self._cosine([one.platform_angle for one in limits], margin)

    @staticmethod
    def _cosine(angles: list[float], margin: float) -> Array:
        return np.asarray(np.cos(np.minimum((1.0 + margin) * np.array(angles), np.pi)))

    def judge(self, pose: PoseTracker, lengths: Array) -> str:
        """Why a state is not as it should be, the first reason; empty when it is."""
        speeds = np.abs(pose.rates)
        for words, unit, value, limit in (
            ("length", "m", lengths, self._longest),
            ("length", "m", -lengths, -self._shortest),
            ("speed", "m/s", speeds, self._speed),
        ):
            if (value > limit).any():
                leg = int(np.argmax(value - limit))
                return self._words(leg, words, abs(float(value[leg])), abs(float(limit[leg])), unit)
        vectors = pose.jacobian[:, :3]
        local = vectors @ pose.rotation
        for words, cosine, limit in (
            ("angle at the base", (vectors * self._home).sum(axis=1), self._base),
            ("angle at the platform", (local * self._local).sum(axis=1), self._platform),
        ):
            if (cosine < limit).any():
                leg = int(np.argmin(cosine - limit))
                value_, most = float(np.arccos(cosine[leg])), float(np.arccos(limit[leg]))
                return self._words(leg, words, value_, most, "rad")
        return ""

    def _words(self, leg: int, what: str, value: float, limit: float, unit: str) -> str:
        return f"{self._names[leg]}: measured {what} {value:.5g} {unit}, beyond {limit:.5g} {unit}"
