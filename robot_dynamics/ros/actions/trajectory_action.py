"""Goals of ``FollowJointTrajectory`` for a controller that follows trajectories itself.

The rules that decide about a goal are in ``robot_dynamics.control.arm.tolerances``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from action_msgs.msg import GoalStatus
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import settled_errors
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.tolerances import (
    GoalMonitor,
    JointTolerance,
    Outcome,
    ToleranceParameters,
    Tolerances,
)
from robot_dynamics.control.arm.trajectory import ANY_PATH, Reference
from robot_dynamics.control.protocol import FollowedTrajectory, Phase
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.ros.actions.constraints import Constraints
from robot_dynamics.ros.actions.deferred_server import DeferredActionServer, FollowJointTrajectory
from robot_dynamics.ros.actions.goal_trajectory import GoalTrajectory
from robot_dynamics.ros.control.controller_state import state_point
from robot_dynamics.ros.control.host import Host
from robot_dynamics.ros.control.records import Cycle
from robot_dynamics.ros.support import parameters
from robot_dynamics.ros.support.messages import set_stamp
from robot_dynamics.ros.support.rate_limited_log import RateLimitedLog

FEEDBACK_PERIOD = 0.05
"""Steady seconds between two feedback messages."""


class _Running(NamedTuple):
    """A goal that is being followed.

    Attributes:
        handle: of the action server.
        trajectory: what the goal asks for.
        began: stamp of its start [ns].
        monitor: judges it.
        joints: (n,) whether it is for each joint.
    """

    handle: Any
    trajectory: FollowedTrajectory[Reference]
    began: int
    monitor: GoalMonitor
    joints: NDArray[np.bool_]

    def reference(self, time: float, elsewhere: Reference) -> Reference:
        """The reference at ``time`` [s]; of joints that the goal is not for, that ``elsewhere``."""
        own = self.trajectory.sample(time)
        if self.joints.all():
            return own
        parts = zip(
            (own.position, own.velocity, own.acceleration),
            (elsewhere.position, elsewhere.velocity, elsewhere.acceleration),
            strict=True,
        )
        return Reference(*(np.where(self.joints, mine, other) for mine, other in parts))


class GoalAnswer(NamedTuple):
    """Fate of a goal while its trajectory is planned.

    Attributes:
        followed: to be called when the trajectory is followed from now on.
        refused: to be called with the reason when it is not.
        wanted: whether the goal still waits.
    """

    followed: Callable[[FollowedTrajectory[Reference]], None]
    refused: Callable[[str], None]
    wanted: Callable[[], bool]


class TrajectoryAction:
    """Serves the action for a controller that follows trajectories itself.

    A goal that no plan could follow is rejected, as ``joint_trajectory_controller`` does: wrong joints or
    tolerances, no points, a time that has passed, a controller that does not control. One whose plan is
    refused is aborted with the standard error code and the reason. Either way the goal that runs goes on. A
    new goal or trajectory, a hold, a loss of the joint states and deactivation end a running goal. Goals for
    different joints run side by side.

    Args:
        node: serves the action.
        loop: has the controller.
        follow: plans a goal's trajectory and answers later, or at once.
        complain: logs and counts a goal that is not followed.
        hold: holds where the arm is.
        rules: of trajectories.
    """

    def __init__(
        self,
        node: LifecycleNode,
        loop: Host[ArmController],
        follow: Callable[[GoalTrajectory, GoalAnswer], None],
        complain: Callable[[str], None] | None = None,
        hold: Callable[[], object] | None = None,
        rules: PathRules = ANY_PATH,
    ) -> None:
        self._node = node
        self._complain = complain or RateLimitedLog(node.get_logger())
        self._loop = loop
        self._hold = hold or (lambda: loop.controller.hold() if loop.controller is not None else None)
        self._follow = follow
        self._rules = rules
        self._parameters = parameters.declare(node, ToleranceParameters)
        parameters.watch(node, self._parameters, self._on_parameters, check=self._check)
        self._constraints = Constraints(node)
        self._running: list[_Running] = []
        self._planned: list[Any] = []
        self._last: Cycle | None = None
        self._server = DeferredActionServer(node, self._on_goal, self._on_cancel, self._refuses)
        self._timer = node.create_timer(
            FEEDBACK_PERIOD, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._timer.cancel()

    def serve(self) -> None:
        """Offer the action from now on: whoever has waited for it finds a controller that can follow."""
        self._server.serve()

    @property
    def running(self) -> bool:
        """Return whether a goal is being followed."""
        return bool(self._running)

    def observe(self, cycle: Cycle, controller: ArmController) -> None:
        """Judge the running goals after a control cycle."""
        self._last = cycle
        for running in list(self._running):
            if running in self._running:
                self._judge(running, cycle, controller)

    def _judge(self, running: _Running, cycle: Cycle, controller: ArmController) -> None:
        now = self._loop.clock.seconds(cycle.nanoseconds)
        reference = running.trajectory.sample(now)
        verdict = running.monitor.judge(now, reference, cycle.position, cycle.velocity)
        if verdict.outcome is Outcome.RUNNING:
            if now < running.monitor.end and not controller.follows(running.trajectory):
                trip = controller.trip if controller.phase is Phase.PROTECTIVE_STOP else None
                line = controller.words_of_trip(trip) if trip is not None else ""
                reason = line or controller.discontinuity or "a hold, or missing joint states"
                self._drop(running, f"the controller has left the trajectory: {reason}")
            return
        result = FollowJointTrajectory.Result
        if verdict.outcome is Outcome.REACHED:
            self._end(running, GoalStatus.STATUS_SUCCEEDED, result.SUCCESSFUL, "Goal reached")
            return
        violated = verdict.outcome is Outcome.PATH_VIOLATED
        code = "PATH_TOLERANCE_VIOLATED" if violated else "GOAL_TOLERANCE_VIOLATED"
        self._stop(running)
        self._node.get_logger().warning(f"{verdict.outcome.value}: {verdict.reason}: holding here")
        self._end(running, GoalStatus.STATUS_ABORTED, getattr(result, code), verdict.reason)

    def drop(self, reason: str, beside: object = None) -> None:
        """End the running goals, because something else has taken over.

        Args:
            reason: for their clients.
            beside: a trajectory; goals that go on beside it are not ended.
        """
        carried = getattr(beside, "carried", ())
        for running in list(self._running):
            if not any(running.trajectory is one for one in carried):
                self._drop(running, reason)

    def _drop(self, running: _Running, reason: str) -> None:
        self._end(running, GoalStatus.STATUS_ABORTED, FollowJointTrajectory.Result.INVALID_GOAL, reason)

    def _stop(self, running: _Running) -> None:
        """Stop the joints of a goal; all of them where it has all, or where no other goal runs."""
        controller = self._loop.controller
        if controller is None or running.joints.all() or len(self._running) < 2:
            self._hold()
        else:
            controller.hold_joints(np.flatnonzero(running.joints).tolist())

    def end(self, reason: str) -> None:
        """The process ends: so do the goals that wait."""
        self.drop(reason)
        for handle in list(self._planned):
            self._refuse(handle, FollowJointTrajectory.Result.INVALID_GOAL, reason)

    # Callbacks

    def _check(self, candidate: ToleranceParameters) -> None:
        if self._loop.controller is not None:
            candidate.of(self._loop.controller.chain.joint_names, settled_errors(self._loop.controller.chain))

    def _on_parameters(self, accepted: ToleranceParameters) -> None:
        self._parameters = accepted

    def _refuses(self, goal: Any) -> str:
        reason = self._objection(goal)
        if reason:
            self._complain(f"goal rejected: {reason}")
        return reason

    def _objection(self, goal: Any) -> str:
        """Reason why a goal is useless whatever its plan would be; empty when nothing does."""
        controller = self._loop.controller
        if not self._loop.active or controller is None:
            return "the controller is not active"
        if not controller.phase.controls:
            return controller.phase.value
        trajectory = GoalTrajectory.of(goal)
        try:
            self._rules.of(controller.chain).order(controller.chain.joint_names, trajectory.joint_names)
            self._tolerances(goal, trajectory, controller)
            trajectory.measure()
        except RobotDynamicsError as error:
            return str(error)
        if self._code_of_refusal(trajectory, controller) == FollowJointTrajectory.Result.OLD_HEADER_TIMESTAMP:
            return "its last point is in the past"
        return ""

    def _on_goal(self, handle: Any) -> None:
        goal, controller = handle.request, self._loop.controller
        assert controller is not None  # no goal is accepted by a node that is not active
        trajectory = GoalTrajectory.of(goal)
        self._planned.append(handle)
        refused = partial(self._refuse, handle, self._code_of_refusal(trajectory, controller))
        try:
            tolerances = self._tolerances(goal, trajectory, controller)
        except RobotDynamicsError as error:
            refused(str(error))
            return
        followed = partial(self._begin, handle, controller, tolerances)
        self._follow(trajectory, GoalAnswer(followed, refused, lambda: handle in self._planned))

    def _begin(
        self,
        handle: Any,
        controller: ArmController,
        tolerances: Tolerances,
        trajectory: FollowedTrajectory[Reference],
    ) -> None:
        self._planned.remove(handle)
        self.drop("a new goal has taken over", trajectory)
        joints = np.zeros(controller.chain.dof, dtype=bool)
        joints[list(getattr(trajectory, "joints", ()) or range(len(joints)))] = True
        limits = tolerances.stretched(getattr(trajectory, "stretch", 1.0)).only(joints)
        end = getattr(trajectory, "arrival", trajectory.end)
        monitor = GoalMonitor(controller.chain.joint_names, limits, trajectory.start, end)
        began = self._loop.clock.nanoseconds(trajectory.start)
        self._running.append(_Running(handle, trajectory, began, monitor, joints))
        self._last = None
        self._timer.reset()

    def _refuse(self, handle: Any, code: int, reason: str) -> None:
        if handle not in self._planned:
            return  # it has ended otherwise
        self._planned.remove(handle)
        self._complain(f"goal refused: {reason}")
        self._server.finish(handle, GoalStatus.STATUS_ABORTED, code, reason)

    def _on_cancel(self, handle: Any) -> None:
        if handle in self._planned:
            self._planned.remove(handle)
            successful = FollowJointTrajectory.Result.SUCCESSFUL
            self._server.finish(handle, GoalStatus.STATUS_CANCELED, successful, "canceled")
            return
        for running in [one for one in self._running if one.handle == handle]:
            self._stop(running)
            successful = FollowJointTrajectory.Result.SUCCESSFUL
            self._end(running, GoalStatus.STATUS_CANCELED, successful, "canceled")

    def _on_timer(self) -> None:
        """Feedback, and a look at whether the controller still controls."""
        controller = self._loop.controller
        if not self._running:
            self._timer.cancel()
        elif not self._loop.active or controller is None:
            self.drop("the controller was deactivated")
        elif not controller.phase.controls:
            self.drop(controller.phase.value)
        elif self._last is not None:
            last, self._last = self._last, None  # without a new cycle there is nothing to tell: a pause
            for running in self._running:
                running.handle.publish_feedback(self._feedback(running, last))

    # Messages

    def _code_of_refusal(self, trajectory: GoalTrajectory, controller: ArmController) -> int:
        """The error code of a goal, should its trajectory be refused."""
        result = FollowJointTrajectory.Result
        try:
            self._rules.of(controller.chain).order(controller.chain.joint_names, trajectory.joint_names)
        except TrajectoryError:
            return int(result.INVALID_JOINTS)
        dated = trajectory.stamp and trajectory.points
        if dated and self._loop.clock.seconds(trajectory.stamp) + trajectory.duration <= controller.time:
            return int(result.OLD_HEADER_TIMESTAMP)
        return int(result.INVALID_GOAL)

    def _tolerances(self, goal: Any, trajectory: GoalTrajectory, controller: ArmController) -> Tolerances:
        if goal.multi_dof_trajectory.points:
            raise TrajectoryError("the goal has a multi_dof_trajectory; this arm has single joints only")
        if not trajectory.points:
            raise TrajectoryError("the trajectory has no points; cancel the goal to stop the arm")
        names = controller.chain.joint_names
        time = goal.goal_time_tolerance
        path, at_goal = (
            {t.name: JointTolerance(t.position, t.velocity, t.acceleration) for t in given}
            for given in (goal.path_tolerance, goal.goal_tolerance)
        )
        own = self._constraints.over(self._parameters.of(names, settled_errors(controller.chain)), names)
        return own.for_goal(names, path, at_goal, time.sec + 1e-9 * time.nanosec)

    def _feedback(self, running: _Running, cycle: Cycle) -> Any:
        nanoseconds, position, velocity, command = cycle
        reference = running.reference(self._loop.clock.seconds(nanoseconds), command.reference)
        feedback = FollowJointTrajectory.Feedback(joint_names=list(self._loop.joint_names))
        set_stamp(feedback.header.stamp, nanoseconds)
        feedback.desired = state_point(reference.position, reference.velocity, reference.acceleration)
        feedback.actual = state_point(position, velocity)
        feedback.error = state_point(reference.position - position, reference.velocity - velocity)
        since = max(nanoseconds - running.began, 0)
        for point in (feedback.desired, feedback.actual, feedback.error):
            set_stamp(point.time_from_start, since)
        return feedback

    def _end(self, running: _Running, status: int, code: int, text: str) -> None:
        self._running.remove(running)
        if not self._running:
            self._timer.cancel()
        self._server.finish(running.handle, status, code, text)
        self._node.get_logger().info(f"goal ended: {text}")
