"""Tracking of an arm's reference: the reference as a topic, and the largest errors of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics.control.core.snapshot import PHASES
from robot_dynamics.control.protocol import Phase
from robot_dynamics.ros.control.records import Cycles
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.joint_state_bytes import JointStateBytes

_TRACKING = PHASES.index(Phase.TRACKING)


class JointReferencePublisher:
    """Publishes the reference of every cycle on ``~/reference`` while somebody listens."""

    def __init__(self, node: Node) -> None:
        self._publisher = node.create_publisher(JointState, "~/reference", qos.LOCKSTEP)
        self._message = JointState()
        self._bytes = JointStateBytes(())

    def begin(self, joint_names: Sequence[str]) -> None:
        """These joints report from now on."""
        self._message = JointState(name=list(joint_names))
        self._bytes = JointStateBytes(joint_names)

    def publish_all(self, cycles: Cycles) -> bool:
        """The same for many cycles, whose messages never become objects; returns whether anybody listens."""
        if not self._publisher.get_subscription_count():
            return False
        goal, rate, unlimited = (cycles.array(name) for name in ("goal", "rate", "unlimited"))
        for message in self._bytes.messages(cycles.nanoseconds, goal, rate, unlimited):
            self._publisher.publish(message)
        return True


class TrackingErrors:
    """Largest error of each joint while it followed a trajectory."""

    def __init__(self) -> None:
        self._joint_names: Sequence[str] = ()
        self._largest = np.zeros(0)

    def begin(self, joint_names: Sequence[str]) -> None:
        """Begin anew, with these joints."""
        self._joint_names, self._largest = joint_names, np.zeros(len(joint_names))

    def add_all(self, cycles: Cycles) -> None:
        """Take account of many cycles."""
        errors = np.abs(cycles.array("goal") - cycles.array("position"))
        tracking = cycles.rows["head"]["phase"] == _TRACKING
        np.maximum(self._largest, errors[tracking].max(axis=0, initial=0.0), out=self._largest)

    def largest(self) -> Mapping[str, float]:
        """By joint name [rad or m]."""
        return dict(zip(self._joint_names, self._largest.tolist(), strict=True))
