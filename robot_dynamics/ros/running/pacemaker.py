"""Node ``pacemaker``: lets a run in lockstep go no faster than the clock on the wall, for people to watch.

In lockstep the simulator goes on when its state is answered. Here the controller's answers wait until their
stamp is due. A machine that is too busy makes the motion slower, and not less exact.
"""

from __future__ import annotations

import json
import sys
import time

from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics.ros.support import qos, spin
from robot_dynamics.ros.support.hot_loop import spin_on
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds

UNPACED = "unpaced_command"
ARGUMENTS = ("-r", f"joint_command:={UNPACED}")
"""ROS arguments of a controller whose answers are paced."""
FORGIVEN = 50_000_000
"""Delay that is made up for by going faster [ns]; a longer one is accepted. No answer is so early."""


class Pacemaker(Node):
    """Passes the answers on when they are due."""

    def __init__(self) -> None:
        super().__init__("pacemaker")
        self._answers = self.create_publisher(JointState, "joint_command", qos.LOCKSTEP)
        self.commands = self.create_subscription(JointState, UNPACED, self._on_command, qos.LOCKSTEP)
        self._epoch: int | None = None
        self._began = self._first = self._last = 0

    def _on_command(self, message: JointState) -> None:
        stamp, now = stamp_to_nanoseconds(message.header.stamp), time.monotonic_ns()
        if self._epoch is None:
            self._epoch, self._began, self._first = now - stamp, now, stamp
        remaining = self._epoch + stamp - now
        # What a controller sends of its own accord when it halts has the stamp of another clock.
        if remaining < FORGIVEN:
            self._last = stamp
            if remaining > 0:
                time.sleep(1e-9 * remaining)
            elif remaining < -FORGIVEN:
                self._epoch = now - stamp
        self._answers.publish(message)

    def on_stop(self) -> None:
        """Leave in the log how fast the run was, as JSON."""
        elapsed = max(1, time.monotonic_ns() - self._began)
        share = (self._last - self._first) / elapsed
        self.get_logger().info(f"summary: {json.dumps({'real_time_share': round(share, 3)})}")


def main(args: list[str] | None = None) -> int:
    """Entry point of the module."""
    return spin.run(Pacemaker, args, loop=lambda node, stop: spin_on(node, stop, node.commands))


if __name__ == "__main__":
    sys.exit(main())
