"""The topic ``~/stream_deviation``: how far limits lead a platform away from the stream that it follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.ros.support import qos

PERIOD = 0.1
"""Steady seconds between two messages."""


@dataclass(frozen=True)
class Deviation:
    """Largest distance of the reference from the stream in a span of time.

    Attributes:
        linear: [m].
        angular: [rad].
        cause: limit that the stream is farthest beyond there, with its leg.
    """

    linear: float
    angular: float
    cause: str

    @property
    def size(self) -> str:
        """Both distances."""
        return f"{1e3 * self.linear:.2f} mm, {1e3 * self.angular:.2f} mrad"

    def __str__(self) -> str:
        return f"{self.size}: {self.cause}"

    def beyond(self, tolerance: tuple[float, ...]) -> bool:
        """Return whether it is more than is tolerated [m, rad]."""
        return self.linear > tolerance[0] or self.angular > tolerance[1]


class StreamReport:
    """Publishes the deviation from a stream while one is followed, and keeps the largest for diagnostics.

    Args:
        node: gets the publisher.
        controller: in force; None: there is none.
    """

    def __init__(self, node: Node, controller: Callable[[], StewartController | None]) -> None:
        self._node, self._controller = node, controller
        self._publisher = node.create_publisher(DiagnosticArray, "~/stream_deviation", qos.DIAGNOSTICS)
        self._since: Deviation | None = None
        self._unsent: Deviation | None = None
        self._reported: Deviation | None = None
        node.create_timer(PERIOD, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def publish(self) -> None:
        """Send the largest deviation since the last message."""
        controller = self._controller()
        if controller is None or not controller.following_stream:
            self._since = self._unsent = None
            return
        self._look(controller)
        deviation, self._unsent = self._unsent, None
        if not self._publisher.get_subscription_count():
            return
        beyond = self._beyond(deviation, controller)
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if beyond else DiagnosticStatus.OK,
            name="stream deviation",
            hardware_id=self._node.get_name(),
            message=_message(deviation, beyond),
            values=[KeyValue(key=key, value=value) for key, value in _values(deviation, controller).items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def describe(self, controller: StewartController) -> Mapping[str, str]:
        """Values for the diagnostics; the deviation is the largest since the last call."""
        self._look(controller)
        self._reported, self._since = self._since, None
        if not controller.following_stream:
            self._reported = None
            return {}
        intake = controller.intake
        return {
            "stream rate": f"{intake.rate:.1f} Hz",
            "stream jitter": f"{1e3 * intake.clock.jitter:.2f} ms",
            "stream lag": f"{1e3 * intake.lag:.1f} ms",
            "stream deviation": "joining" if self._reported is None else str(self._reported),
        }

    def warnings(self, controller: StewartController) -> list[str]:
        """Warning that limits change the stream by more than is tolerated, as last described."""
        beyond = self._beyond(self._reported, controller)
        return [f"the stream is changed by {self._reported}"] if beyond else []

    def _look(self, controller: StewartController) -> None:
        """Keep the deviation since the last look for both reports, where it is their largest."""
        found = controller.modes.deviation()
        if found is not None:
            deviation = Deviation(*found)
            self._since = _larger(self._since, deviation)
            self._unsent = _larger(self._unsent, deviation)

    def _beyond(self, deviation: Deviation | None, controller: StewartController) -> bool:
        return deviation is not None and deviation.beyond(controller.parameters.stream_tolerance)


def _size(deviation: Deviation) -> float:
    return max(deviation.linear, deviation.angular)


def _larger(kept: Deviation | None, deviation: Deviation) -> Deviation:
    return deviation if kept is None or _size(deviation) > _size(kept) else kept


def _message(deviation: Deviation | None, beyond: bool) -> str:
    if deviation is None:
        return "joining"
    return f"changed by {deviation}" if beyond else f"followed within {deviation.size}"


def _values(deviation: Deviation | None, controller: StewartController) -> Mapping[str, str]:
    intake = controller.intake
    values = {
        "rate [Hz]": f"{intake.rate:.6g}",
        "jitter [s]": f"{intake.clock.jitter:.6g}",
        "lag [s]": f"{intake.lag:.6g}",
    }
    if deviation is None:
        return values
    return {
        "position [m]": f"{deviation.linear:.6g}",
        "angle [rad]": f"{deviation.angular:.6g}",
        "cause": deviation.cause,
        **values,
    }
