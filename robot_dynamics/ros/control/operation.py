"""How people and machines run a platform: streams of poses, parking, emergency stop, and its brakes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from robot_dynamics.control.core.choice import AnyStewartController
from robot_dynamics.control.stewart.stream import Sample
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.ros.control.front import ControlFront
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.hot_loop import take_all
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_of

TWISTS = 32
"""Twists that are kept for their poses."""
LOOK = 0.01
"""Steady seconds between two looks at the brakes where no states come."""


class Operation:
    """Services, pose commands and the brakes of a platform's node.

    Args:
        node: gets them.
        front: of the node.
        base_frame: in which poses and twists are given.
    """

    def __init__(self, node: Node, front: ControlFront[AnyStewartController], base_frame: str) -> None:
        self._node, self._front, self._base_frame = node, front, base_frame
        self._twists: deque[tuple[int, Array]] = deque(maxlen=TWISTS)
        self._brake: bool | None = None
        self._state = ""
        self._brakes = node.create_publisher(Bool, "~/brake", qos.DESCRIPTION)
        poses = node.create_subscription(PoseStamped, "~/pose_command", self._on_pose, qos.STREAM)
        self._twist_commands = node.create_subscription(
            TwistStamped, "~/twist_command", self._on_twist, qos.STREAM
        )
        front.loop.ahead = (poses,)
        for name, ask in (
            ("park", lambda controller: controller.park()),
            ("unpark", lambda controller: controller.unpark()),
            ("emergency_stop", lambda controller: controller.emergency_stop()),
        ):
            node.create_service(Trigger, f"~/{name}", self._service(ask))
        node.create_timer(LOOK, self.look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def look(self) -> None:
        """Tell the brakes and the log what has changed; called after each answer, and now and then."""
        controller = self._front.loop.controller
        acting = controller is not None and self._front.loop.active
        self.brake(controller is None or not acting or controller.brake)
        state = controller.state if controller is not None and acting else ""
        if state != self._state:
            self._state = state
            if state:
                self._node.get_logger().info(f"the platform: {state}")

    def brake(self, engaged: bool) -> None:
        """Command the brakes."""
        if engaged != self._brake:
            self._brake = engaged
            self._brakes.publish(Bool(data=engaged))

    def _service(
        self, ask: Callable[[AnyStewartController], str]
    ) -> Callable[[Trigger.Request, Trigger.Response], Trigger.Response]:
        def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            controller = self._front.loop.controller
            if controller is None or not self._front.loop.active:
                response.message = "the controller is not active"
                return response
            reason = ask(controller)
            response.success, response.message = not reason, reason or controller.state
            return response

        return answer

    # Streams

    def _on_twist(self, message: TwistStamped) -> None:
        linear, angular = message.twist.linear, message.twist.angular
        twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
        self._twists.append((stamp_to_nanoseconds(message.header.stamp), twist))

    def _twist_at(self, stamp: int) -> Array | None:
        """The twist that came before the pose of a stamp [ns]."""
        take_all(self._twist_commands)
        return next((twist for at, twist in reversed(self._twists) if at == stamp), None)

    def _on_pose(self, message: PoseStamped) -> None:
        controller = self._front.loop.controller
        if controller is None or not self._front.loop.active:
            self._front.events.refuse("pose command refused: the controller is not active")
            return
        try:
            controller.command_pose(self._sample(message, controller))
        except RobotDynamicsError as error:
            self._front.events.refuse(f"pose command refused: {error}")

    def _sample(self, message: PoseStamped, controller: AnyStewartController) -> Sample:
        if message.header.frame_id not in ("", self._base_frame):
            raise ParameterError(
                f"the frame is '{message.header.frame_id}'; it must be empty or {self._base_frame}"
            )
        stamp = stamp_to_nanoseconds(message.header.stamp)
        time = controller.time if stamp == 0 else self._front.loop.clock.seconds(stamp)
        place, turn = message.pose.position, message.pose.orientation
        position = np.array([place.x, place.y, place.z])
        twist = self._twist_at(stamp) if stamp else None
        if not np.isfinite(position).all() or (twist is not None and not np.isfinite(twist).all()):
            raise ParameterError("it is not finite")
        return Sample(time, position, rotation_of([turn.x, turn.y, turn.z, turn.w]), twist)
