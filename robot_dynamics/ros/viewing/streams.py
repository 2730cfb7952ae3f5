"""Topics that a display reads now and then: the newest messages, and whether they still come."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from robot_dynamics.errors import StateError
from robot_dynamics.ros.support.hot_loop import take_all
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_of

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
        topic: of the messages.

    Attributes:
        KIND: type of the messages, set by the subclass.
        topic: its full name.
        fault: what is wrong with the last message; empty when nothing is.
        recent: what was kept, oldest first.
    """

    KIND: ClassVar[type]

    def __init__(self, node: Node, topic: str) -> None:
        self.recent: deque[T] = deque(maxlen=KEPT)
        self.fault = ""
        self._subscription = node.create_subscription(self.KIND, topic, self._keep, qos_profile_sensor_data)
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


@dataclass(frozen=True)
class StampedPose:
    """The pose of one message.

    Attributes:
        nanoseconds: the message's stamp.
        position: (3,) [m].
        rotation: (3, 3).
    """

    nanoseconds: int
    position: Array
    rotation: Array


class PoseStream(Stream[StampedPose]):
    """The newest messages of a PoseStamped topic."""

    KIND = PoseStamped

    def read(self, message: PoseStamped) -> StampedPose:
        """The pose; refused when it is none."""
        place, turn = message.pose.position, message.pose.orientation
        position = np.array([place.x, place.y, place.z])
        if not np.isfinite(position).all():
            raise StateError("the position is not finite")
        rotation = rotation_of([turn.x, turn.y, turn.z, turn.w])
        return StampedPose(stamp_to_nanoseconds(message.header.stamp), position, rotation)


@dataclass(frozen=True)
class StampedText:
    """The first status of one message.

    Attributes:
        nanoseconds: the message's stamp.
        text: its words.
    """

    nanoseconds: int
    text: str


class StatusStream(Stream[StampedText]):
    """The newest messages of a DiagnosticArray topic."""

    KIND = DiagnosticArray

    def read(self, message: DiagnosticArray) -> StampedText:
        """The words; refused when there is no status."""
        if not message.status:
            raise StateError("the message has no status")
        return StampedText(stamp_to_nanoseconds(message.header.stamp), message.status[0].message)


@dataclass(frozen=True)
class WrenchValues:
    """One message.

    Attributes:
        nanoseconds: the message's stamp.
        link: on which it acts.
        values: (6,) force and torque in the link's axes [N, N·m].
    """

    nanoseconds: int
    link: str
    values: Array


class WrenchStream(Stream[WrenchValues]):
    """The newest messages of a WrenchStamped topic."""

    KIND = WrenchStamped

    def read(self, message: WrenchStamped) -> WrenchValues:
        """The wrench, if it is finite."""
        force, torque = message.wrench.force, message.wrench.torque
        values = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        if not np.isfinite(values).all():
            raise StateError("a wrench that is not finite")
        return WrenchValues(stamp_to_nanoseconds(message.header.stamp), message.header.frame_id, values)


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


class ShownJoints(Stream[JointValues]):
    """The newest messages of a topic of joint states, commands or references."""

    KIND = JointState

    def read(self, message: JointState) -> JointValues:
        """The finite values; names those that are not."""
        count = len(message.name)
        for field in ("position", "effort"):
            if len(getattr(message, field)) not in (0, count):
                raise StateError(f"{len(getattr(message, field))} values of {field} for {count} joint names")
        position = _finite(message.name, message.position)
        if len(position) < len(message.position):
            bad = [name for name in message.name if name not in position]
            self.fault = f"the position of {', '.join(bad)} is not a finite number"
        stamp = stamp_to_nanoseconds(message.header.stamp)
        return JointValues(stamp, position, _finite(message.name, message.effort))


def _finite(names: list[str], values: list[float]) -> dict[str, float]:
    return {name: value for name, value in zip(names, values, strict=False) if math.isfinite(value)}
