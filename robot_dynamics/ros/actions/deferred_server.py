"""A server of the action ``FollowJointTrajectory``, where ``control_msgs`` is installed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.lifecycle import LifecycleNode

try:
    from control_msgs.action import FollowJointTrajectory as FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

AVAILABLE = FollowJointTrajectory is not None
"""True where ``control_msgs`` is installed."""
NAME = "~/follow_joint_trajectory"


class _Server(ActionServer):
    """An action server whose goals are accepted without being run, and end by a callback of their own."""

    def __init__(self, node: LifecycleNode, **callbacks: Callable[[Any], Any]) -> None:
        super().__init__(node, FollowJointTrajectory, NAME, execute_callback=lambda handle: None, **callbacks)

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


class DeferredActionServer:
    """An action server that appears when the node can follow goals, and ends them when the node says so.

    An execute callback that waits would keep a single-threaded executor busy for as long as the goal runs.

    Args:
        node: serves the action.
        on_goal: called with every accepted goal, which is then executing.
        on_cancel: called when a client asks to cancel a goal; the node ends it by :meth:`finish`.
        refuses: why a goal is rejected; empty when it is accepted. Its client gets no reason, so the node is
            to say it.
    """

    def __init__(
        self,
        node: LifecycleNode,
        on_goal: Callable[[Any], None],
        on_cancel: Callable[[Any], None],
        refuses: Callable[[Any], str],
    ) -> None:
        self._node = node
        self._on_goal, self._on_cancel, self._refuses = on_goal, on_cancel, refuses
        self._server: _Server | None = None

    def serve(self) -> None:
        """Offer the action from now on: whoever has waited for it finds a node that can follow."""
        if self._server is None:
            self._server = _Server(
                self._node,
                goal_callback=self._decide,
                handle_accepted_callback=self._accept,
                cancel_callback=self._cancel,
            )

    def _decide(self, goal: Any) -> GoalResponse:
        return GoalResponse.REJECT if self._refuses(goal) else GoalResponse.ACCEPT

    def _accept(self, handle: Any) -> None:
        handle.execute()
        self._on_goal(handle)

    def _cancel(self, handle: Any) -> CancelResponse:
        self._on_cancel(handle)
        return CancelResponse.ACCEPT

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

        assert self._server is not None  # it has accepted the goal
        self._server.notify_execute(handle, end)
