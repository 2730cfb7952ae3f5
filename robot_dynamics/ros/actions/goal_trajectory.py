"""Trajectories of goals of ``FollowJointTrajectory``.

rclpy makes Python objects of a goal before anyone can measure it. Meanwhile the interpreter does nothing
else: a goal of 10⁵ points holds the thread of the node for a second or so, while the loop in its own goes on.
Tables, checks and the plan of a long goal are the work of the thread of the planner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.waypoints import WaypointTable, check_count, tabulate
from robot_dynamics.ros.support.messages import set_stamp, stamp_to_nanoseconds
from robot_dynamics.ros.support.trajectories import waypoints


def stretch_tolerances(goal: Any, stretch: float) -> None:
    """Scale the tolerances of a goal whose motion takes ``stretch`` times as long as it asked for.

    Velocities and accelerations on the way, and the time after its end; -1 (none) and 0 (as configured) stay.
    """
    for tolerance in goal.path_tolerance:
        tolerance.velocity /= stretch if tolerance.velocity > 0.0 else 1.0
        tolerance.acceleration /= stretch**2 if tolerance.acceleration > 0.0 else 1.0
    time = goal.goal_time_tolerance
    set_stamp(time, round(stretch * stamp_to_nanoseconds(time)))


@dataclass(frozen=True)
class GoalTrajectory:
    """The trajectory of a goal.

    Attributes:
        stamp: of its header [ns].
        joint_names: as it names them.
        points: their number.
        duration: time of the last point [s]; 0 without points.
        message: the whole message.
    """

    stamp: int
    joint_names: Sequence[str]
    points: int
    duration: float
    message: JointTrajectory

    @staticmethod
    def of(goal: Any) -> GoalTrajectory:
        """The trajectory of a goal."""
        message = goal.trajectory
        points = len(message.points)
        last = 1e-9 * stamp_to_nanoseconds(message.points[-1].time_from_start) if points else 0.0
        stamp = stamp_to_nanoseconds(message.header.stamp)
        return GoalTrajectory(stamp, list(message.joint_names), points, last, message)

    def measure(self) -> None:
        """TrajectoryError when it has no points, or too many."""
        check_count(self.points)

    def table(self) -> WaypointTable:
        """The points as arrays.

        Raises:
            TrajectoryError: there are too many, or one has too few or too many values.
        """
        self.measure()
        return tabulate(waypoints(self.message), self.joint_names)
