"""Node ``relay``: answers every joint state with a command of zeros and does nothing else.

It sends what the controller sends, so its timing is what ROS 2 and this machine allow; the controller's
timing is read beside it.
"""

from __future__ import annotations

import gc
import sys

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros.support import qos, spin
from robot_dynamics.ros.support.messages import to_array


class Relay(Node):
    """The smallest possible controller."""

    def __init__(self) -> None:
        super().__init__("relay")
        self._commands = self.create_publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        self._stamped = self.create_publisher(JointState, "joint_command", qos.LOCKSTEP)
        self._array = Float64MultiArray()
        self._answer = JointState()
        self.create_subscription(JointState, "joint_states", self._on_state, qos.STATE_SUBSCRIPTION)
        gc.freeze()

    def _on_state(self, message: JointState) -> None:
        effort = to_array(np.zeros(len(message.name)))
        self._answer.header.stamp = message.header.stamp
        self._answer.name = message.name
        self._answer.effort = effort
        self._stamped.publish(self._answer)
        self._array.data = effort
        self._commands.publish(self._array)


def main(args: list[str] | None = None) -> int:
    """Entry point of the module."""
    return spin.run(Relay, args)


if __name__ == "__main__":
    sys.exit(main())
