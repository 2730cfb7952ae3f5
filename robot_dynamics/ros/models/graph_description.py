"""Robot description that a running robot publishes."""

from __future__ import annotations

import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.errors import ModelError, quoted
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.isolation import use_sockets

PATIENCE = 5.0
"""Longest wait for the description [s]."""


def description_from(topic: str, patience: float = PATIENCE) -> str:
    """Return the newest description on a topic.

    Args:
        topic: name of the topic, such as /robot_description.
        patience: longest wait [s].

    Raises:
        ModelError: nobody publishes a description there.
    """
    use_sockets()
    context = rclpy.Context()
    rclpy.init(context=context, args=[])
    node = Node("description", context=context, use_global_arguments=False, start_parameter_services=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    texts: list[str] = []
    try:

        def keep(message: String) -> None:
            texts.append(message.data)

        node.create_subscription(String, topic, keep, qos.DESCRIPTION)
        end = time.monotonic() + patience
        while not texts and time.monotonic() < end:
            executor.spin_once(timeout_sec=0.1)
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
    if not texts:
        raise ModelError(
            f"{quoted(topic)} is no file, and nobody published a description on a topic of that name within"
            f" {patience:g} s"
        )
    return texts[-1]
