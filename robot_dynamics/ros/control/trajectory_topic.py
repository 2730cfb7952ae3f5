"""Trajectories on a topic, for a node that follows them itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode

from robot_dynamics.control.protocol import FollowedTrajectory
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.ros.control.controller_node import ControllerNode
from robot_dynamics.ros.control.host import C
from robot_dynamics.ros.control.native.raw_trajectory import RawTrajectory
from robot_dynamics.ros.control.planner import Head, PlanRequest
from robot_dynamics.ros.support import qos

LOOK = 0.05
"""Steady seconds between two looks at whether the controller has started."""
SHORT = 2**16
"""A message of so many bytes is looked at when it comes: an empty one holds, others replace older ones."""


class TrajectoryTopic(Generic[C]):
    """Hands trajectories to the planner of a node; an empty one is a hold.

    The newest that comes before the controller has started waits for it, for at most ``start_patience``.

    Args:
        node: gets the subscription.
        controller_node: of the node.
        kind: of the messages, which have ``points``.
        topic: their name.
        machine: what moves, for the log.
        decode: what a message asks of a controller; called in a thread, it touches nothing of the node.
        followed: called with a trajectory when it is followed from now on.
    """

    def __init__(
        self,
        node: LifecycleNode,
        controller_node: ControllerNode[C],
        kind: type,
        topic: str,
        machine: str,
        decode: Callable[[C, RawTrajectory], PlanRequest],
        followed: Callable[[FollowedTrajectory[Any]], None] = lambda _: None,
    ) -> None:
        self._log = node.get_logger()
        self._controller_node = controller_node
        self._machine = machine
        self._decode = decode
        self._followed = followed
        self._kind, self._topic = kind, topic
        self._waiting: bytes | None = None
        self._since = 0.0
        self._timer = node.create_timer(LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._timer.cancel()
        qos.subscription(node, kind, topic, self._on_trajectory, qos.TRAJECTORY, raw=True)

    def _on_trajectory(self, data: bytes) -> None:
        if not self._controller_node.patience or not (reason := self._controller_node.starting):
            self._take(data)
            return
        if self._waiting is not None:
            self._refuse("while it waited for the controller a newer one came")
        else:
            self._log.info(f"trajectory: it waits up to {self._controller_node.patience:g} s, {reason}")
        self._waiting, self._since = data, time.monotonic()
        self._timer.reset()

    def _look(self) -> None:
        """Return whether the trajectory that waits has waited long enough."""
        data, reason = self._waiting, self._controller_node.starting
        if data is not None and reason and time.monotonic() - self._since < self._controller_node.patience:
            return
        self._waiting = None
        self._timer.cancel()
        if data is not None and reason:
            self._refuse(f"{reason}, and it has waited {self._controller_node.patience:g} s")
        elif data is not None:
            self._take(data)

    def _take(self, data: bytes) -> None:
        controller = self._controller_node.loop.controller
        if controller is None or not self._controller_node.loop.active:
            self._refuse("the controller is not active")
            return
        head = None
        if len(data) <= SHORT:
            try:
                short = RawTrajectory(self._kind, data)
            except TrajectoryError as error:
                self._refuse(str(error))
                return
            if not short.points:
                self._tell(0, None)
                return
            head = Head(self._topic, frozenset(short.joint_names), short.stamp)
        points = 0

        def decode() -> PlanRequest:
            nonlocal points
            raw = RawTrajectory(self._kind, data)
            points = raw.points
            return self._decode(controller, raw) if points else PlanRequest(raw.stamp, 0, _nothing)

        self._controller_node.planner.follow(
            decode, lambda trajectory: self._tell(points, trajectory), self._refuse, head=head
        )

    def _tell(self, points: int, trajectory: FollowedTrajectory[Any] | None) -> None:
        if trajectory is None:
            lost = self._controller_node.hold()
            self._log.info(f"empty trajectory: holding where the {self._machine} is{lost}")
            return
        if not getattr(trajectory, "streamed", False):
            duration = getattr(trajectory, "arrival", trajectory.end) - trajectory.start
            self._log.info(f"following a trajectory of {points} points for {duration:.3f} s")
        self._controller_node.active_trajectory.began(f"a trajectory of {points} points", trajectory)
        self._followed(trajectory)

    def _refuse(self, reason: str) -> None:
        self._controller_node.events.refuse_request(f"trajectory refused: {reason}")


def _nothing(_: Any) -> Any:
    raise TrajectoryError("there is nothing to plan")
