"""Robot description that a running robot publishes."""

from __future__ import annotations

import time

from std_msgs.msg import String

from robot_dynamics.errors import ModelError, quoted
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.visit import visiting_node

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
    texts: list[str] = []

    def keep(message: String) -> None:
        texts.append(message.data)

    with visiting_node("description") as (node, executor):
        node.create_subscription(String, topic, keep, qos.DESCRIPTION)
        end = time.monotonic() + patience
        while not texts and time.monotonic() < end:
            executor.spin_once(timeout_sec=0.1)
    if not texts:
        raise ModelError(
            f"{quoted(topic)} is no file, and nobody published a description on a topic of that name within"
            f" {patience:g} s"
        )
    return texts[-1]
