"""Trajectory messages as waypoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Twist, Vector3
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory

from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.control.waypoints import Waypoint, WaypointTable
from robot_dynamics.errors import TrajectoryError

if TYPE_CHECKING:
    from robot_dynamics.identification.excitation.points import Points


def points_message(points: Points) -> JointTrajectory:
    """A motion that begins where the arm is, as a message that begins when it arrives."""
    message = JointTrajectory(joint_names=list(points.joint_names))
    for k, when in enumerate(points.time[1:], start=1):
        nanoseconds = round(1e9 * float(when))
        message.points.append(
            JointTrajectoryPoint(
                positions=points.positions[k].tolist(),
                velocities=points.velocities[k].tolist(),
                accelerations=points.accelerations[k].tolist(),
                time_from_start=Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9),
            )
        )
    return message


def table_message(table: WaypointTable, joint_names: Sequence[str]) -> JointTrajectory:
    """Waypoints of joints as a message, the first at its time, too."""
    message = JointTrajectory(joint_names=list(joint_names))
    rows = zip(table.times, table.positions, table.velocities, table.accelerations, strict=True)
    for time, *values in rows:
        nanoseconds = round(1e9 * float(time))
        positions, velocities, accelerations = (row.tolist() for row in values)
        message.points.append(
            JointTrajectoryPoint(
                positions=positions,
                velocities=velocities,
                accelerations=accelerations,
                time_from_start=Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9),
            )
        )
    return message


def waypoints(message: JointTrajectory) -> list[Waypoint]:
    """The points of a JointTrajectory; their contents are checked where they are planned."""
    return [
        Waypoint(
            time=_seconds(point.time_from_start),
            positions=point.positions,
            velocities=point.velocities,
            accelerations=point.accelerations,
        )
        for point in message.points
    ]


def pose_waypoints(message: MultiDOFJointTrajectory) -> list[PoseWaypoint]:
    """The points of a MultiDOFJointTrajectory of one body.

    Raises:
        TrajectoryError: a point has not one transform, or more than one twist or acceleration.
    """
    check_one_body(len(message.joint_names))
    points = []
    for k, point in enumerate(message.points):
        check_pose_counts(k, len(point.transforms), len(point.velocities), len(point.accelerations))
        transform = point.transforms[0]
        turn = transform.rotation
        linear, angular = _twist(point.velocities)
        linear_rate, angular_rate = _twist(point.accelerations)
        points.append(
            PoseWaypoint(
                _seconds(point.time_from_start),
                _vector(transform.translation),
                [turn.x, turn.y, turn.z, turn.w],
                linear,
                angular,
                linear_rate,
                angular_rate,
            )
        )
    return points


def check_one_body(names: int) -> None:
    """TrajectoryError when a trajectory of a platform names several bodies."""
    if names > 1:
        raise TrajectoryError(f"it names {names} bodies; the platform is one")


def check_pose_counts(index: int, transforms: int, velocities: int, accelerations: int) -> None:
    """TrajectoryError unless a waypoint has one transform, and one twist and acceleration at most."""
    if transforms != 1:
        raise TrajectoryError(f"waypoint {index} has {transforms} transforms; it must have one")
    for name, count in (("velocities", velocities), ("accelerations", accelerations)):
        if count > 1:
            raise TrajectoryError(f"waypoint {index} has {count} {name}; one at most")


def _seconds(duration: Duration) -> float:
    return float(duration.sec + 1e-9 * duration.nanosec)


def _vector(vector: Vector3) -> list[float]:
    return [vector.x, vector.y, vector.z]


def _twist(twists: list[Twist]) -> tuple[list[float] | None, list[float] | None]:
    if not twists:
        return None, None
    return _vector(twists[0].linear), _vector(twists[0].angular)
