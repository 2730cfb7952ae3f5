"""Node ``relay``: answers every joint state with a command of zeros and does nothing else.

It sends what the controller sends, so its timing is what ROS 2, rclpy and this machine allow; the
controller's timing is read beside it. With the parameter ``bytes`` no message becomes an object: the answer
is ready but for its stamp, which is copied from the state's bytes.
"""

from __future__ import annotations

import gc
import sys

import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros.support import qos, spin
from robot_dynamics.ros.support.messages import to_array

STAMP = slice(4, 12)
"""Offset of the stamp in a message that begins with a header [bytes]."""


class Relay(Node):
    """The smallest possible controller."""

    def __init__(self) -> None:
        super().__init__("relay")
        raw = bool(self.declare_parameter("bytes", False).value)
        self._commands = self.create_publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        self._stamped = self.create_publisher(JointState, "joint_command", qos.LOCKSTEP)
        self._array = Float64MultiArray()
        self._answer = JointState()
        self._bytes: tuple[bytearray, bytes] | None = None
        callback = self._on_bytes if raw else self._on_state
        self.create_subscription(JointState, "joint_states", callback, qos.STATE_SUBSCRIPTION, raw=raw)
        gc.freeze()

    def _on_state(self, message: JointState) -> None:
        self._fill(message)
        self._stamped.publish(self._answer)
        self._commands.publish(self._array)

    def _on_bytes(self, data: bytes) -> None:
        if self._bytes is None:
            self._fill(deserialize_message(data, JointState))
            self._bytes = bytearray(serialize_message(self._answer)), bytes(serialize_message(self._array))
        answer, array = self._bytes
        answer[STAMP] = data[STAMP]
        self._stamped.publish(bytes(answer))
        self._commands.publish(array)

    def _fill(self, message: JointState) -> None:
        """Make the answer to a state."""
        effort = to_array(np.zeros(len(message.name)))
        self._answer.header.stamp = message.header.stamp
        self._answer.name = message.name
        self._answer.effort = effort
        self._array.data = effort


def main(args: list[str] | None = None) -> int:
    """Entry point of the module."""
    return spin.run(Relay, args)


if __name__ == "__main__":
    sys.exit(main())
