"""Waypoints where somebody who moves an arm by hand lets it rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.spatial import Array

RESTS = 0.4
"""Time at rest after which a place is a waypoint [s]."""
STILL, APART = 0.005, 0.02
"""Way within which an arm rests, and by which waypoints differ at least [rad or m]."""
SPEED, SHORTEST = 0.5, 0.5
"""Speed of the joint that moves farthest between two waypoints [rad/s or m/s]; shortest time [s]."""


class TaughtPath:
    """Waypoints of an arm from its joint states.

    Attributes:
        joint_names: in the order of the positions.
        times: of the waypoints, slow enough for any arm; ``retime`` finds better ones [s].
        places: (n,) each [rad or m].

    Args:
        joint_names: see the attribute.
    """

    def __init__(self, joint_names: tuple[str, ...]) -> None:
        self.joint_names = joint_names
        self.times: list[float] = []
        self.places: list[Array] = []
        self._still: Array | None = None
        self._since = 0.0

    def observe(self, time: float, position: Array) -> bool:
        """Take a joint state; whether a waypoint was taken.

        Args:
            time: of the state [s].
            position: (n,) [rad or m].
        """
        if self._still is None or time < self._since or np.abs(position - self._still).max() > STILL:
            self._still, self._since = position.copy(), time
            return False
        if time - self._since < RESTS:
            return False
        way = np.inf if not self.places else float(np.abs(position - self.places[-1]).max())
        if way < APART:
            return False
        self.times.append(self.times[-1] + max(SHORTEST, way / SPEED) if self.places else 0.0)
        self.places.append(position.copy())
        return True

    def lines(self) -> list[str]:
        """Lines of a CSV file, as ``retime``, ``check`` and ``play`` read it."""
        head = ",".join(["time", *(f"{name}.position" for name in self.joint_names)])
        rows = (
            ",".join(map(repr, [time, *place.tolist()]))
            for time, place in zip(self.times, self.places, strict=True)
        )
        return [f"{line}\n" for line in (head, *rows)]


def order(names: Sequence[str], wanted: Sequence[str]) -> list[int] | None:
    """Places of the wanted names among names; None where one is missing."""
    found = {name: place for place, name in enumerate(names)}
    return [found[name] for name in wanted] if all(name in found for name in wanted) else None
