"""Passes FollowJointTrajectory goals on to the controller that follows them, and everything back."""

from __future__ import annotations

from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode

from robot_dynamics.control.arm.feedforward import Plan
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.ros.actions.deferred_server import DeferredActionServer, FollowJointTrajectory
from robot_dynamics.ros.feedforward.feeder import Feeder

WATCH_PERIOD = 0.5
"""Steady seconds between two looks at whether the controller is still there."""


class _Goal:
    """One goal on its way."""

    def __init__(self, upstream: Any) -> None:
        self.upstream = upstream
        self.downstream: Any = None
        self.cancel = False


class GoalRelay:
    """Serves the action; each goal gets its efforts and goes on to the controller's own action.

    Feedback, result and cancel are the controller's. What the node itself refuses is aborted with the
    standard error code and the reason.

    Args:
        node: serves the action.
        feeder: plans the trajectories.
        controller: name of the controller.
    """

    def __init__(self, node: LifecycleNode, feeder: Feeder, controller: str) -> None:
        self._name = node.get_name()
        self._feeder = feeder
        self._controller = controller
        self._goals: list[_Goal] = []
        self._server = DeferredActionServer(node, self._on_goal, self._on_cancel, feeder.refusal)
        self._client = ActionClient(node, FollowJointTrajectory, f"{controller}/follow_joint_trajectory")
        node.create_timer(WATCH_PERIOD, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_goal(self, handle: Any) -> None:
        given = handle.request
        feedforward = self._feeder.feedforward
        names = () if feedforward is None else feedforward.chain.joint_names
        known = sorted(given.trajectory.joint_names) == sorted(names)
        result = FollowJointTrajectory.Result
        code = result.INVALID_GOAL if known else result.INVALID_JOINTS
        try:
            if given.multi_dof_trajectory.points:
                raise TrajectoryError("the goal has a multi_dof_trajectory; this arm has single joints only")
            if not self._client.server_is_ready():
                raise TrajectoryError(f"{self._controller} does not serve its action follow_joint_trajectory")
            plan, filled = self._feeder.plan(given.trajectory)
        except RobotDynamicsError as error:
            self._feeder.refuse(f"goal refused: {error}")
            self._server.finish(handle, GoalStatus.STATUS_ABORTED, code, str(error))
            return
        goal = _Goal(handle)
        self._goals.append(goal)
        given.trajectory = filled
        sent = self._client.send_goal_async(given, lambda message: self._on_feedback(goal, message))
        sent.add_done_callback(lambda future: self._on_answer(goal, plan, future.result()))

    def _on_answer(self, goal: _Goal, plan: Plan, downstream: Any) -> None:
        if goal not in self._goals:
            return
        if not downstream.accepted:
            self._abort(goal, f"{self._controller} has rejected the goal")
            return
        goal.downstream = downstream
        self._feeder.begin(plan)
        downstream.get_result_async().add_done_callback(
            lambda future: self._on_result(goal, plan, future.result())
        )
        if goal.cancel:
            downstream.cancel_goal_async()

    def _on_feedback(self, goal: _Goal, message: Any) -> None:
        if goal in self._goals and goal.upstream.is_active:
            goal.upstream.publish_feedback(message.feedback)

    def _on_result(self, goal: _Goal, plan: Plan, answer: Any) -> None:
        if goal not in self._goals:
            return
        self._goals.remove(goal)
        # A goal that is on its way takes over by itself.
        if answer.status != GoalStatus.STATUS_SUCCEEDED and not self._goals:
            self._feeder.ended(plan)
        self._server.finish_with(goal.upstream, answer.status, answer.result)

    def _on_cancel(self, handle: Any) -> None:
        for goal in self._goals:
            if goal.upstream == handle:
                goal.cancel = True
                if goal.downstream is not None:
                    goal.downstream.cancel_goal_async()

    def cancel_all(self) -> None:
        """Ask the controller to end every goal."""
        for goal in self._goals:
            if not goal.cancel:
                goal.cancel = True
                if goal.downstream is not None:
                    goal.downstream.cancel_goal_async()

    def stop(self) -> None:
        """The process ends: nobody will hear of the goals any more."""
        for goal in list(self._goals):
            self._abort(goal, f"{self._name} ends")

    def _watch(self) -> None:
        """End the goals of a controller that has gone."""
        if self._goals and not self._client.server_is_ready():
            self._feeder.drop()
            for goal in list(self._goals):
                self._abort(goal, f"{self._controller} has gone")

    def _abort(self, goal: _Goal, reason: str) -> None:
        self._goals.remove(goal)
        self._feeder.refuse(f"goal aborted: {reason}")
        code = FollowJointTrajectory.Result.INVALID_GOAL
        self._server.finish(goal.upstream, GoalStatus.STATUS_ABORTED, code, reason)
