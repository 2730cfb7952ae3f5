"""The topic ``~/controller_state`` of ``joint_trajectory_controller``, where ``control_msgs`` exists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

from robot_dynamics.control.protocol import Phase
from robot_dynamics.ros.control.records import Cycle, Cycles
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import set_stamp, to_array
from robot_dynamics.spatial import Array

try:
    from control_msgs.msg import JointTrajectoryControllerState as JointTrajectoryControllerState
except ImportError:
    JointTrajectoryControllerState = None

AVAILABLE = JointTrajectoryControllerState is not None
"""True where ``control_msgs`` is installed."""
PERIOD = 20_000_000
"""Nanoseconds of the states' clock between two messages."""

NOTHING = np.zeros(0)


def state_point(
    position: Array, velocity: Array, acceleration: Array = NOTHING, effort: Array = NOTHING
) -> JointTrajectoryPoint:
    """A trajectory point that tells a state; fields that are left out stay empty."""
    return JointTrajectoryPoint(
        positions=to_array(position),
        velocities=to_array(velocity),
        accelerations=to_array(acceleration),
        effort=to_array(effort),
    )


class ControllerStatePublisher:
    """Publishes reference, state, error and output at 50 Hz while somebody listens."""

    def __init__(self, node: Node) -> None:
        self._joint_names: list[str] = []
        self._sent = 0
        self._publisher = node.create_publisher(
            JointTrajectoryControllerState, "~/controller_state", qos.COMMAND
        )

    def begin(self, joint_names: Sequence[str]) -> None:
        """These joints report from now on."""
        self._joint_names = list(joint_names)

    def publish_due(self, cycles: Cycles) -> None:
        """Tell of those that are due."""
        if not self._publisher.get_subscription_count():
            return
        for place, nanoseconds in enumerate(cycles.nanoseconds.tolist()):
            if not 0 <= nanoseconds - self._sent < PERIOD:
                self.publish(cycles[place])

    def publish(self, cycle: Cycle) -> None:
        """Tell of a cycle, where one is due."""
        nanoseconds, position, velocity, command = cycle
        if 0 <= nanoseconds - self._sent < PERIOD or not self._publisher.get_subscription_count():
            return
        self._sent = nanoseconds
        reference = command.reference
        message = JointTrajectoryControllerState(joint_names=self._joint_names)
        set_stamp(message.header.stamp, nanoseconds)
        message.reference = state_point(reference.position, reference.velocity, reference.acceleration)
        message.feedback = state_point(position, velocity)
        message.error = state_point(reference.position - position, reference.velocity - velocity)
        message.output = JointTrajectoryPoint(effort=to_array(command.effort))
        if hasattr(message, "speed_scaling_factor"):
            message.speed_scaling_factor = float(command.phase is not Phase.PROTECTIVE_STOP)
        self._publisher.publish(message)
