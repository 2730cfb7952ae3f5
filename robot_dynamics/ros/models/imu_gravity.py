"""Gravity from the topic ``imu``: the arm's base carries an accelerometer."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import Imu

from robot_dynamics.control.arm.gravity import GravityEstimator, ImuParameters
from robot_dynamics.errors import StateError
from robot_dynamics.ros.support import parameters, qos
from robot_dynamics.ros.support.messages import stamp_to_seconds

SILENT = 1.0
"""Steady seconds without a usable sample after which there is a warning."""
NOTICED = 0.02
"""A change of gravity smaller than this changes no effort that matters [m/s²]."""


class ImuGravity:
    """Follows the accelerometer and reports each change that matters.

    Args:
        node: gets the parameters and the subscription.
        on_change: called in the node's thread.
    """

    def __init__(self, node: Node, on_change: Callable[[], None]) -> None:
        accepted = parameters.declare(node, ImuParameters)
        self.used = accepted.gravity_from_imu
        self.vector: tuple[float, ...] | None = None
        self._node = node
        self._taken = -np.inf
        self._on_change = on_change
        self._estimator = GravityEstimator(accepted)
        parameters.watch(node, accepted, self._on_parameters)
        if self.used:
            node.create_subscription(Imu, "imu", self._on_imu, qos.STATE_SUBSCRIPTION)

    @property
    def warning(self) -> str:
        """Reason why gravity may not be what it was; empty when the samples are fresh, or not used."""
        if not self.used:
            return ""
        if self.vector is None:
            return "no usable sample on imu yet: gravity is that of the parameter"
        age = time.monotonic() - self._taken
        return f"no usable sample on imu for {age:.1f} s" if age > SILENT else ""

    def _on_parameters(self, accepted: ImuParameters) -> None:
        self._estimator = GravityEstimator(accepted)

    def _on_imu(self, message: Imu) -> None:
        a = message.linear_acceleration
        try:
            if message.linear_acceleration_covariance[0] == -1.0:
                raise StateError("the message says that it has no linear acceleration")
            gravity = self._estimator.update(
                stamp_to_seconds(message.header.stamp), np.array([a.x, a.y, a.z])
            )
        except StateError as error:
            self._node.get_logger().warning(f"imu ignored: {error}", throttle_duration_sec=2.0)
            return
        self._taken = time.monotonic()
        if self.vector is None or np.linalg.norm(gravity - self.vector) > NOTICED:
            self.vector = tuple(gravity.tolist())
            self._on_change()
