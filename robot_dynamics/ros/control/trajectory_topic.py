"""Trajectories on a topic, for a node that follows them itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from rclpy.lifecycle import LifecycleNode

from robot_dynamics.ros.control.front import ControlFront
from robot_dynamics.ros.control.loop import C
from robot_dynamics.ros.control.native.raw_trajectory import RawTrajectory
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.faults import explain


class TrajectoryTopic(Generic[C]):
    """Hands trajectories to the controller in force; an empty one is a hold.

    Args:
        node: gets the subscription.
        front: of the node.
        kind: of the messages, which have ``points``.
        topic: their name.
        machine: what moves, for the log.
        follow: follows a trajectory or refuses it by raising; what was followed before goes on then.
    """

    def __init__(
        self,
        node: LifecycleNode,
        front: ControlFront[C],
        kind: type,
        topic: str,
        machine: str,
        follow: Callable[[C, RawTrajectory], None],
    ) -> None:
        self._node = node
        self._front = front
        self._machine = machine
        self._follow = follow
        self._kind = kind
        node.create_subscription(kind, topic, self._on_trajectory, qos.TRAJECTORY, raw=True)

    def _on_trajectory(self, data: bytes) -> None:
        controller = self._front.loop.controller
        if controller is None or not self._front.loop.active:
            self._front.events.refuse_request("trajectory refused: the controller is not active")
            return
        try:
            trajectory = RawTrajectory(self._kind, data)
            if trajectory.points:
                self._follow(controller, trajectory)
            else:
                controller.hold()
                self._node.get_logger().info(f"empty trajectory: holding where the {self._machine} is")
        except Exception as error:  # the loop that carries the machine must not end by it
            self._front.events.refuse_request(f"trajectory refused: {explain(error)}")
