"""Measured joints of an arm's controller: accelerations of their own controller, and the error without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics.control.arm.measured import GAP, NOTABLE, MeasuredJoints, Missed
from robot_dynamics.errors import shown
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.chain_parameters import MeasuredParameters
from robot_dynamics.ros.support import parameters, qos
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.spatial import Array


class Measuring(Protocol):
    """An arm whose model has measured joints: its controller, or the feedforward of its trajectories."""

    @property
    def chain(self) -> KinematicChain:
        """The arm."""

    @property
    def measured(self) -> MeasuredJoints | None:
        """Its measured joints."""

    @property
    def time(self) -> float:
        """Time of the last state [s]."""

    @property
    def effort_limits(self) -> Array:
        """(n,) [N·m or N]."""

    def missed(self) -> Missed:
        """Error that the measured joints have left since the last call."""


class MeasuredJointsTopic:
    """Takes the accelerations of the measured joints from their own controller's reference.

    Args:
        node: of the controller.
        controller: gives it, once there is one.
        timeout: gives the time without a state after which a joint counts as at rest [s].

    Attributes:
        parameters: of the joints.
    """

    def __init__(
        self, node: Node, controller: Callable[[], Measuring | None], timeout: Callable[[], float]
    ) -> None:
        self.parameters = parameters.declare(node, MeasuredParameters)
        self._controller = controller
        self._timeout = timeout
        self._last: dict[str, tuple[int, float]] = {}
        self._given: dict[str, float] = {}
        self._missed: Missed | None = None
        if topic := self.parameters.measured_reference:
            node.create_subscription(JointState, topic, self._on_reference, qos.STATE_SUBSCRIPTION)

    def _on_reference(self, message: JointState) -> None:
        controller = self._controller()
        if controller is None or controller.measured is None or len(message.velocity) != len(message.name):
            return
        if not np.isfinite(controller.time):  # before the first state there is no clock to count on
            return
        stamp = stamp_to_nanoseconds(message.header.stamp)
        for name, velocity in zip(message.name, message.velocity, strict=True):
            before, slower = self._last.get(name, (stamp, velocity))
            self._last[name] = stamp, velocity
            elapsed, change = 1e-9 * (stamp - before), velocity - slower
            self._given[name] = change / elapsed if 0.0 < elapsed < GAP and np.isfinite(change) else 0.0
        names = controller.measured.names
        if set(names) & set(message.name):
            acceleration = np.array([self._given.get(name, 0.0) for name in names])
            controller.measured.accelerate(acceleration, controller.time + GAP)

    def warnings(self, controller: Measuring) -> list[str]:
        """Joints without a state of their own, and accelerations that the controller did not know."""
        missed = self._missed
        if controller.measured is None or missed is None:
            return []
        found = []
        if np.isfinite(missed.age) and missed.age > self._timeout():
            found.append(
                f"no state of a measured joint ({shown(*controller.measured.names)}) for {missed.age:.2f} s:"
                " it counts as at rest"
            )
        share = missed.effort / controller.effort_limits
        worst = int(np.argmax(share))
        if share[worst] > NOTABLE:
            found.append(
                f"unknown accelerations of the measured joints: an error of {missed.effort[worst]:.3g} at"
                f" joint {shown(controller.chain.joint_names[worst])}, whose limit is"
                f" {controller.effort_limits[worst]:g}; set measured_reference"
            )
        return found

    def describe(self, controller: Measuring) -> Mapping[str, object]:
        """The joints, and what was missed since the last report, for the diagnostics."""
        if controller.measured is None:
            return {}
        self._missed = missed = controller.missed()
        return {
            "measured joints": ", ".join(controller.measured.names),
            "age of measured joints [s]": f"{missed.age:.3f}",
            "effort of unknown accelerations [Nm or N]": ", ".join(f"{one:.3g}" for one in missed.effort),
        }
