"""Reports of a platform under control: poses, its transform, and a picture for rviz."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import PoseStamped, TransformStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.platform_model import ReportedPose
from robot_dynamics.ros.control.host import Host
from robot_dynamics.ros.control.records import Cycle, Cycles
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp
from robot_dynamics.ros.viewing.stewart_markers import stewart_markers
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Machine
from robot_dynamics.stewart.orientation import quaternion_from_rotation

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

MARKER_PERIOD = 0.05
"""Seconds between two pictures for rviz."""


class StewartReports:
    """Publishes where a platform is and shall be, each while somebody listens.

    Args:
        node: gets the publishers.
        loop: has the controller.
        base_frame: frame of the machine's base.
        platform_frame: frame of the platform.
    """

    def __init__(
        self, node: Node, loop: Host[StewartController], base_frame: str, platform_frame: str
    ) -> None:
        self._loop = loop
        self._base_frame, self._platform_frame = base_frame, platform_frame
        self._last: Cycle | None = None
        self._pose = node.create_publisher(PoseStamped, "~/pose", qos.LOCKSTEP)
        self._reference = node.create_publisher(PoseStamped, "~/reference", qos.LOCKSTEP)
        self._markers = node.create_publisher(MarkerArray, "~/markers", qos.TRAJECTORY)
        self._transforms = None if TFMessage is None else node.create_publisher(TFMessage, "/tf", 10)
        node.create_timer(MARKER_PERIOD, self._draw, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def forget(self) -> None:
        """The machine is another from now on."""
        self._last = None

    def publish_all(self, cycles: Cycles, machine: Machine) -> bool:
        """The same of many cycles, as the loop in C has recorded them; whether anybody listens."""
        self._last = cycles[-1]
        publishers = (self._pose, self._reference, self._transforms)
        if not any(one is not None and one.get_subscription_count() for one in publishers):
            return False
        for row, cycle in zip(cycles.rows, cycles, strict=True):
            self.publish(cycle, ReportedPose(machine, row["telemetry"]))
        return True

    def publish(self, cycle: Cycle, pose: ReportedPose) -> None:
        """Estimated and wanted pose of a cycle; the transform where tf2 is there."""
        self._last = cycle
        if self._pose.get_subscription_count():
            self._pose.publish(self._stamped_pose(cycle, pose.position, pose.quaternion))
        if self._reference.get_subscription_count():
            wanted = cycle.command.reference
            quaternion = quaternion_from_rotation(wanted.rotation).tolist()
            self._reference.publish(self._stamped_pose(cycle, wanted.position, quaternion))
        if self._transforms is not None and self._transforms.get_subscription_count():
            transform = self._transform(cycle, pose.position, pose.quaternion)
            self._transforms.publish(TFMessage(transforms=[transform]))

    def _header(self, cycle: Cycle) -> Header:
        return Header(stamp=nanoseconds_to_stamp(cycle.nanoseconds), frame_id=self._base_frame)

    def _stamped_pose(self, cycle: Cycle, position: Array, quaternion: Sequence[float]) -> PoseStamped:
        message = PoseStamped(header=self._header(cycle))
        place, turn = message.pose.position, message.pose.orientation
        place.x, place.y, place.z = position.tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion
        return message

    def _transform(self, cycle: Cycle, position: Array, quaternion: Sequence[float]) -> TransformStamped:
        message = TransformStamped(header=self._header(cycle), child_frame_id=self._platform_frame)
        place, turn = message.transform.translation, message.transform.rotation
        place.x, place.y, place.z = position.tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion
        return message

    def _draw(self) -> None:
        controller, cycle = self._loop.controller, self._last
        if cycle is None or controller is None or not self._markers.get_subscription_count():
            return
        pose = controller.pose
        self._markers.publish(
            stewart_markers(
                self._header(cycle),
                controller.platform,
                pose.position,
                pose.rotation,
                np.asarray(cycle.command.effort),
                pose.condition_number,
            )
        )
