"""A motion as a goal of ``FollowJointTrajectory``, where a server answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.actions.deferred_server import AVAILABLE, FollowJointTrajectory

try:
    from control_msgs.msg import JointTolerance
except ImportError:
    JointTolerance = None

_LATE = Duration(sec=1)
"""Time after the motion in which the arm may come to rest."""

Spin = Callable[[Callable[[], bool]], bool]
"""Spins the node until a condition holds or patience ends; whether it holds."""


class GoalClient:
    """One goal at a time for the controller that takes trajectories on ``topic``.

    Args:
        node: of the client.
        topic: of the controller's trajectories; its action stands beside it.
    """

    def __init__(self, node: Node, topic: str) -> None:
        folder, slash, _ = topic.rpartition("/")
        self.name = f"{folder}{slash}follow_joint_trajectory"
        self._client = ActionClient(node, FollowJointTrajectory, self.name) if AVAILABLE else None
        self._sent: Any = None

    @property
    def possible(self) -> bool:
        """Return whether ``control_msgs`` is installed."""
        return self._client is not None

    @property
    def ready(self) -> bool:
        """Return whether a server answers."""
        return self._client is not None and bool(self._client.server_is_ready())

    def send(self, trajectory: JointTrajectory, spin: Spin) -> Any:
        """Send a motion; the future of how it ends.

        Raises:
            RobotDynamicsError: it is rejected, or not answered.
        """
        assert self._client is not None
        goal = FollowJointTrajectory.Goal(trajectory=trajectory, goal_time_tolerance=_LATE)
        # Arms are moved to be measured: with masses that nobody knows yet they arrive elsewhere.
        goal.goal_tolerance = [JointTolerance(name=name, position=-1.0) for name in trajectory.joint_names]
        self._sent = self._client.send_goal_async(goal)
        if not spin(self._sent.done):
            raise RobotDynamicsError(f"{self.name} does not answer")
        handle = self._sent.result()
        if not handle.accepted:
            raise RobotDynamicsError(f"{self.name} rejects the motion; the controller's log says why")
        return handle.get_result_async()

    def check(self, ended: Any) -> None:
        """Return whether the goal was reached.

        Raises:
            RobotDynamicsError: it was not; in the controller's words.
        """
        result = ended.result().result
        if result.error_code != FollowJointTrajectory.Result.SUCCESSFUL:
            words = getattr(result, "error_string", "") or f"error {result.error_code}"
            raise RobotDynamicsError(f"{self.name} ended the motion: {words}")

    def cancel(self, spin: Spin) -> bool:
        """Take the goal back; whether the controller confirms that it follows it no more."""
        if self._sent is None or not spin(self._sent.done):
            return False
        handle = self._sent.result()
        if not handle.accepted:
            return True
        answer = handle.cancel_goal_async()
        if not spin(answer.done):
            return False
        response = answer.result()
        return response.return_code in (response.ERROR_NONE, response.ERROR_GOAL_TERMINATED)

    def close(self) -> None:
        """Give the client back."""
        if self._client is not None:
            self._client.destroy()
