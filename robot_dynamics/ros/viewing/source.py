"""Common part of both kinds of robot between topics and page."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from builtin_interfaces.msg import Duration
from rclpy.node import Node

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.viewing.streams import STALE, ShownJoints, Stream
from robot_dynamics.spatial import Array
from robot_dynamics.view.moves import MoveGoal
from robot_dynamics.view.samples import StateSample


class MachineSource(ABC):
    """Samples of one machine from its topics, and trajectories to its controller.

    Args:
        node: gets subscriptions and publisher.
        controller: name of the node that controls the machine.
        references: its reference.
    """

    TRAJECTORY: ClassVar[tuple[type, str]]
    """Type and name of the topic on which the controller takes trajectories."""

    def __init__(self, node: Node, controller: str, references: Stream[Any]) -> None:
        self.states = ShownJoints(node, "joint_states")
        self.commands = ShownJoints(node, "joint_command")
        self.references = references
        kind, topic = self.TRAJECTORY
        self._trajectories = node.create_publisher(kind, f"{controller}/{topic}", qos.TRAJECTORY)

    @property
    @abstractmethod
    def joint_names(self) -> Sequence[str]:
        """Joints that must report; empty while no machine is known."""

    @abstractmethod
    def sample(self) -> StateSample | None:
        """State of this moment; None when there is nothing to show."""

    def locked(self) -> Mapping[str, str]:
        """Coordinates that the controller does not move, and why."""
        return {}

    @abstractmethod
    def trajectory(self, goal: MoveGoal) -> Any:
        """The message that moves the machine.

        Raises:
            RobotDynamicsError: it cannot get there.
        """

    def push(self, link: str, wrench: Array) -> None:
        """Push a link of the simulated machine; TrajectoryError where links cannot be pushed."""
        raise TrajectoryError("the links of this machine cannot be pushed")

    def target(self, pose: Array) -> None:
        """Send a target pose of the tip; TrajectoryError where there is none."""
        raise TrajectoryError("this machine has no tip: use the sliders")

    def take(self) -> None:
        """Read what has arrived."""
        # A reference answers a state: read first, it has its state among those that are read next.
        for stream in (self.references, self.commands, self.states):
            stream.take()

    def send(self, goal: MoveGoal) -> None:
        """Send the machine to a goal.

        Raises:
            RobotDynamicsError: it is not known where the robot is, nobody controls it, or it cannot get
                there.
        """
        if self.states.age > STALE:
            raise TrajectoryError("it is not known where the robot is")
        if not self._trajectories.get_subscription_count():
            raise TrajectoryError(self._uncontrolled)
        self._trajectories.publish(self.trajectory(goal))

    @property
    def _uncontrolled(self) -> str:
        return f"no controller takes trajectories on {self._trajectories.topic_name}"

    def complaints(self) -> dict[str, str]:
        """Faults of the topics, by subject; empty texts for what is not."""
        return {"states": self._states_complaint(), "reference": self._reference_complaint()}

    def _states_complaint(self) -> str:
        states = self.states
        if states.silent:
            return f"no joint states on {states.topic}"
        if states.fault:
            return f"{states.topic}: {states.fault}"
        position = states.newest.position if states.newest is not None else {}
        missing = [name for name in self.joint_names if name not in position]
        return f"{states.topic} has no joint {', '.join(missing)}" if missing else ""

    def _reference_complaint(self) -> str:
        if not self._trajectories.get_subscription_count():
            return self._uncontrolled
        if self.references.silent:
            return f"no reference on {self.references.topic}: the controller is not active"
        return f"{self.references.topic}: {self.references.fault}" if self.references.fault else ""


def duration(seconds: float) -> Duration:
    """A message of so many seconds."""
    fraction, whole = math.modf(seconds)
    return Duration(sec=int(whole), nanosec=round(1e9 * fraction))
