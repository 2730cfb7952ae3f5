"""Waypoints of an arm that is moved by hand, into a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics.control.taught_path import TaughtPath, order
from robot_dynamics.inputs.files import open_output
from robot_dynamics.ros.recording.bag import PASSING
from robot_dynamics.ros.support import spin
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds


class WaypointRecorder(Node):
    """Writes a waypoint wherever the arm rests, until the node stops.

    Args:
        path: of the file; it is written anew after each waypoint.
    """

    def __init__(self, path: Path) -> None:
        super().__init__("recorder")
        self._path, self._taught = path, TaughtPath(())
        topic = self.resolve_topic_name("joint_states")
        self.create_subscription(JointState, topic, self._on_state, PASSING)
        self.get_logger().info(
            f"move the arm and let it rest: each place of rest on {topic} becomes a waypoint of {path};"
            " Ctrl-C ends it"
        )

    def on_stop(self) -> None:
        """Report the number of waypoints."""
        self.get_logger().info(f"{len(self._taught.places)} waypoints recorded in {self._path}")

    def _on_state(self, message: JointState) -> None:
        if not self._taught.joint_names:
            self._taught.joint_names = tuple(message.name)
        places = order(message.name, self._taught.joint_names)
        if places is None or len(message.position) != len(message.name):
            return  # of other joints
        position = np.array(message.position)[places]
        stamp = 1e-9 * stamp_to_nanoseconds(message.header.stamp)
        if np.isfinite(position).all() and self._taught.observe(stamp, position):
            with open_output(str(self._path)) as stream:
                stream.writelines(self._taught.lines())
            shown = ", ".join(f"{value:.3f}" for value in position)
            self.get_logger().info(f"waypoint {len(self._taught.places)}: {shown}")


def record_waypoints(path: Path, ros_arguments: Sequence[str]) -> int:
    """Record until SIGINT or SIGTERM; returns the exit code of the process."""
    return spin.run(lambda: WaypointRecorder(path), list(ros_arguments))
