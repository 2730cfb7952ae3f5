"""Node ``pacemaker``: lets a run in lockstep go no faster than the clock on the wall, for people to watch.

In lockstep the simulator goes on when its state is answered. Here the controller's answers wait until their
stamp is due. A machine that is too busy makes the motion slower, and not less exact.

While the efforts stay the same, simulated time passes more slowly: a robot at rest needs few cycles. Who
waits for simulated time has it pass as usual by the parameter ``slower_at_rest``.
"""

from __future__ import annotations

import json
import sys
import time

from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics.ros.support import qos, spin
from robot_dynamics.ros.support.hot_loop import AT_REST, spin_on
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds

UNPACED = "unpaced_command"
ARGUMENTS = ("-r", f"joint_command:={UNPACED}")
"""ROS arguments of a controller whose answers are paced."""
FORGIVEN = 50_000_000
"""Delay that is made up for by going faster [ns]; a longer one is accepted. No answer is so early."""
REST = 1.0
"""Time for which the efforts stay as they are before the robot counts as at rest [s]."""
UNCHANGED = 1e-4
"""Largest change of an effort at rest, as a share of the largest effort [N·m or N]."""
SLOWER_AT_REST = "slower_at_rest"
"""Parameter, which may be set while the node runs: whether time passes more slowly at rest."""
SLOWER = 15
"""Time at rest passes so many times slower."""


class Pacemaker(Node):
    """Passes the answers on when they are due."""

    def __init__(self) -> None:
        super().__init__("pacemaker")
        self.declare_parameter(SLOWER_AT_REST, True)
        self._answers = self.create_publisher(JointState, "joint_command", qos.LOCKSTEP)
        self.commands = self.create_subscription(JointState, UNPACED, self._on_command, qos.LOCKSTEP)
        self._epoch: int | None = None
        self._began = self._first = self._last = 0
        self._efforts: list[float] = []
        self._changed = 0.0

    def _on_command(self, message: JointState) -> None:
        stamp, now = stamp_to_nanoseconds(message.header.stamp), time.monotonic_ns()
        if self._epoch is None:
            self._epoch, self._began, self._first = now - stamp, now, stamp
        remaining = self._epoch + stamp - now
        # What a controller sends of its own accord when it halts has the stamp of another clock.
        if remaining < FORGIVEN:
            if self._rests(message) and self.get_parameter(SLOWER_AT_REST).value:
                slow = (SLOWER - 1) * (stamp - self._last)
                remaining, self._epoch = remaining + slow, self._epoch + slow
            self._last = stamp
            if remaining > 0:
                time.sleep(1e-9 * remaining)
            elif remaining < -FORGIVEN:
                self._epoch = now - stamp
        self._answers.publish(message)

    def _rests(self, message: JointState) -> bool:
        """Return whether the efforts have stayed as they are for a while."""
        efforts, now = list(message.effort), time.monotonic()
        least = UNCHANGED * max(1e-3, *map(abs, efforts)) if efforts else 0.0
        if len(efforts) != len(self._efforts) or any(
            not abs(one - other) <= least for one, other in zip(efforts, self._efforts, strict=True)
        ):
            self._efforts, self._changed = efforts, now
        return now - self._changed > REST

    def on_stop(self) -> None:
        """Leave in the log how fast the run was, as JSON."""
        elapsed = max(1, time.monotonic_ns() - self._began)
        share = (self._last - self._first) / elapsed
        self.get_logger().info(f"summary: {json.dumps({'real_time_share': round(share, 3)})}")


def main(args: list[str] | None = None) -> int:
    """Entry point of the module."""
    return spin.run(Pacemaker, args, loop=lambda node, stop: spin_on(node, stop, node.commands, AT_REST))


if __name__ == "__main__":
    sys.exit(main())
