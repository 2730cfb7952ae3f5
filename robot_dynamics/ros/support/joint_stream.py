"""Joint values on a topic, for those who look now and then: the newest messages, by joint name."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from robot_dynamics.ros.support.hot_loop import take_all
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds

STALE = 1.0
"""Steady seconds without a message after which a topic counts as silent."""
KEPT = 10
"""Messages that are remembered, to find two of the same stamp on two topics."""


@dataclass(frozen=True)
class JointValues:
    """The finite values of one message.

    Attributes:
        nanoseconds: the message's stamp.
        position: by joint name [rad or m].
        effort: by joint name [N·m or N].
    """

    nanoseconds: int
    position: Mapping[str, float]
    effort: Mapping[str, float]


class JointStream:
    """The newest messages of a JointState topic.

    A display must not keep up with the control loop: nothing is read until :meth:`take`, and what has been
    overtaken by then is lost.

    Args:
        node: gets the subscription.
        topic: of joint states, commands or references.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self.recent: deque[JointValues] = deque(maxlen=KEPT)
        self.fault = ""
        self._subscription = node.create_subscription(JointState, topic, self._keep, qos_profile_sensor_data)
        self.topic = self._subscription.topic_name
        self._arrived = -math.inf

    def take(self) -> None:
        """Read what has arrived."""
        take_all(self._subscription)

    @property
    def newest(self) -> JointValues | None:
        """The last message; None before the first."""
        return self.recent[-1] if self.recent else None

    @property
    def age(self) -> float:
        """Steady seconds since a message was read last; infinite before the first."""
        return time.monotonic() - self._arrived

    def at(self, nanoseconds: int) -> JointValues | None:
        """The message with this stamp, if it is remembered."""
        return next((values for values in self.recent if values.nanoseconds == nanoseconds), None)

    def _keep(self, message: JointState) -> None:
        count = len(message.name)
        for field in ("position", "effort"):
            if len(getattr(message, field)) not in (0, count):
                self.fault = f"{len(getattr(message, field))} values of {field} for {count} joint names"
                return
        position = _finite(message.name, message.position)
        self.fault = ""
        if len(position) < len(message.position):
            bad = [name for name in message.name if name not in position]
            self.fault = f"the position of {', '.join(bad)} is not a finite number"
        stamp = stamp_to_nanoseconds(message.header.stamp)
        if self.recent and stamp < self.recent[-1].nanoseconds:
            self.recent.clear()
        self.recent.append(JointValues(stamp, position, _finite(message.name, message.effort)))
        self._arrived = time.monotonic()


def _finite(names: list[str], values: list[float]) -> dict[str, float]:
    return {name: value for name, value in zip(names, values, strict=False) if math.isfinite(value)}
