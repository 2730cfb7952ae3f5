"""Operation of a platform: streams of poses, parking, emergency stop, and its brakes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.ros.control.controller_node import ControllerNode
from robot_dynamics.ros.control.remembered_stops import RememberedStops
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
        self._node, self._controller_node, self._base_frame = node, controller_node, base_frame
        self._stops, self._machine = stops, machine
        self._twists: deque[tuple[int, Array]] = deque(maxlen=TWISTS)
        self._state = ""
        ownership = controller_node.ownership
        ownership.on_disputed = ownership.on_braked = self._protect
        ownership.on_released = self._support
        poses = node.create_subscription(PoseStamped, "~/pose_command", self._on_pose, qos.STREAM)
        self._twist_commands = node.create_subscription(
            TwistStamped, "~/twist_command", self._on_twist, qos.STREAM
        )
        controller_node.loop.ahead = (poses,)
        # Of their own: while one waits until a stop is written, the node's other callbacks go on.
        group = MutuallyExclusiveCallbackGroup()
        for name, ask, inactive in (
            ("park", lambda controller: controller.park(), _refuse),
            ("unpark", lambda controller: controller.unpark(), _refuse),
            ("resume_stream", lambda controller: controller.resume_stream(), _refuse),
            ("emergency_stop", lambda controller: controller.emergency_stop(), self._stop_inactive),
        ):
            node.create_service(Trigger, f"~/{name}", self._service(ask, inactive), callback_group=group)
        node.create_timer(LOOK, self.look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def look(self) -> None:
        """Tell the brakes and the log what has changed; called after each answer, and now and then."""
        controller = self._controller_node.loop.controller
        acting = controller is not None and self._controller_node.loop.active
        self._controller_node.loop.brake(controller is None or not acting or controller.brake)
        if controller is not None and acting:
            self._stops.look(controller)
        state = controller.state if controller is not None and acting else ""
        if state != self._state:
            self._state = state
            if state:
                self._node.get_logger().info(f"the platform: {state}")

    def _protect(self, reason: str) -> None:
        """Others interfere with a moving platform: stop it until somebody calls ``~/unpark``."""
        controller = self._acting
        if controller is not None:
            controller.emergency_stop()
            self.look()
        self._node.get_logger().error(
            f"{reason}: emergency stop{self._controller_node.active_trajectory.dropped()}; call ~/unpark"
        )

    def _support(self, reason: str) -> None:
        """Others have released brakes on which the platform rests: carry it until they hold again."""
        controller = self._acting
        if controller is not None:
            controller.support()
        self._node.get_logger().error(
            f"{reason}: engaged again, and the forces carry the platform until the brakes hold"
        )

    @property
    def _acting(self) -> StewartController | None:
        """The controller, where it is active."""
        loop = self._controller_node.loop
        return loop.controller if loop.active else None

    def _service(
        self, ask: Callable[[StewartController], str], inactive: Callable[[], tuple[bool, str]]
    ) -> Callable[[Trigger.Request, Trigger.Response], Coroutine[Any, Any, Trigger.Response]]:
        async def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            controller = self._controller_node.loop.controller
            if controller is None or not self._controller_node.loop.active:
                response.success, response.message = inactive()
            else:
                reason = ask(controller)
                self.look()
                response.success, response.message = not reason, reason or controller.state
            if failure := await self._stops.written():
                response.message += f"; {failure}"
            return response

        return answer

    def _stop_inactive(self) -> tuple[bool, str]:
        """An emergency stop while no controller is active counts when one is activated."""
        try:
            self._stops.stop(self._machine())
        except RobotDynamicsError as error:
            return False, f"the controller is not active, and the stop cannot be remembered: {error}"
        self._node.get_logger().warning("emergency stop while inactive: activation keeps the brakes engaged")
        return True, "the controller is not active: activation keeps the brakes engaged until ~/unpark"

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
        controller = self._controller_node.loop.controller
        if controller is None or not self._controller_node.loop.active:
            self._controller_node.events.refuse("pose command refused: the controller is not active")
            return
        try:
            controller.command_pose(self._sample(message))
        except RobotDynamicsError as error:
            self._controller_node.events.refuse(f"pose command refused: {error}")

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


def _refuse() -> tuple[bool, str]:
    return False, "the controller is not active"
