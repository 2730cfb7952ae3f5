"""Trajectory messages as waypoints."""

from __future__ import annotations

from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.trajectory import Waypoint


def waypoints(message: JointTrajectory) -> list[Waypoint]:
    """The points of a JointTrajectory; their contents are checked where they are planned."""
    return [
        Waypoint(
            time=point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec,
            positions=point.positions,
            velocities=point.velocities,
            accelerations=point.accelerations,
        )
        for point in message.points
    ]
