"""The topic ``~/supervision``: every rule with its threshold and the largest value so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.ros.support import qos

P = TypeVar("P", ArmParameters, StewartParameters)

PERIOD = 1.0
"""Steady seconds between two messages."""


class SupervisionReport:
    """Publishes the rules of the controller in force, once a second.

    Args:
        node: gets the publisher.
        controller: in force; None: there is none.
    """

    def __init__(self, node: Node, controller: Callable[[], CoreController[Any] | None]) -> None:
        self._node, self._controller = node, controller
        self._said = ""
        self._publisher = node.create_publisher(DiagnosticArray, "~/supervision", qos.DIAGNOSTICS)
        node.create_timer(PERIOD, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def publish(self) -> None:
        """Send the rules as they are now."""
        controller = self._controller()
        if controller is None:
            return
        if (zeros := controller.zero_velocities) and not self._said:
            self._node.get_logger().warning(zeros)
        self._said = zeros
        trip = controller.trip
        latched = controller.phase is Phase.PROTECTIVE_STOP and trip is not None
        message = DiagnosticArray()
        for rule in controller.rules():
            tripped = latched and trip is not None and trip.rule == rule.name
            values = {
                "number": rule.number,
                "threshold": rule.threshold,
                "duration [s]": f"{rule.duration:g}",
                "release [share of threshold]": f"{rule.release:g}",
                "reaction": rule.reaction,
                "reset": rule.reset,
                "largest [share of threshold]": f"{rule.largest:.3f}",
            }
            message.status.append(
                DiagnosticStatus(
                    level=DiagnosticStatus.ERROR if tripped else DiagnosticStatus.OK,
                    name=rule.name,
                    hardware_id=self._node.get_name(),
                    message=controller.words_of_trip(trip) if tripped and trip is not None else rule.quantity,
                    values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
                )
            )
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)


def log_rules(node: Node, controller: CoreController[Any]) -> None:
    """Log the rules with this robot's thresholds, the stiffness of its joints, and what is off or too low."""
    log = node.get_logger()
    log.info(f"supervision, {controller.parameters.supervision}: {len(controller.rules())} rules")
    for rule in controller.rules():
        log.info(f"rule {rule.words}")
    if known := controller.characteristics:
        log.info(f"kp times inertia, dry friction over it, natural frequency: {known}")
    _warn_of(node, controller.parameters.switched_off)
    for line in controller.low_gains():
        log.warning(line)


def log_change(node: Node, before: P, accepted: P) -> None:
    """Log another mode, and warn of rules that are off from now on."""
    if accepted.mode != before.mode:
        node.get_logger().info(f"mode {before.mode} -> {accepted.mode}")
    _warn_of(node, [name for name in accepted.switched_off if name not in before.switched_off])


def _warn_of(node: Node, switched_off: Sequence[str]) -> None:
    for name in switched_off:
        node.get_logger().warning(f"parameter '{name}' is -1: its rule of supervision is off")
