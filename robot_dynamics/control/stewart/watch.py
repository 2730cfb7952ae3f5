"""Whether a measured state is within what the machine may do, or too far beyond."""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.tracking import PoseTracker

KINDS = (
    ("length", "m"),
    ("length", "m"),
    ("speed", "m/s"),
    ("angle at the base", "rad"),
    ("angle at the platform", "rad"),
)
"""What of a leg may be beyond its limit: too long, too short, too fast, and the joints' angles."""
CONDITION = len(KINDS)
"""The kind that is the whole platform's: its condition number."""


def words(kind: int, leg: str, value: float, limit: float) -> str:
    """That a measured value is beyond its limit."""
    if kind == CONDITION:
        return f"measured condition number {value:.4g}, beyond {limit:g}"
    what, unit = KINDS[kind]
    return f"{leg}: measured {what} {value:.5g} {unit}, beyond {limit:.5g} {unit}"


class StateWatch:
    """Strokes, leg speeds, joint angles and the condition number of measured states.

    Args:
        machine: the platform.
        margin: how far beyond a limit is still no reason to act, as a share of stroke, speed and angle; of
            the condition number, which no measurement makes much of, nothing.

    Attributes:
        shortest: (6,) with the margin, as all that follow [m].
        longest: (6,) [m].
        speed: (6,) [m/s].
        base_cosine: (6,) of the greatest angles at the base.
        platform_cosine: (6,) of the greatest angles at the platform.
        home: (6, 3) directions of the legs at home, base frame.
        local: (6, 3) the same, platform frame.
    """

    def __init__(self, machine: Machine, margin: float) -> None:
        limits = [leg.limits for leg in machine.legs]
        self._names = machine.leg_names
        self._condition = machine.condition_limit
        self.home, self.local = machine.home_directions, machine.home_directions @ machine.home_rotation
        shortest = np.array([one.shortest for one in limits])
        longest = np.array([one.longest for one in limits])
        slack = np.where(np.isfinite(longest), margin * (longest - shortest), 0.0)
        self.shortest, self.longest = shortest - slack, longest + slack
        self.speed = (1.0 + margin) * np.array([one.speed for one in limits])
        self.base_cosine = self._cosine([one.base_angle for one in limits], margin)
        self.platform_cosine = self._cosine([one.platform_angle for one in limits], margin)
        self._lengths_and_speeds = np.empty(18)
        self._most = np.concatenate([self.longest, -self.shortest, self.speed])
        # One product gives the cosines of all legs with all directions; those of one leg are its diagonals.
        self._towards = np.hstack([self.home.T, np.empty((3, 6))])
        self._cosines = np.empty((6, 12))
        self._least = np.full((6, 12), -np.inf)
        np.fill_diagonal(self._least[:, :6], self.base_cosine)
        np.fill_diagonal(self._least[:, 6:], self.platform_cosine)

    @staticmethod
    def _cosine(angles: list[float], margin: float) -> Array:
        return np.asarray(np.cos(np.minimum((1.0 + margin) * np.array(angles), np.pi)))

    def judge(self, pose: PoseTracker, lengths: Array) -> str:
        """Why a state is not as it should be, the first reason; empty when it is."""
        seen, directions = self._lengths_and_speeds, pose.jacobian[:, :3]
        seen[:6] = lengths
        np.negative(lengths, out=seen[6:12])
        np.abs(pose.rates, out=seen[12:])
        np.matmul(pose.rotation, self.local.T, out=self._towards[:, 6:])
        np.matmul(directions, self._towards, out=self._cosines)
        if (
            (seen <= self._most).all()
            and (self._cosines >= self._least).all()
            and pose.conditioned(self._condition)
        ):
            return ""
        return self._reason(pose, lengths)

    def _reason(self, pose: PoseTracker, lengths: Array) -> str:
        for kind, value, limit in (
            (0, lengths, self.longest),
            (1, -lengths, -self.shortest),
            (2, np.abs(pose.rates), self.speed),
        ):
            if (value > limit).any():
                leg = int(np.argmax(value - limit))
                return words(kind, self._names[leg], abs(float(value[leg])), abs(float(limit[leg])))
        for kind, cosine, limit in (
            (3, np.diagonal(self._cosines[:, :6]), self.base_cosine),
            (4, np.diagonal(self._cosines[:, 6:]), self.platform_cosine),
        ):
            if (cosine < limit).any():
                leg = int(np.argmin(cosine - limit))
                value_, most = float(np.arccos(cosine[leg])), float(np.arccos(limit[leg]))
                return words(kind, self._names[leg], value_, most)
        return words(CONDITION, "", pose.condition_number, self._condition)
