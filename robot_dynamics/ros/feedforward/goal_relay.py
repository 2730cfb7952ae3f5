"""Passes FollowJointTrajectory goals on to the controller that follows them, and everything back."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode

from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feeding import Plan
from robot_dynamics.control.arm.trajectory import Trajectory
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.actions.deferred_server import DeferredActionServer, FollowJointTrajectory
from robot_dynamics.ros.actions.goal_trajectory import GoalTrajectory, stretch_tolerances
from robot_dynamics.ros.feedforward.feeder import Feeder
from robot_dynamics.ros.feedforward.messages import FilledTrajectory
from robot_dynamics.ros.support.spin import see_through

WATCH_PERIOD = 0.5
"""Steady seconds between two looks at whether the controller is still there."""
ARRIVAL_PERIOD = 0.05
"""Steady seconds between two looks at whether goals have arrived while others go on."""
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
        path: its trajectory; None before it is planned.
        content: what the controller gets, with the tolerances that the client gave.
        beside: goals of other joints that go on in its trajectory.
        answer: result of a trajectory that another, whose answer is still to come, may carry on.
    """

    def __init__(self, upstream: Any) -> None:
        self.upstream = upstream
        self.path: Trajectory | None = None
        self.content: Any = None
        self.beside: list[_Goal] = []
        self.answer: Any = None
        self.downstream: Any = None
        self.cancel = False
        self.reason = ""
        self.ended = False


class GoalRelay:
    """Serves the action; each goal gets its efforts and goes on to the controller's own action.

    Feedback, result and cancel are the controller's. What the node itself refuses is aborted with the
    standard error code and the reason.

    The controller follows one goal at a time. A goal of joints that no other goal moves goes to it with the
    others' motion in its trajectory and their tolerances beside its own. Each of them ends when its joints
    have arrived; an end without success, or a request to cancel one of them, ends all.

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
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(WATCH_PERIOD, self._watch, clock=steady)
        node.create_timer(ARRIVAL_PERIOD, self._end_arrived, clock=steady)

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
        """Send a trajectory of the topic in place of the goals that it does not carry: as a goal.

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
                for other in self._goals:
                    if other is not goal and other.downstream is goal.downstream is not None:
                        other.reason = other.reason or "a goal of other joints beside it was cancelled"
                self._cancel(goal)

    # The controller's side

    def _send(self, goal: _Goal, plan: Plan, content: Any) -> None:
        goal.path, goal.content = plan.trajectory, content
        going_on = [one for one in self._goals if any(one.path is path for path in plan.trajectory.carried)]
        goal.beside = [one for one in going_on if not one.ended and not one.cancel]
        if goal.beside:
            assert self._feeder.feedforward is not None
            content = _with_tolerances(content, goal.beside, self._feeder.feedforward.chain.joint_names)
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
            beside, goal.beside = goal.beside, []
            self._abort(goal, f"{self._controller} has rejected the goal")
            for other in beside:
                if other.answer is not None:
                    self._end(other, other.answer)
            return
        goal.downstream = downstream
        for other in goal.beside:
            other.downstream = downstream
        if goal.upstream is None:
            for other in [one for one in self._goals if one is not goal and one not in goal.beside]:
                self._abort(other, "a trajectory on the topic has taken over")
        self._feeder.delivered(plan, sent)
        downstream.get_result_async().add_done_callback(
            lambda future: self._on_result(downstream, plan, future.result())
        )
        if goal.cancel or any(other.cancel for other in goal.beside):
            downstream.cancel_goal_async()

    def _on_feedback(self, goal: _Goal, message: Any) -> None:
        for one in (goal, *goal.beside):
            if one in self._goals and one.upstream is not None and one.upstream.is_active:
                one.upstream.publish_feedback(message.feedback)

    def _on_result(self, downstream: Any, plan: Plan, answer: Any) -> None:
        """The controller has ended a trajectory, and with it the goals in it that nobody carries on."""
        coming = [one for one in self._goals if one.downstream is None]
        ended = []
        for goal in [one for one in self._goals if one.downstream is downstream]:
            if answer.status != _SUCCEEDED and any(goal in one.beside for one in coming):
                goal.answer = answer  # its successor's answer tells whether this is the end
            else:
                goal.ended = True
                ended.append(goal)
        # A goal that is on its way takes over by itself.
        if ended and answer.status != _SUCCEEDED and all(one.ended for one in self._goals):
            self._feeder.ended(plan)
        for goal in ended:
            self._end(goal, answer)

    def _end(self, goal: _Goal, answer: Any) -> None:
        goal.ended = True
        if self._ending or goal not in self._goals:
            return  # drain tells the clients, when nobody runs callbacks any more
        if goal.reason:
            self._abort(goal, goal.reason)
            return
        self._goals.remove(goal)
        if goal.upstream is not None:
            self._finish(goal.upstream, answer)
        elif answer.status != _SUCCEEDED:
            self._feeder.refuse(f"trajectory ended by {self._controller}: {_text(answer.result)}")

    def _end_arrived(self) -> None:
        """End goals whose joints have arrived while the trajectory goes on for others."""
        feedforward = self._feeder.feedforward
        for goal in list(self._goals):
            path, shares = goal.path, [one for one in self._goals if one.downstream is goal.downstream]
            if feedforward is None or path is None or goal.downstream is None or goal.cancel:
                continue
            if len(shares) < 2 or self._feeder.now() < path.arrival or not _has_arrived(goal, feedforward):
                continue
            self._goals.remove(goal)
            if goal.upstream is not None:
                code = FollowJointTrajectory.Result.SUCCESSFUL
                self._server.finish(goal.upstream, _SUCCEEDED, code, "Goal reached")

    def _finish(self, handle: Any, answer: Any) -> None:
        """The client gets the controller's result, and a reason with every end without success."""
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


def _with_tolerances(content: Any, others: Sequence[_Goal], joint_names: Sequence[str]) -> Any:
    """A goal with the tolerances that goals of other joints have, too."""
    both = copy.deepcopy(content)
    for other in others:
        assert other.path is not None
        own = {joint_names[j] for j in other.path.joints}
        for name in ("path_tolerance", "goal_tolerance"):
            kept = list(getattr(both, name))
            setattr(both, name, kept + [one for one in getattr(other.content, name) if one.name in own])
    return both


def _has_arrived(goal: _Goal, feedforward: Feedforward) -> bool:
    """Check the tolerances of a goal; without any its joints have arrived, as at the controller."""
    assert goal.path is not None
    names, position = feedforward.chain.joint_names, feedforward.position
    end = goal.path.sample(goal.path.arrival).position
    return position is not None and all(
        abs(position[names.index(one.name)] - end[names.index(one.name)]) <= one.position
        for one in goal.content.goal_tolerance
        if one.position > 0.0 and one.name in names
    )


def _text(result: Any) -> str:
    """The controller's own words; ``control_msgs`` of old has none."""
    return str(getattr(result, "error_string", ""))
