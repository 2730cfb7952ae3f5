"""Passes FollowJointTrajectory goals on to the controller that follows them, and everything back."""

from __future__ import annotations

import copy
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode

from robot_dynamics.control.arm.feeding import Plan
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.actions.deferred_server import DeferredActionServer, FollowJointTrajectory
from robot_dynamics.ros.actions.goal_trajectory import GoalTrajectory, stretch_tolerances
from robot_dynamics.ros.feedforward.feeder import Feeder
from robot_dynamics.ros.feedforward.messages import FilledTrajectory
from robot_dynamics.ros.support.spin import see_through

WATCH_PERIOD = 0.5
"""Steady seconds between two looks at whether the controller is still there."""
_SUCCEEDED, _ABORTED, _CANCELED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_ABORTED,
    GoalStatus.STATUS_CANCELED,
)


class _Goal:
    """One goal on its way.

    Attributes:
        upstream: handle of the client's goal; None for a trajectory of the topic that goes as a goal.
        downstream: handle of the controller's goal, once it has accepted.
        cancel: whether the controller is, or will be, asked to cancel it.
        reason: why this node ends it; empty while it goes on, or where the client has asked for it.
        ended: whether the controller has ended it.
    """

    def __init__(self, upstream: Any) -> None:
        self.upstream = upstream
        self.downstream: Any = None
        self.cancel = False
        self.reason = ""
        self.ended = False


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
        self._node = node
        self._feeder = feeder
        self._controller = controller
        self._goals: list[_Goal] = []
        self._planned: list[_Goal] = []
        self._ending = False
        self._server = DeferredActionServer(node, self._on_goal, self._on_cancel, self._refuses)
        self._client = ActionClient(node, FollowJointTrajectory, f"{controller}/follow_joint_trajectory")
        node.create_timer(WATCH_PERIOD, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def serve(self) -> None:
        """Offer the action from now on: whoever has waited for it finds a node that can plan."""
        self._server.serve()

    @property
    def busy(self) -> bool:
        """Return whether a goal is under way, or being planned."""
        return bool(self._goals or self._planned)

    @property
    def passing(self) -> bool:
        """Return whether a goal is on its way to the controller, or under way there."""
        return bool(self._goals)

    def take_over(self, plan: Plan, filled: FilledTrajectory) -> None:
        """Send a trajectory of the topic in place of the goals under way: as a goal, which replaces them.

        On the controller's topic it would leave its goal in force, and succeed it at the end of another path.
        """
        self._send(_Goal(None), plan, FollowJointTrajectory.Goal(trajectory=filled.message))

    def cancel_all(self, reason: str) -> None:
        """Ask the controller to end every goal, and plan no other; their clients get ``reason``."""
        for goal in self._planned:
            goal.reason = goal.reason or reason
        for goal in self._goals:
            goal.reason = goal.reason or reason
            self._cancel(goal)

    def drain(self, seconds: float) -> None:
        """The process ends: return when the controller has ended what it was asked to cancel.

        Args:
            seconds: how long to wait for that.
        """
        self._ending = True
        see_through(self._node, lambda: all(goal.ended for goal in self._goals), seconds)
        for goal in [*self._goals, *self._planned]:
            self._abort(goal, goal.reason or f"{self._node.get_name()} ends")

    # Goals of clients

    def _refuses(self, goal: Any) -> str:
        """Reason why a goal is rejected, as the controller itself would do it; empty when it goes on."""
        reason = self._objection(goal)
        if reason:
            self._feeder.refuse(f"goal rejected: {reason}")
        return reason

    def _objection(self, goal: Any) -> str:
        reason, feedforward = self._feeder.refusal(), self._feeder.feedforward
        if reason or feedforward is None:
            return reason
        if not self._client.server_is_ready():
            return f"{self._controller} does not serve its action follow_joint_trajectory"
        if goal.multi_dof_trajectory.points:
            return "the goal has a multi_dof_trajectory; this arm has single joints only"
        trajectory = GoalTrajectory.of(goal)
        if not trajectory.points:
            return "the trajectory has no points; cancel the goal to stop the arm"
        try:
            self._feeder.rules.of(feedforward.chain).order(
                feedforward.chain.joint_names, trajectory.joint_names
            )
            trajectory.measure()
        except RobotDynamicsError as error:
            return str(error)
        return ""

    def _on_goal(self, handle: Any) -> None:
        given, goal = handle.request, _Goal(handle)
        self._planned.append(goal)

        def planned(plan: Plan, filled: FilledTrajectory) -> None:
            self._planned.remove(goal)
            content = FollowJointTrajectory.Goal()
            for name in content.get_fields_and_field_types():
                setattr(content, name, getattr(given, name) if name != "trajectory" else filled.message)
            if plan.trajectory.stretch != 1.0:
                content = copy.deepcopy(content)
                stretch_tolerances(content, plan.trajectory.stretch)
            self._send(goal, plan, content)

        def refused(reason: str) -> None:
            if goal not in self._planned:
                return
            self._planned.remove(goal)
            if goal.cancel and not goal.reason:
                code = FollowJointTrajectory.Result.SUCCESSFUL
                self._server.finish(handle, _CANCELED, code, "canceled")
                return
            reason = goal.reason or reason
            self._feeder.refuse(f"goal refused: {reason}")
            code = FollowJointTrajectory.Result.INVALID_GOAL
            self._server.finish(handle, _ABORTED, code, reason)

        self._feeder.follow(
            lambda: GoalTrajectory.of(given),
            lambda filled: filled.message,
            planned,
            refused,
            lambda: handle.is_active and not goal.cancel and not goal.reason,
        )

    def _on_cancel(self, handle: Any) -> None:
        for goal in (*self._goals, *self._planned):
            if goal.upstream == handle:
                self._cancel(goal)

    # The controller's side

    def _send(self, goal: _Goal, plan: Plan, content: Any) -> None:
        self._goals.append(goal)
        sent = self._feeder.now()
        answer = self._client.send_goal_async(content, lambda message: self._on_feedback(goal, message))
        # What is planned before the answer comes has to depart from here.
        self._feeder.begin(plan)
        answer.add_done_callback(lambda future: self._on_answer(goal, plan, future.result(), sent))

    def _cancel(self, goal: _Goal) -> None:
        if not goal.cancel:
            goal.cancel = True
            if goal.downstream is not None:
                goal.downstream.cancel_goal_async()

    def _on_answer(self, goal: _Goal, plan: Plan, downstream: Any, sent: float) -> None:
        if not downstream.accepted:
            self._feeder.withdraw(plan)
        if goal not in self._goals:
            return
        if not downstream.accepted:
            self._abort(goal, f"{self._controller} has rejected the goal")
            return
        goal.downstream = downstream
        if goal.upstream is None:
            for other in [one for one in self._goals if one is not goal]:
                self._abort(other, "a trajectory on the topic has taken over")
        self._feeder.delivered(plan, sent)
        downstream.get_result_async().add_done_callback(
            lambda future: self._on_result(goal, plan, future.result())
        )
        if goal.cancel:
            downstream.cancel_goal_async()

    def _on_feedback(self, goal: _Goal, message: Any) -> None:
        if goal in self._goals and goal.upstream is not None and goal.upstream.is_active:
            goal.upstream.publish_feedback(message.feedback)

    def _on_result(self, goal: _Goal, plan: Plan, answer: Any) -> None:
        if goal not in self._goals:
            return
        goal.ended = True
        # A goal that is on its way takes over by itself.
        if answer.status != _SUCCEEDED and all(one.ended for one in self._goals):
            self._feeder.ended(plan)
        if self._ending:
            return  # drain tells the clients, when nobody runs callbacks any more
        if goal.reason:
            self._abort(goal, goal.reason)
            return
        self._goals.remove(goal)
        if goal.upstream is not None:
            self._finish(goal.upstream, answer)
        elif answer.status != _SUCCEEDED:
            self._feeder.refuse(f"trajectory ended by {self._controller}: {_text(answer.result)}")

    def _finish(self, handle: Any, answer: Any) -> None:
        """The client gets the controller's result, except that no end without success is told without why."""
        given, wanted = answer.result, handle.is_cancel_requested and answer.status == _CANCELED
        if answer.status == _SUCCEEDED or wanted or given.error_code:
            self._server.finish_with(handle, answer.status, given)
            return
        did = "canceled" if answer.status == _CANCELED else "aborted"
        text = _text(given) or f"{self._controller} has {did} the goal"
        self._server.finish(handle, _ABORTED, FollowJointTrajectory.Result.INVALID_GOAL, text)

    def _watch(self) -> None:
        """End the goals of a controller that has gone."""
        if self._goals and not self._client.server_is_ready():
            self._feeder.drop()
            for goal in list(self._goals):
                self._abort(goal, f"{self._controller} has gone")

    def _abort(self, goal: _Goal, reason: str) -> None:
        (self._goals if goal in self._goals else self._planned).remove(goal)
        what = "trajectory" if goal.upstream is None else "goal"
        self._feeder.refuse(f"{what} aborted: {reason}")
        if goal.upstream is not None:
            code = FollowJointTrajectory.Result.INVALID_GOAL
            self._server.finish(goal.upstream, _ABORTED, code, reason)


def _text(result: Any) -> str:
    """The controller's own words; ``control_msgs`` of old has none."""
    return str(getattr(result, "error_string", ""))
