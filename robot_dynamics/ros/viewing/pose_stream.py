"""Poses on a topic, for those who look now and then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

from robot_dynamics.errors import StateError
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.ros.viewing.streams import Stream
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_of


@dataclass(frozen=True)
class StampedPose:
    """The pose of one message.

    Attributes:
        nanoseconds: the message's stamp.
        position: (3,) [m].
        rotation: (3, 3).
    """

    nanoseconds: int
    position: Array
    rotation: Array


class PoseStream(Stream[StampedPose]):
    """The newest messages of a PoseStamped topic.

    Args:
        node: gets the subscription.
        topic: of poses.
    """

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, PoseStamped, topic)

    def read(self, message: PoseStamped) -> StampedPose:
        """The pose; refused when it is none."""
        place, turn = message.pose.position, message.pose.orientation
        position = np.array([place.x, place.y, place.z])
        if not np.isfinite(position).all():
            raise StateError("the position is not finite")
        rotation = rotation_of([turn.x, turn.y, turn.z, turn.w])
        return StampedPose(stamp_to_nanoseconds(message.header.stamp), position, rotation)
