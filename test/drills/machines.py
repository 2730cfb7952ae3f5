"""Robots of the drills, and their commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from arm_of_two_links import two_links
from geometry_msgs.msg import Transform
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

JOINTS, LIMITS = ["shoulder", "elbow"], [40.0, 8.0]
ARM = two_links(elbow_effort=LIMITS[1])
LEGS, FORCES = [f"leg_{k}" for k in range(1, 7)], [1500.0] * 6
SHORTEST, LONGEST, SPEEDS = 0.5, [0.78] * 6, [0.8] * 6
"""Of the platform's legs [m, m/s]."""
STATE_TIMEOUT, FADE = 0.25, 0.3
RATE = 100.0
MAX_EFFORT_STEP = 1.0
"""Of the controllers, as a share of each limit: their default."""


def trajectory(
    points: Sequence[tuple[float, Sequence[float]]], names: Sequence[str] = JOINTS
) -> JointTrajectory:
    """Positions of joints over time."""
    message = JointTrajectory(joint_names=list(names))
    for seconds, positions in points:
        point = JointTrajectoryPoint(positions=[float(p) for p in positions])
        _set_time(point, seconds)
        message.points.append(point)
    return message


def poses(points: Sequence[tuple[float, Sequence[float]]]) -> MultiDOFJointTrajectory:
    """Places of a platform over time, level."""
    message = MultiDOFJointTrajectory(joint_names=["platform"])
    for seconds, place in points:
        transform = Transform()
        transform.translation.x, transform.translation.y, transform.translation.z = map(float, place)
        point = MultiDOFJointTrajectoryPoint(transforms=[transform])
        _set_time(point, seconds)
        message.points.append(point)
    return message


def _set_time(point: Any, seconds: float) -> None:
    point.time_from_start.sec = math.floor(seconds)
    point.time_from_start.nanosec = math.floor((seconds % 1) * 1e9)
