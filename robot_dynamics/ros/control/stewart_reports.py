"""Reports of a platform under control: poses, its transform, a picture for rviz, deviations from a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, TransformStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.platform_model import ReportedPose
from robot_dynamics.ros.control.host import Host
from robot_dynamics.ros.control.records import Cycle, Cycles
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp
from robot_dynamics.ros.viewing.stewart_markers import stewart_markers
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Machine
from robot_dynamics.stewart.orientation import quaternion_from_rotation

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

MARKER_PERIOD = 0.05
"""Seconds between two pictures for rviz."""
DEVIATION_PERIOD = 0.1
"""Steady seconds between two messages about the deviation from a stream."""


class StewartReports:
    """Publishes where a platform is and shall be, each while somebody listens.

    Args:
        node: gets the publishers.
        loop: has the controller.
        base_frame: frame of the machine's base.
        platform_frame: frame of the platform.
    """

    def __init__(
        self, node: Node, loop: Host[StewartController], base_frame: str, platform_frame: str
    ) -> None:
        self._loop = loop
        self._base_frame, self._platform_frame = base_frame, platform_frame
        self._last: Cycle | None = None
        self._pose = node.create_publisher(PoseStamped, "~/pose", qos.LOCKSTEP)
        self._reference = node.create_publisher(PoseStamped, "~/reference", qos.LOCKSTEP)
        self._markers = node.create_publisher(MarkerArray, "~/markers", qos.TRAJECTORY)
        self._transforms = None if TFMessage is None else node.create_publisher(TFMessage, "/tf", 10)
        node.create_timer(MARKER_PERIOD, self._draw, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def forget(self) -> None:
        """The machine is another from now on."""
        self._last = None

    def publish_all(self, cycles: Cycles, machine: Machine) -> bool:
        """The same of many cycles, as the loop in C has recorded them; whether anybody listens."""
        self._last = cycles[-1]
        publishers = (self._pose, self._reference, self._transforms)
        if not any(one is not None and one.get_subscription_count() for one in publishers):
            return False
        for row, cycle in zip(cycles.rows, cycles, strict=True):
            self.publish(cycle, ReportedPose(machine, row["telemetry"]))
        return True

    def publish(self, cycle: Cycle, pose: ReportedPose) -> None:
        """Estimated and wanted pose of a cycle; the transform where tf2 is there."""
        self._last = cycle
        if self._pose.get_subscription_count():
            self._pose.publish(self._stamped_pose(cycle, pose.position, pose.quaternion))
        if self._reference.get_subscription_count():
            wanted = cycle.command.reference
            quaternion = quaternion_from_rotation(wanted.rotation).tolist()
            self._reference.publish(self._stamped_pose(cycle, wanted.position, quaternion))
        if self._transforms is not None and self._transforms.get_subscription_count():
            transform = self._transform(cycle, pose.position, pose.quaternion)
            self._transforms.publish(TFMessage(transforms=[transform]))

    def _header(self, cycle: Cycle) -> Header:
        return Header(stamp=nanoseconds_to_stamp(cycle.nanoseconds), frame_id=self._base_frame)

    def _stamped_pose(self, cycle: Cycle, position: Array, quaternion: Sequence[float]) -> PoseStamped:
        message = PoseStamped(header=self._header(cycle))
        place, turn = message.pose.position, message.pose.orientation
        place.x, place.y, place.z = position.tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion
        return message

    def _transform(self, cycle: Cycle, position: Array, quaternion: Sequence[float]) -> TransformStamped:
        message = TransformStamped(header=self._header(cycle), child_frame_id=self._platform_frame)
        place, turn = message.transform.translation, message.transform.rotation
        place.x, place.y, place.z = position.tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion
        return message

    def _draw(self) -> None:
        controller, cycle = self._loop.controller, self._last
        if cycle is None or controller is None or not self._markers.get_subscription_count():
            return
        pose = controller.pose
        self._markers.publish(
            stewart_markers(
                self._header(cycle),
                controller.platform,
                pose.position,
                pose.rotation,
                np.asarray(cycle.command.effort),
                pose.condition_number,
            )
        )


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
    """Publishes on ``~/stream_deviation`` how far limits lead a platform away from a stream that it follows.

    The largest deviation is kept for diagnostics.

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
        node.create_timer(DEVIATION_PERIOD, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

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
