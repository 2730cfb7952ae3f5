"""The topics on which efforts and the brake command leave."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from robot_dynamics.ros.support import qos


class CommandTopics:
    """Publishers of efforts, and of the brake command of a robot that has brakes.

    Args:
        node: gets the publishers.
        command: topic of unstamped efforts.
        stamped: topic of the same with names and stamps.
        brake: topic of the brake command; empty: there are no brakes.

    Attributes:
        names: topics of unstamped efforts and of the brake command, before remapping.
        brake: publisher of the brake command; None where there are no brakes.
    """

    def __init__(self, node: Node, command: str, stamped: str, brake: str = "") -> None:
        self.names = command, brake
        self._commands = qos.publisher(node, Float64MultiArray, command, qos.COMMAND)
        self._stamped = qos.publisher(node, JointState, stamped, qos.LOCKSTEP)
        self.brake: Publisher | None = None
        if brake:
            self.brake = node.create_publisher(Bool, brake, qos.DESCRIPTION)

    @property
    def publishers(self) -> tuple[Publisher, Publisher]:
        """Of stamped and of unstamped efforts, for who sends bytes."""
        return self._stamped, self._commands

    @property
    def topic(self) -> str:
        """Full name of the topic of unstamped efforts."""
        return str(self._commands.topic_name)

    def publish(self, stamped: bytes, command: bytes) -> None:
        """Send the same efforts on both topics, as messages in bytes."""
        # The stamped command first: a plant in lockstep goes on as soon as it has it.
        self._stamped.publish(stamped)
        self._commands.publish(command)

    def engage(self) -> None:
        """Engage the brakes, and wait for a moment until that has arrived."""
        if self.brake is not None:
            self.brake.publish(Bool(data=True))
            self.brake.wait_for_all_acked(qos.PARTING_WORD)

    def flush(self) -> None:
        """Wait until the last commands have arrived: lost, the ones before would stay."""
        self._commands.wait_for_all_acked(qos.LAST_WORD)
        if self.brake is not None:
            self.brake.wait_for_all_acked(qos.LAST_WORD)
