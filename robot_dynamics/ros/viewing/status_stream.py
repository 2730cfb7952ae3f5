"""A status in words on a topic, for those who look now and then."""

from __future__ import annotations

from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from robot_dynamics.errors import StateError
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.ros.viewing.streams import Stream


@dataclass(frozen=True)
class StampedText:
    """The first status of one message.

    Attributes:
        nanoseconds: the message's stamp.
        text: its words.
    """

    nanoseconds: int
    text: str


class StatusStream(Stream[StampedText]):
    """The newest messages of a DiagnosticArray topic.

    Args:
        node: gets the subscription.
        topic: of the status.
    """

    def __init__(self, node: Node, topic: str) -> None:
        super().__init__(node, DiagnosticArray, topic)

    def read(self, message: DiagnosticArray) -> StampedText:
        """The words; refused when there is no status."""
        if not message.status:
            raise StateError("the message has no status")
        return StampedText(stamp_to_nanoseconds(message.header.stamp), message.status[0].message)
