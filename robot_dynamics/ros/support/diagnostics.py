"""Status of a node on ``/diagnostics``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robot_dynamics.ros.support import qos

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN
ERROR, STALE = DiagnosticStatus.ERROR, DiagnosticStatus.STALE
PREPARING = "preparing a new model"
"""Key of the value, yes or no, that says whether a new model is being built while the old one is in use."""
MISSED = 0.01
"""Share of missed deadlines from which on a loop's status is a warning."""


def status_name(node: str) -> str:
    """Name of the status of a node, given by its full name."""
    return f"{node.lstrip('/')}: status"


@dataclass(frozen=True)
class Status:
    """Status that a node reports.

    Attributes:
        level: OK, WARN, ERROR, or STALE for nothing new to tell of.
        message: one line.
        values: details, in order.
    """

    level: bytes
    message: str
    values: Mapping[str, object]


class DiagnosticsPublisher:
    """Publishes a node's status once a second of steady time, and at once on request.

    Args:
        node: whose status it is.
        report: gives the status whenever one is due.
    """

    def __init__(self, node: Node, report: Callable[[], Status]) -> None:
        self._node = node
        self._report = report
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        node.create_timer(1.0, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def publish(self) -> None:
        """Send the present status."""
        status = self._report()
        array = DiagnosticArray(
            status=[
                DiagnosticStatus(
                    level=status.level,
                    name=status_name(self._node.get_fully_qualified_name()),
                    hardware_id=self._node.get_name(),
                    message=status.message,
                    values=[KeyValue(key=key, value=str(value)) for key, value in status.values.items()],
                )
            ]
        )
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
