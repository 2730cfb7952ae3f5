"""Joint states into a rosbag2, by a library that needs no ROS installation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy
from sensor_msgs.msg import JointState

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import lacking
from robot_dynamics.ros.support import spin

MESSAGE = "sensor_msgs/msg/JointState"
# Best effort meets every publisher; deep enough for a writer that is held up for seconds.
PASSING = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST, depth=5000, reliability=QoSReliabilityPolicy.BEST_EFFORT
)
"""Joint states of any publisher."""


class Recorder(Node):
    """Writes every message of a topic of joint states, as it came, until the node stops.

    Args:
        folder: of the bag; it must not be there yet.
        storage: "sqlite3" or "mcap".

    Raises:
        RobotDynamicsError: rosbags is missing, or the folder cannot be made.
    """

    def __init__(self, folder: Path, storage: str) -> None:
        super().__init__("recorder")
        if folder.exists():
            raise RobotDynamicsError(f"{folder} is there already; a bag needs a folder of its own")
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer
            from rosbags.typesys import Stores, get_typestore
        except ImportError as error:
            raise RobotDynamicsError(lacking("recording needs", "rosbags")) from error
        plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
        self._writer = Writer(folder, version=9, storage_plugin=plugin)
        try:
            self._writer.open()
        except OSError as error:
            raise RobotDynamicsError(f"cannot make the bag {folder}: {error.strerror}") from error
        topic = self.resolve_topic_name("joint_states")
        self._connection = self._writer.add_connection(
            topic, MESSAGE, typestore=get_typestore(Stores.ROS2_JAZZY)
        )
        self._count = 0
        self.create_subscription(JointState, topic, self._on_message, PASSING, raw=True)
        self.get_logger().info(f"recording {topic} to {folder}; Ctrl-C ends it")

    def on_stop(self) -> None:
        """Finish the bag."""
        self._writer.close()
        self.get_logger().info(f"{self._count} messages recorded")

    def _on_message(self, message: Any) -> None:
        """Keep a serialized message."""
        if self._count == 0:
            self.get_logger().info("the first message has come")
        self._writer.write(self._connection, time.time_ns(), bytes(message))
        self._count += 1


def record(folder: Path, storage: str, ros_arguments: Sequence[str]) -> int:
    """Record until SIGINT or SIGTERM; returns the exit code of the process."""

    def recorder() -> Recorder:
        return Recorder(folder, storage)

    return spin.run(recorder, list(ros_arguments))
