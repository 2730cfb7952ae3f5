"""Trajectories on a topic, for a node that follows them itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from rclpy.lifecycle import LifecycleNode

from robot_dynamics.control.protocol import Trajectory
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.ros.control.front import ControlFront
from robot_dynamics.ros.control.loop import C
from robot_dynamics.ros.control.native.raw_trajectory import RawTrajectory
from robot_dynamics.ros.control.planner import Wanted
from robot_dynamics.ros.support import qos

SHORT = 4096
"""A message of so many bytes is looked at when it comes, so that an empty one holds at once."""


class TrajectoryTopic(Generic[C]):
    """Hands trajectories to the planner of a node; an empty one is a hold.

    Args:
        node: gets the subscription.
        front: of the node.
        kind: of the messages, which have ``points``.
        topic: their name.
        machine: what moves, for the log.
        decode: what a message asks of a controller; called in a thread, it touches nothing of the node.
        followed: called when a trajectory is followed from now on.
    """

    def __init__(
        self,
        node: LifecycleNode,
        front: ControlFront[C],
        kind: type,
        topic: str,
        machine: str,
        decode: Callable[[C, RawTrajectory], Wanted],
        followed: Callable[[], None] = lambda: None,
    ) -> None:
        self._log = node.get_logger()
        self._front = front
        self._machine = machine
        self._decode = decode
        self._followed = followed
        self._kind = kind
        node.create_subscription(kind, topic, self._on_trajectory, qos.TRAJECTORY, raw=True)

    def _on_trajectory(self, data: bytes) -> None:
        controller = self._front.loop.controller
        if controller is None or not self._front.loop.active:
            self._refuse("the controller is not active")
            return
        if len(data) <= SHORT:
            try:
                points = RawTrajectory(self._kind, data).points
            except TrajectoryError as error:
                self._refuse(str(error))
                return
            if not points:
                controller.hold()
                self._tell(0, None)
                return
        points = 0

        def decode() -> Wanted:
            nonlocal points
            raw = RawTrajectory(self._kind, data)
            points = raw.points
            return self._decode(controller, raw) if points else Wanted(raw.stamp, 0, _nothing)

        self._front.planner.follow(decode, lambda trajectory: self._tell(points, trajectory), self._refuse)

    def _tell(self, points: int, trajectory: Trajectory[Any] | None) -> None:
        if trajectory is None:
            self._log.info(f"empty trajectory: holding where the {self._machine} is")
            return
        duration = trajectory.end - trajectory.start
        self._log.info(f"following a trajectory of {points} points for {duration:.3f} s")
        self._followed()

    def _refuse(self, reason: str) -> None:
        self._front.events.refuse_request(f"trajectory refused: {reason}")


def _nothing(_: Any) -> Any:
    raise TrajectoryError("there is nothing to plan")
