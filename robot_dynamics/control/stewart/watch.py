"""Whether a measured state is within what the machine may do, or too far beyond."""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.tracking import PoseTracker


class StateWatch:
    """Strokes, leg speeds, joint angles and the condition number of measured states.

    Args:
        machine: the platform.
        margin: how far beyond a limit is still no reason to act, as a share of stroke, speed and angle; of
            the condition number, which no measurement makes much of, nothing.
    """

    def __init__(self, machine: Machine, margin: float) -> None:
        limits = [leg.limits for leg in machine.legs]
        self._names = machine.leg_names
        self._condition = machine.condition_limit
        self._home, self._local = machine.home_directions, machine.home_directions @ machine.home_rotation
        shortest = np.array([one.shortest for one in limits])
        longest = np.array([one.longest for one in limits])
        slack = np.where(np.isfinite(longest), margin * (longest - shortest), 0.0)
        self._shortest, self._longest = shortest - slack, longest + slack
        self._speed = (1.0 + margin) * np.array([one.speed for one in limits])
        self._base = self._cosine([one.base_angle for one in limits], margin)
        self._platform = self._cosine([one.platform_angle for one in limits], margin)
        self._lengths_and_speeds = np.empty(18)
        self._most = np.concatenate([self._longest, -self._shortest, self._speed])
        # One product gives the cosines of all legs with all directions; those of one leg are its diagonals.
        self._towards = np.hstack([self._home.T, np.empty((3, 6))])
        self._cosines = np.empty((6, 12))
        self._least = np.full((6, 12), -np.inf)
        np.fill_diagonal(self._least[:, :6], self._base)
        np.fill_diagonal(self._least[:, 6:], self._platform)

    @staticmethod
    def _cosine(angles: list[float], margin: float) -> Array:
        return np.asarray(np.cos(np.minimum((1.0 + margin) * np.array(angles), np.pi)))

    def judge(self, pose: PoseTracker, lengths: Array) -> str:
        """Why a state is not as it should be, the first reason; empty when it is."""
        seen, directions = self._lengths_and_speeds, pose.jacobian[:, :3]
        seen[:6] = lengths
        np.negative(lengths, out=seen[6:12])
        np.abs(pose.rates, out=seen[12:])
        np.matmul(pose.rotation, self._local.T, out=self._towards[:, 6:])
        np.matmul(directions, self._towards, out=self._cosines)
        if (
            (seen <= self._most).all()
            and (self._cosines >= self._least).all()
            and pose.conditioned(self._condition)
        ):
            return ""
        return self._reason(pose, lengths)

    def _reason(self, pose: PoseTracker, lengths: Array) -> str:
        for words, unit, value, limit in (
            ("length", "m", lengths, self._longest),
            ("length", "m", -lengths, -self._shortest),
            ("speed", "m/s", np.abs(pose.rates), self._speed),
        ):
            if (value > limit).any():
                leg = int(np.argmax(value - limit))
                return self._words(leg, words, abs(float(value[leg])), abs(float(limit[leg])), unit)
        for words, cosine, limit in (
            ("angle at the base", np.diagonal(self._cosines[:, :6]), self._base),
            ("angle at the platform", np.diagonal(self._cosines[:, 6:]), self._platform),
        ):
            if (cosine < limit).any():
                leg = int(np.argmin(cosine - limit))
                value_, most = float(np.arccos(cosine[leg])), float(np.arccos(limit[leg]))
                return self._words(leg, words, value_, most, "rad")
        return f"measured condition number {pose.condition_number:.4g}, beyond {self._condition:g}"

    def _words(self, leg: int, what: str, value: float, limit: float, unit: str) -> str:
        return f"{self._names[leg]}: measured {what} {value:.5g} {unit}, beyond {limit:.5g} {unit}"
