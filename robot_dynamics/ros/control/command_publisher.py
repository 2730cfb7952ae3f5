"""The two topics on which efforts leave."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros.support import qos


class CommandTopics:
    """Publishers of efforts.

    Args:
        node: gets the publishers.
        command: topic of unstamped efforts.
        stamped: topic of the same with names and stamps.
    """

    def __init__(self, node: Node, command: str, stamped: str) -> None:
        self._node = node
        self._commands = qos.publisher(node, Float64MultiArray, command, qos.COMMAND)
        self._stamped = qos.publisher(node, JointState, stamped, qos.LOCKSTEP)

    @property
    def publishers(self) -> tuple[Publisher, Publisher]:
        """Of stamped and of unstamped efforts, for who sends bytes."""
        return self._stamped, self._commands

    def publish(self, stamped: bytes, command: bytes) -> None:
        """Send the same efforts on both topics, as messages in bytes."""
        # The stamped command first: a plant in lockstep goes on as soon as it has it.
        self._stamped.publish(stamped)
        self._commands.publish(command)

    def others(self) -> str:
        """Other senders of efforts; empty where there are none."""
        name = self._commands.topic_name
        senders = self._node.count_publishers(name)
        return f"{senders} publishers on {name}: efforts of others get in between" if senders > 1 else ""

    def flush(self) -> None:
        """Wait until the last command has arrived: it is no effort; lost, the one before would stay."""
        self._commands.wait_for_all_acked(qos.LAST_WORD)
