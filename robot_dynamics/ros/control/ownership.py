"""Ownership of a robot: nodes notice each other, before they are activated and afterwards."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer

from robot_dynamics.errors import ParameterError, shown
from robot_dynamics.ros.control.command_publisher import CommandTopics
from robot_dynamics.ros.control.host import Host
from robot_dynamics.ros.support.processes import OWN_DOMAIN

LISTENING = 1.0
"""Time for which a node listens before it may be activated, and silence of others that it waits for [s]."""
RETRY = 1.0
"""Time between two tries of a node that is to start by itself [s]."""
LOOK = 0.02
"""Time between two looks while a transition waits [s]."""
_BYTES = 16
_NEVER = -(2**63)


class Ownership:
    """Notices who else sends efforts and brake commands, and decides whether this node may.

    Args:
        node: of the controller.
        topics: on which it sends.
        loop: that hears the others.

    Attributes:
        on_yielded: called when the loop has fallen silent because of others, with the reason, and whether
            this node had been activated only a moment before.
        on_disputed: called with the reason when efforts of others go on.
        on_braked: called with the reason when others have engaged the brakes.
        on_released: called with the reason when others have released engaged brakes.
    """

    def __init__(self, node: Node, topics: CommandTopics, loop: Host[Any]) -> None:
        self.on_yielded: Callable[[str, bool], None] = lambda reason, newcomer: None
        self.on_disputed: Callable[[str], None] = lambda reason: None
        self.on_braked: Callable[[str], None] = lambda reason: None
        self.on_released: Callable[[str], None] = lambda reason: None
        self._node, self._topics, self._loop = node, topics, loop
        self._began = time.monotonic()
        self._retry: Timer | None = None
        self._told = ""
        self._yielded = False
        self._seen = (0, 0, 0)
        self._found: dict[bytes, float] = {}
        loop.looks.append(self._look)

    # Before an activation

    @property
    def rest(self) -> float:
        """Time that is still to be listened before an activation [s]."""
        if not self._loop.hears or (os.environ.get(OWN_DOMAIN) == "1" and not self._publishers()):
            return 0.0
        now = time.monotonic()
        # Who has just been discovered is listened to as long; states show that discovery works at all.
        states = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name("joint_states"))
        senders = {*self._publishers(), *(bytes(info.endpoint_gid[:_BYTES]) for info in states)}
        self._found = found = {sender: self._found.get(sender, now) for sender in senders}
        return max(0.0, LISTENING - (now - max([self._began, *found.values()])))

    def refusal(self) -> str:
        """Reason why this node must not be activated now; empty where it may."""
        if not self._loop.hears:
            return ""
        self._loop.listen()
        return self._heard()

    def check(self) -> None:
        """Listen as long as it takes.

        Raises:
            ParameterError: somebody else commands the robot.
        """
        while rest := self.rest:
            time.sleep(min(rest, LOOK))
            self._loop.listen()
        if reason := self.refusal():
            raise ParameterError(f"{reason}: it commands the robot; deactivate or end it first")
        if silent := self._publishers():
            names = shown(*sorted(silent.values()))
            self._node.get_logger().warning(
                f"{names} can publish {self._topics.topic} too, but sends nothing now:"
                " a spare, or one that was killed"
            )

    def when_clear(self, start: Callable[[], None]) -> bool:
        """Check whether a node may start by itself now; else call ``start`` when it is time to ask again."""
        if self._retry is not None:
            self._node.destroy_timer(self._retry)
            self._retry = None
        if not (rest := self.rest) and not (reason := self.refusal()):
            self._told = ""
            return True
        if not rest and reason != self._told:
            self._told = reason
            self._node.get_logger().warning(
                f"not activated: {reason}: it commands the robot; tried again each second"
            )
        self._retry = self._node.create_timer(
            rest or RETRY, start, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        return False

    # Afterwards

    def warning(self) -> str:
        """Other publishers of efforts, for the diagnostics; empty where there are none."""
        others = self._publishers()
        if heard := self._heard():
            return heard
        return f"{shown(*sorted(others.values()))} can publish {self._topics.topic} too" if others else ""

    def _look(self) -> float:
        """Report what the loop has noticed since the last call."""
        others = self._loop.others()
        yielded = others.right == self._loop.library.RD_YIELDED
        if yielded and not self._yielded:
            after = " after this process stood still" if others.paused else ""
            self._yielded = True
            self.on_yielded(f"{self._arrive(others)}{after}", bool(others.newcomer))
        self._yielded = yielded
        seen = (int(others.disputes), int(others.braked), int(others.released))
        before, self._seen = self._seen, seen
        if seen == before:
            return math.inf
        if seen[0] != before[0]:
            self.on_disputed(f"{self._arrive(others)} and go on")
        if seen[1] != before[1]:
            self.on_braked("another node engages the brakes, which this node has released")
        if seen[2] != before[2]:
            self.on_released("another node releases the brakes, which this node has engaged")
        return math.inf

    def _heard(self) -> str:
        """Efforts of others within the last second, in words; empty where none came."""
        others = self._loop.others()
        recent = others.last != _NEVER and time.monotonic_ns() - others.last < 1e9 * LISTENING
        return self._arrive(others) if recent else ""

    def _arrive(self, others: Any) -> str:
        sender = bytes(others.sender)
        name = self._publishers().get(sender, "a node that has left or is not known yet")
        return f"efforts of {shown(name)} arrive on {self._topics.topic}"

    def _publishers(self) -> dict[bytes, str]:
        """Names of the other publishers of efforts by their identities, as the graph shows them."""
        if not self._loop.identity:
            return {}
        found = {}
        for info in self._node.get_publishers_info_by_topic(self._topics.topic):
            namespace = info.node_namespace.rstrip("/")
            found[bytes(info.endpoint_gid[:_BYTES])] = f"{namespace}/{info.node_name}"
        found.pop(self._loop.identity, None)
        return found
