"""Moves requested by a person: goal, duration, and the check against joint speeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.view.robot_geometry import RobotGeometry

PEAK_TO_MEAN = 15.0 / 8.0
"""Greatest over mean speed of a quintic from rest to rest."""


@dataclass(frozen=True)
class MoveGoal:
    """Goal of a move.

    Attributes:
        positions: of the joints, by name [rad or m].
        duration: of the move [s].
    """

    positions: Mapping[str, float]
    duration: float


def shortest_duration(
    geometry: RobotGeometry, start: Mapping[str, float], goal: MoveGoal
) -> tuple[float, str]:
    """Least time [s] of a quintic from rest to rest within the joints' speeds, and the slowest joint."""
    slowest, name = 0.0, ""
    for joint in geometry.independent_joints:
        if joint.name not in goal.positions or joint.name not in start:
            continue
        way = abs(goal.positions[joint.name] - start[joint.name])
        speed = joint.limits.velocity
        if math.isfinite(speed) and PEAK_TO_MEAN * way / speed > slowest:
            slowest, name = PEAK_TO_MEAN * way / speed, joint.name
    return slowest, name


def check_goal(geometry: RobotGeometry, start: Mapping[str, float], goal: MoveGoal) -> None:
    """Refuse a move that the joints cannot make.

    Raises:
        TrajectoryError: the message names the joint and the least duration.
    """
    least, name = shortest_duration(geometry, start, goal)
    if least > goal.duration:
        raise TrajectoryError(
            f"{name} is too slow to get there in {goal.duration:.1f} s: give it at least"
            f" {math.ceil(10.0 * least) / 10.0:.1f} s"
        )
