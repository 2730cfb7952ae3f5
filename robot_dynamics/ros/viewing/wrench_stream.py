"""External wrenches on a topic, for those who look now and then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from robot_dynamics.errors import StateError
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.ros.viewing.streams import Stream
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class WrenchValues:
    """One message.

    Attributes:
        nanoseconds: the message's stamp.
        link: on which it acts.
        values: (6,) force and torque in the link's axes [N, N·m].
    """

    nanoseconds: int
    link: str
    values: Array


class WrenchStream(Stream[WrenchValues]):
    """The newest messages of a WrenchStamped topic."""

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, WrenchStamped, topic)

    def read(self, message: WrenchStamped) -> WrenchValues:
        """The wrench, if it is finite."""
        force, torque = message.wrench.force, message.wrench.torque
        values = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        if not np.isfinite(values).all():
            raise StateError("a wrench that is not finite")
        return WrenchValues(stamp_to_nanoseconds(message.header.stamp), message.header.frame_id, values)
