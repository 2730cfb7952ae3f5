"""Target poses of an arm on a topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.lifecycle import LifecycleNode

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.target_pose import TargetPose
from robot_dynamics.errors import ParameterError, RobotDynamicsError, quoted
from robot_dynamics.ros.control.controller_node import ControllerNode
from robot_dynamics.ros.control.planner import Head, PlanRequest
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.stewart.orientation import rotation_of

TOPIC = "~/target_pose"


class TargetPoseTopic:
    """Hands target poses to the planner of a node.

    Args:
        node: gets the subscription.
        controller_node: of the node.
        rules: gives the rules of trajectories.
        followed: called with a trajectory to a pose when it is followed from now on.
    """

    def __init__(
        self,
        node: LifecycleNode,
        controller_node: ControllerNode[ArmController],
        rules: Callable[[], PathRules],
        followed: Callable[[Any], None],
    ) -> None:
        self._log = node.get_logger()
        self._controller_node = controller_node
        self._rules = rules
        self._followed = followed
        self._refused = ""
        node.create_subscription(PoseStamped, TOPIC, self._on_pose, qos.STREAM)
        node.create_subscription(WrenchStamped, "~/target_wrench", self._on_wrench, qos.COMMAND)

    def _on_wrench(self, message: WrenchStamped) -> None:
        """Push with the wrench; what is refused is logged once."""
        controller, force, torque = (
            self._controller_node.loop.controller,
            message.wrench.force,
            message.wrench.torque,
        )
        reason = "the controller is not active"
        if controller is not None and self._controller_node.loop.active:
            root, frame = controller.chain.root, message.header.frame_id
            reason = f"the frame is {quoted(frame)}; it must be empty or {quoted(root)}"
            if frame in ("", root):
                reason = controller.push(np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z]))
        if reason and reason != self._refused:
            self._controller_node.events.refuse(f"target wrench refused: {reason}")
        self._refused = reason

    def _on_pose(self, message: PoseStamped) -> None:
        controller = self._controller_node.loop.controller
        if controller is None or not self._controller_node.loop.active:
            self._refuse("the controller is not active")
            return
        try:
            request = self._request(controller, message)
        except RobotDynamicsError as error:
            self._refuse(str(error))
            return
        head = Head(TOPIC, frozenset(controller.chain.joint_names), request.stamp)
        self._controller_node.planner.follow(lambda: request, self._tell, self._refuse, head=head)

    def _request(self, controller: ArmController, message: PoseStamped) -> PlanRequest:
        root = controller.chain.root
        if message.header.frame_id not in ("", root):
            raise ParameterError(
                f"the frame is {quoted(message.header.frame_id)}; it must be empty or {quoted(root)}"
            )
        place, turn = message.pose.position, message.pose.orientation
        pose = np.eye(4)
        pose[:3, 3] = place.x, place.y, place.z
        if not np.isfinite(pose).all():
            raise ParameterError("its position is not finite")
        pose[:3, :3] = rotation_of([turn.x, turn.y, turn.z, turn.w])
        target, rules = TargetPose(pose), self._rules()
        stamp = stamp_to_nanoseconds(message.header.stamp)
        return PlanRequest(stamp, 1, lambda plan_start: controller.plan_pose(target, plan_start, rules))

    def _tell(self, trajectory: Any) -> None:
        if not trajectory.streamed:
            duration = trajectory.arrival - trajectory.start
            self._log.info(f"moving to a target pose in {duration:.3f} s")
        self._controller_node.active_trajectory.began("a target pose", trajectory)
        self._followed(trajectory)

    def _refuse(self, reason: str) -> None:
        self._controller_node.events.refuse(f"target pose refused: {reason}")
