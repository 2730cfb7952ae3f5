"""Operation of a platform: streams of poses, parking, emergency stop, and its brakes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.control.stream_clock import LeastDelay
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.ros.control.controller_node import ControllerNode
from robot_dynamics.ros.control.remembered_stops import RememberedStops
from robot_dynamics.ros.control.stop_services import StopServices
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.hot_loop import take_all
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_of

TWISTS = 32
"""Twists that are kept for their poses."""


class PlatformOperation(StopServices[StewartController]):
    """Services, pose commands and the brakes of a platform's node.

    Args:
        node: gets them.
        controller_node: of the node.
        base_frame: in which poses and twists are given.
        stops: of the node.
        machine: name of the platform; it may raise RobotDynamicsError where no file tells it.
    """

    def __init__(
        self,
        node: Node,
        controller_node: ControllerNode[StewartController],
        base_frame: str,
        stops: RememberedStops,
        machine: Callable[[], str],
    ) -> None:
        more = {"resume_stream": lambda controller: controller.resume_stream()}
        super().__init__(node, controller_node, stops, machine, "platform", True, more)
        controller_node.ownership.on_disputed = self._protect
        self._base_frame = base_frame
        self._twists: deque[tuple[int, Array]] = deque(maxlen=TWISTS)
        with_info: Any = self._on_pose  # rclpy's types know callbacks of a message alone
        poses = node.create_subscription(PoseStamped, "~/pose_command", with_info, qos.STREAM)
        self._delay = LeastDelay()
        self._twist_commands = node.create_subscription(
            TwistStamped, "~/twist_command", self._on_twist, qos.STREAM
        )
        controller_node.loop.ahead = (poses,)

    # Streams

    def _on_twist(self, message: TwistStamped) -> None:
        linear, angular = message.twist.linear, message.twist.angular
        twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
        self._twists.append((stamp_to_nanoseconds(message.header.stamp), twist))

    def _twist_at(self, stamp: int) -> Array | None:
        """The twist that came before the pose of a stamp [ns]."""
        take_all(self._twist_commands)
        return next((twist for at, twist in reversed(self._twists) if at == stamp), None)

    def _on_pose(self, message: PoseStamped, info: Mapping[str, Any]) -> None:
        controller = self._controller_node.loop.controller
        if controller is None or not self._controller_node.loop.active:
            self._controller_node.events.refuse("pose command refused: the controller is not active")
            return
        try:
            arrival = self._controller_node.loop.time_of_arrival(self._punctual(info))
            controller.command_pose(self._sample(message)._replace(arrival=arrival))
        except RobotDynamicsError as error:
            self._controller_node.events.refuse(f"pose command refused: {error}")

    def _punctual(self, info: Mapping[str, Any]) -> int:
        """Time at which a message would have come with the least delay [ns]; 0: not known.

        It is one of the system's clock. What differs between messages is this computer's load; the sender's
        clock may be another.
        """
        received, sent = (int(info.get(f"{name}_timestamp") or 0) for name in ("received", "source"))
        if not received or not sent:
            return received
        return sent + round(1e9 * self._delay.note(1e-9 * (received - sent), 1e-9 * received))

    def _sample(self, message: PoseStamped) -> PoseSample:
        if message.header.frame_id not in ("", self._base_frame):
            raise ParameterError(
                f"the frame is '{message.header.frame_id}'; it must be empty or {self._base_frame}"
            )
        stamp = stamp_to_nanoseconds(message.header.stamp)
        time = self._controller_node.loop.clock.seconds(stamp) if stamp else None
        place, turn = message.pose.position, message.pose.orientation
        position = np.array([place.x, place.y, place.z])
        twist = self._twist_at(stamp) if stamp else None
        if not np.isfinite(position).all() or (twist is not None and not np.isfinite(twist).all()):
            raise ParameterError("it is not finite")
        return PoseSample(time, position, rotation_of([turn.x, turn.y, turn.z, turn.w]), twist)
