"""Joint values on a topic, for those who look now and then: the newest messages, by joint name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics.errors import StateError
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.ros.viewing.streams import STALE as STALE
from robot_dynamics.ros.viewing.streams import Stream


@dataclass(frozen=True)
class JointValues:
    """The finite values of one message.

    Attributes:
        nanoseconds: the message's stamp.
        position: by joint name [rad or m].
        effort: by joint name [N·m or N].
    """

    nanoseconds: int
    position: Mapping[str, float]
    effort: Mapping[str, float]


class ShownJoints(Stream[JointValues]):
    """The newest messages of a JointState topic.

    Args:
        node: gets the subscription.
        topic: of joint states, commands or references.
    """

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, JointState, topic)

    def read(self, message: JointState) -> JointValues:
        """The finite values; names those that are not."""
        count = len(message.name)
        for field in ("position", "effort"):
            if len(getattr(message, field)) not in (0, count):
                raise StateError(f"{len(getattr(message, field))} values of {field} for {count} joint names")
        position = _finite(message.name, message.position)
        if len(position) < len(message.position):
            bad = [name for name in message.name if name not in position]
            self.fault = f"the position of {', '.join(bad)} is not a finite number"
        stamp = stamp_to_nanoseconds(message.header.stamp)
        return JointValues(stamp, position, _finite(message.name, message.effort))


def _finite(names: list[str], values: list[float]) -> dict[str, float]:
    return {name: value for name, value in zip(names, values, strict=False) if math.isfinite(value)}
