"""Topics for those who look now and then: the newest messages, and whether they still come."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import Any, Generic, Protocol, TypeVar

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data

from robot_dynamics.errors import StateError
from robot_dynamics.ros.support.hot_loop import take_all

STALE = 1.0
"""Steady seconds without a message after which a topic counts as silent."""
KEPT = 10
"""Messages that are remembered, to find two of the same stamp on two topics."""


class Stamped(Protocol):
    """Part of a message that is kept."""

    @property
    def nanoseconds(self) -> int:
        """The message's stamp."""


T = TypeVar("T", bound=Stamped)


class Stream(Generic[T]):
    """The newest messages of a topic.

    A display must not keep up with the control loop: nothing is read until :meth:`take`, and what has been
    overtaken by then is lost. A subclass tells by :meth:`read` what it keeps of a message.

    Args:
        node: gets the subscription.
        kind: type of the messages.
        topic: their topic.

    Attributes:
        topic: its full name.
        fault: what is wrong with the last message; empty when nothing is.
        recent: what was kept, oldest first.
    """

    def __init__(self, node: Node, kind: type, topic: str) -> None:
        self.recent: deque[T] = deque(maxlen=KEPT)
        self.fault = ""
        self._subscription = node.create_subscription(kind, topic, self._keep, qos_profile_sensor_data)
        self.topic = self._subscription.topic_name
        self._arrived = self._heard = -math.inf

    def read(self, message: Any) -> T:
        """Part of a message that is kept; may set ``fault``.

        Raises:
            StateError: the message is of no use.
        """
        raise NotImplementedError

    def take(self) -> None:
        """Read what has arrived."""
        take_all(self._subscription)

    @property
    def newest(self) -> T | None:
        """The last message; None before the first."""
        return self.recent[-1] if self.recent else None

    @property
    def fresh(self) -> T | None:
        """The last message, unless the topic is silent."""
        return self.newest if self.age < STALE else None

    @property
    def age(self) -> float:
        """Steady seconds since a message was kept last; infinite before the first."""
        return time.monotonic() - self._arrived

    @property
    def silent(self) -> bool:
        """Return whether no message comes, not even a useless one."""
        return time.monotonic() - self._heard > STALE

    def at(self, nanoseconds: int) -> T | None:
        """The message with this stamp, if it is remembered."""
        return next((values for values in self.recent if values.nanoseconds == nanoseconds), None)

    def _keep(self, message: Any) -> None:
        self.fault = ""
        self._heard = time.monotonic()
        try:
            kept = self.read(message)
        except StateError as error:
            self.fault = str(error)
            return
        if self.recent and kept.nanoseconds < self.recent[-1].nanoseconds:
            self.recent.clear()
        self.recent.append(kept)
        self._arrived = self._heard
