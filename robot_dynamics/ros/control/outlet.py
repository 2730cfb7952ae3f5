"""Where efforts leave: the two command topics, and the messages of one controller on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros.control.loop import C
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import set_stamp, to_array
from robot_dynamics.spatial import Array


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

    def publish(self, stamped: JointState, command: Float64MultiArray) -> None:
        """Send the same efforts on both topics."""
        # The stamped command first: a plant in lockstep goes on as soon as it has it.
        self._stamped.publish(stamped)
        self._commands.publish(command)

    def others(self) -> str:
        """Who else sends efforts, where somebody does; else empty."""
        name = self._commands.topic_name
        senders = self._node.count_publishers(name)
        return f"{senders} publishers on {name}: efforts of others get in between" if senders > 1 else ""

    def flush(self) -> None:
        """Wait until the last command has arrived: it is no effort; lost, the one before would stay."""
        self._commands.wait_for_all_acked(qos.LAST_WORD)


class Outlet(Generic[C]):
    """The efforts of one controller on their way out; its messages are made once.

    Args:
        topics: where they go.
        controller: whose efforts they are.
        joint_names: of its joints, in its order.
        fill: adds what the controller knows to the stamped command, beside the efforts.
    """

    def __init__(
        self,
        topics: CommandTopics,
        controller: C,
        joint_names: Sequence[str],
        fill: Callable[[JointState, C], None],
    ) -> None:
        self.controller = controller
        self._topics = topics
        self._fill = fill
        self._stamped = JointState(name=list(joint_names))
        self._command = Float64MultiArray()

    def send(self, effort: Array, nanoseconds: int) -> None:
        """Send efforts (n,) that answer the state with this stamp."""
        values = to_array(effort)
        set_stamp(self._stamped.header.stamp, nanoseconds)
        self._stamped.effort = values
        self._fill(self._stamped, self.controller)
        self._command.data = values
        self._topics.publish(self._stamped, self._command)

    def safe_effort(self, since: float) -> Array:
        """(n,) what the controller declares as safe, ``since`` seconds after the fault began.

        No effort at all where the controller itself is the fault.
        """
        try:
            return np.asarray(self.controller.safe_command(since).effort)
        except Exception:
            return np.zeros(len(self._stamped.name))
