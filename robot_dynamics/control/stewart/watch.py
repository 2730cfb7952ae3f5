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
        self._most = np.concatenate(
            [self._longest, -self._shortest, self._speed, -self._base, -self._platform]
        )
        self._seen = np.empty(len(self._most))

    @staticmethod
    def _cosine(angles: list[float], margin: float) -> Array:
        return np.asarray(np.cos(np.minimum((1.0 + margin) * np.array(angles), np.pi)))

    def judge(self, pose: PoseTracker, lengths: Array) -> str:
        """Why a state is not as it should be, the first reason; empty when it is."""
        vectors = pose.jacobian[:, :3]
        speeds = np.abs(pose.rates)
        base = np.einsum("ij,ij->i", vectors, self._home)
        platform = np.einsum("ij,ij->i", vectors @ pose.rotation, self._local)
        seen = self._seen
        seen[:6], seen[12:18] = lengths, speeds
        np.negative(lengths, out=seen[6:12])
        np.negative(base, out=seen[18:24])
        np.negative(platform, out=seen[24:])
        if (seen <= self._most).all():
            return ""
        for words, unit, value, limit in (
            ("length", "m", lengths, self._longest),
            ("length", "m", -lengths, -self._shortest),
            ("speed", "m/s", speeds, self._speed),
        ):
            if (value > limit).any():
                leg = int(np.argmax(value - limit))
                return self._words(leg, words, abs(float(value[leg])), abs(float(limit[leg])), unit)
        for words, cosine, limit in (
            ("angle at the base", base, self._base),
            ("angle at the platform", platform, self._platform),
        ):
            if (cosine < limit).any():
                leg = int(np.argmin(cosine - limit))
                value_, most = float(np.arccos(cosine[leg])), float(np.arccos(limit[leg]))
                return self._words(leg, words, value_, most, "rad")
        return ""

    def _words(self, leg: int, what: str, value: float, limit: float, unit: str) -> str:
        return f"{self._names[leg]}: measured {what} {value:.5g} {unit}, beyond {limit:.5g} {unit}"
