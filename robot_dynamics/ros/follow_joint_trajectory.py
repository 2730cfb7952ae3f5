"""The action ``FollowJointTrajectory``, where ``control_msgs`` is installed.

The rules that decide about a goal are in ``robot_dynamics.control.arm.tolerances``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode

from robot_dynamics.control.arm.tolerances import (
    GoalMonitor,
    JointTolerance,
    Outcome,
    ToleranceParameters,
    Tolerances,
)
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.ros.control.controller_state import state_point
from robot_dynamics.ros.support import parameters
from robot_dynamics.ros.support.messages import set_stamp, stamp_to_nanoseconds
from robot_dynamics.spatial import Array

if TYPE_CHECKING:
    from robot_dynamics.ros.computed_torque_controller import ComputedTorqueController

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

AVAILABLE = FollowJointTrajectory is not None
"""Whether ``control_msgs`` is installed."""
NAME = "~/follow_joint_trajectory"
FEEDBACK_PERIOD = 0.05
"""Steady seconds between two feedback messages."""


class DeferredActionServer(ActionServer):
    """An action server whose goals end when the node says so, instead of when a callback returns.

    An execute callback that waits would keep a single-threaded executor busy for as long as the goal runs.

    Args:
        node: serves the action.
        on_goal: called with every accepted goal, which is then executing.
        on_cancel: called when a client asks to cancel a goal; the node ends it by :meth:`finish`.
        refuses: why no goal is accepted now; empty when one is.
    """

    def __init__(
        self,
        node: LifecycleNode,
        on_goal: Callable[[Any], None],
        on_cancel: Callable[[Any], None],
        refuses: Callable[[], str],
    ) -> None:
        def decide(_: Any) -> GoalResponse:
            reason = refuses()
            if reason:
                node.get_logger().error(f"goal rejected: {reason}")
            return GoalResponse.REJECT if reason else GoalResponse.ACCEPT

        def accept(handle: Any) -> None:
            handle.execute()
            on_goal(handle)

        def cancel(handle: Any) -> CancelResponse:
            on_cancel(handle)
            return CancelResponse.ACCEPT

        super().__init__(
            node,
            FollowJointTrajectory,
            NAME,
            execute_callback=lambda handle: None,
            goal_callback=decide,
            handle_accepted_callback=accept,
            cancel_callback=cancel,
        )

    def notify_execute(self, goal_handle: Any, execute_callback: Callable[[Any], Any] | None) -> None:
        """Begin of a goal: nothing to run. End of a goal: a callback for the executor."""
        if execute_callback is None:
            return
        if self._node.executor is not None:
            super().notify_execute(goal_handle, execute_callback)
            return
        # The process ends and nobody spins any more, but the client waits for its result.
        with contextlib.suppress(StopIteration):
            self._execute_goal(execute_callback, goal_handle).send(None)

    def finish(self, handle: Any, status: int, code: int, text: str) -> None:
        """End a goal as soon as the executor comes to it, or at once where none does.

        Args:
            handle: of the goal.
            status: ``GoalStatus.STATUS_SUCCEEDED``, ``STATUS_ABORTED`` or ``STATUS_CANCELED``.
            code: the result's error code.
            text: the result's error string.
        """
        result = FollowJointTrajectory.Result(error_code=code)
        if hasattr(result, "error_string"):
            result.error_string = text
        self.finish_with(handle, status, result)

    def finish_with(self, handle: Any, status: int, result: Any) -> None:
        """End a goal with a given result."""

        def end(goal: Any) -> Any:
            # Only a goal that a client has asked to cancel may be canceled.
            if status == GoalStatus.STATUS_SUCCEEDED:
                goal.succeed()
            elif status == GoalStatus.STATUS_CANCELED and goal.is_cancel_requested:
                goal.canceled()
            else:
                goal.abort()
            return result

        self.notify_execute(handle, end)


class TrajectoryAction:
    """Serves the action for a controller that follows trajectories itself.

    A goal that is not acceptable is aborted at once with the standard error code and the reason; the one that
    runs goes on. A new goal or trajectory, a hold, a loss of the joint states and deactivation end a running
    goal.

    Args:
        node: the controller's node.
    """

    def __init__(self, node: ComputedTorqueController) -> None:
        self._node = node
        self._parameters = parameters.declare(node, ToleranceParameters)
        parameters.watch(node, self._parameters, self._on_parameters, check=self._check)
        self._handle: Any = None
        self._trajectory: Trajectory | None = None
        self._last: tuple[int, Reference, Array, Array] | None = None
        self._server = DeferredActionServer(node, self._on_goal, self._on_cancel, self._refuses)
        self._timer = node.create_timer(
            FEEDBACK_PERIOD, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._timer.cancel()

    def observe(self, nanoseconds: int, position: Array, velocity: Array) -> None:
        """Judge the running goal after a control cycle: the state's stamp, and the state (n,)."""
        if self._handle is None:
            return
        now = self._node.seconds(nanoseconds)
        reference = self._trajectory.sample(now)
        self._last = (nanoseconds, reference, position, velocity)
        verdict = self._monitor.judge(now, reference, position, velocity)
        if verdict.outcome is Outcome.RUNNING:
            if now < self._trajectory.end and not self._node.controller.follows(self._trajectory):
                reason = self._node.controller.discontinuity or "a hold, or missing joint states"
                self.drop(f"the controller has left the trajectory: {reason}")
            return
        if verdict.outcome is Outcome.REACHED:
            self._end(GoalStatus.STATUS_SUCCEEDED, FollowJointTrajectory.Result.SUCCESSFUL, "Goal reached")
            return
        violated = verdict.outcome is Outcome.PATH_VIOLATED
        code = "PATH_TOLERANCE_VIOLATED" if violated else "GOAL_TOLERANCE_VIOLATED"
        self._node.controller.hold()
        self._end(GoalStatus.STATUS_ABORTED, getattr(FollowJointTrajectory.Result, code), verdict.reason)

    def drop(self, reason: str) -> None:
        """End the running goal, if there is one, because something else has taken over."""
        if self._handle is not None:
            self._end(GoalStatus.STATUS_ABORTED, FollowJointTrajectory.Result.INVALID_GOAL, reason)

    # Callbacks

    def _check(self, candidate: ToleranceParameters) -> None:
        if self._node.controller is not None:
            candidate.of(self._node.controller.chain.joint_names)

    def _on_parameters(self, accepted: ToleranceParameters) -> None:
        self._parameters = accepted

    def _refuses(self) -> str:
        return "" if self._node.active else "the controller is not active"

    def _on_goal(self, handle: Any) -> None:
        goal = handle.request
        code = self._fault(goal)
        try:
            tolerances = self._tolerances(goal)
            trajectory = self._node.follow(goal.trajectory)
        except RobotDynamicsError as error:
            self._node.get_logger().error(f"goal refused: {error}")
            self._server.finish(handle, GoalStatus.STATUS_ABORTED, code, str(error))
            return
        self.drop("a new goal has taken over")
        self._handle, self._trajectory = handle, trajectory
        self._began = self._node.nanoseconds(trajectory.start)
        names = self._node.controller.chain.joint_names
        self._monitor = GoalMonitor(names, tolerances, trajectory.start, trajectory.end)
        self._last = None
        self._timer.reset()

    def _on_cancel(self, handle: Any) -> None:
        if handle == self._handle:
            self._node.controller.hold()
            self._end(GoalStatus.STATUS_CANCELED, FollowJointTrajectory.Result.SUCCESSFUL, "canceled")

    def _on_timer(self) -> None:
        """Feedback, and a look at whether the controller still controls."""
        if self._handle is None:
            self._timer.cancel()
        elif not self._node.active:
            self.drop("the controller was deactivated")
        elif not self._node.controller.phase.controls:
            self.drop(self._node.controller.phase.value)
        elif self._last is not None:
            self._handle.publish_feedback(self._feedback(*self._last))

    # Messages

    def _fault(self, goal: Any) -> int:
        """The error code of a goal whose trajectory is refused."""
        result = FollowJointTrajectory.Result
        trajectory, controller = goal.trajectory, self._node.controller
        if sorted(trajectory.joint_names) != sorted(controller.chain.joint_names):
            return result.INVALID_JOINTS
        stamp = stamp_to_nanoseconds(trajectory.header.stamp)
        if stamp and trajectory.points:
            last = 1e-9 * stamp_to_nanoseconds(trajectory.points[-1].time_from_start)
            if self._node.seconds(stamp) + last <= controller.time:
                return result.OLD_HEADER_TIMESTAMP
        return result.INVALID_GOAL

    def _tolerances(self, goal: Any) -> Tolerances:
        if goal.multi_dof_trajectory.points:
            raise TrajectoryError("the goal has a multi_dof_trajectory; this arm has single joints only")
        if not goal.trajectory.points:
            raise TrajectoryError("the trajectory has no points; cancel the goal to stop the arm")
        names = self._node.controller.chain.joint_names
        time = goal.goal_time_tolerance
        path, at_goal = (
            {t.name: JointTolerance(t.position, t.velocity, t.acceleration) for t in given}
            for given in (goal.path_tolerance, goal.goal_tolerance)
        )
        return self._parameters.of(names).for_goal(names, path, at_goal, time.sec + 1e-9 * time.nanosec)

    def _feedback(self, nanoseconds: int, reference: Reference, position: Array, velocity: Array) -> Any:
        feedback = FollowJointTrajectory.Feedback(joint_names=list(self._node.controller.chain.joint_names))
        set_stamp(feedback.header.stamp, nanoseconds)
        feedback.desired = state_point(reference.position, reference.velocity, reference.acceleration)
        feedback.actual = state_point(position, velocity)
        feedback.error = state_point(reference.position - position, reference.velocity - velocity)
        since = max(nanoseconds - self._began, 0)
        for point in (feedback.desired, feedback.actual, feedback.error):
            set_stamp(point.time_from_start, since)
        return feedback

    def _end(self, status: int, code: int, text: str) -> None:
        handle, self._handle = self._handle, None
        self._timer.cancel()
        self._server.finish(handle, status, code, text)
        self._node.get_logger().info(f"goal ended: {text}")
