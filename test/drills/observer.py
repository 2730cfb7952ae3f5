"""A process that watches the topics of a drill and writes down what passes, for others to judge.

It knows nothing of the package: rclpy and the messages alone. Each line of its file is a JSON list of the
steady time of arrival [s], the topic as it was given, the stamp [ns] and the numbers.

    RD_OBSERVED="FILE KIND=TOPIC..." python observer.py
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

Entry = tuple[int, list[float]]
EVERYTHING = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST, depth=5000, reliability=QoSReliabilityPolicy.RELIABLE
)


def _stamp(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _points(message: JointTrajectory) -> Entry:
    """All efforts of a trajectory in one row."""
    return _stamp(message), [effort for point in message.points for effort in point.effort]


def _place(message: PoseStamped) -> Entry:
    at = message.pose.position
    return _stamp(message), [at.x, at.y, at.z]


KINDS: dict[str, tuple[type, Callable[[Any], Entry]]] = {
    "array": (Float64MultiArray, lambda message: (0, list(message.data))),
    "efforts": (JointState, lambda message: (_stamp(message), list(message.effort))),
    "place": (PoseStamped, _place),
    "positions": (JointState, lambda message: (_stamp(message), list(message.position))),
    "trajectory": (JointTrajectory, _points),
}


def main(file: str, *watched: str) -> None:
    """Write down everything until SIGINT."""
    rclpy.init(args=[])
    node = rclpy.create_node("observer")
    with Path(file).open("w", encoding="utf-8") as record:

        def watch(kind: str, topic: str) -> None:
            message_type, read = KINDS[kind]

            def note(message: Any) -> None:
                record.write(json.dumps([time.monotonic(), topic, *read(message)]) + "\n")

            node.create_subscription(message_type, topic, note, EVERYTHING)

        for one in watched:
            watch(*one.split("=", 1))
        node.create_timer(0.05, record.flush)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        print("observing", flush=True)
        with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
            executor.spin()


if __name__ == "__main__":
    main(*os.environ["RD_OBSERVED"].split())
