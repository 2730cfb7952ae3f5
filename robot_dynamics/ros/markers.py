"""Node ``markers``: joint efforts against their limits and the weights of the links, for rviz.

The geometry is in ``robot_dynamics.view``; this module moves messages.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np
from geometry_msgs.msg import Point
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.model.urdf import Joint, JointType
from robot_dynamics.ros.models.description import DescriptionSource
from robot_dynamics.ros.support import parameters, qos, spin
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp
from robot_dynamics.ros.support.paced import spin_at
from robot_dynamics.ros.viewing.joint_stream import STALE, JointStream, JointValues
from robot_dynamics.view.efforts import RGB, EffortScale, arc_points, axis_frame, effort_text
from robot_dynamics.view.parameters import MarkerParameters
from robot_dynamics.view.robot_geometry import RobotGeometry, read_robot

Array = NDArray[np.float64]

EFFORT, LIMIT, GRAVITY, NUMBERS = "effort", "effort_limit", "gravity_load", "numbers"
"""Namespaces of the markers; rviz can hide each."""
GRAY: RGB = (0.45, 0.50, 0.55)
WHITE: RGB = (1.0, 1.0, 1.0)
WEIGHT_COLOR: RGB = (0.55, 0.40, 0.80)
ARC_COUNT = 33
"""Points of an arc."""


class Markers(Node):
    """Publishes a picture of the robot's load."""

    def __init__(self) -> None:
        super().__init__("markers")
        self.settings = parameters.declare(self, MarkerParameters)
        self._gravity = np.array(self.settings.gravity)
        self._geometry: RobotGeometry | None = None
        self._shown = False
        self._states = JointStream(self, "joint_states")
        self._commands = JointStream(self, "joint_command")
        self._markers = self.create_publisher(MarkerArray, "markers", qos.TRAJECTORY)
        self._source = DescriptionSource(self, self._on_description)

    def _on_description(self, text: str) -> None:
        self._geometry = read_robot(text)
        self._scales = [EffortScale(joint.limits.effort) for joint in self._geometry.independent_joints]
        self._arrows = self._geometry.weight_arrows(self._gravity)
        self._clear()
        self.get_logger().info(
            f"markers of {self._geometry.tree.name}: {len(self._scales)} joints, {len(self._arrows)} weights"
        )

    def _clear(self) -> None:
        if self._shown:
            self._markers.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
            self._shown = False

    def look(self) -> None:
        """Publish the picture of this moment."""
        self._commands.take()
        self._states.take()
        state = self._states.newest
        if self._geometry is None or state is None or self._states.age > STALE:
            self._clear()
            return
        if not self._markers.get_subscription_count():
            return
        command = self._commands.newest if self._commands.age < STALE else None
        efforts = command.effort if command is not None and command.effort else state.effort
        self._shown = True
        self._markers.publish(MarkerArray(markers=self._picture(self._geometry, state, efforts)))

    def _picture(
        self, geometry: RobotGeometry, state: JointValues, efforts: Mapping[str, float]
    ) -> list[Marker]:
        stamp = nanoseconds_to_stamp(state.nanoseconds)
        poses = geometry.link_poses(state.position)
        load = geometry.gravity_efforts(poses, self._gravity)
        markers: list[Marker] = []
        for number, (joint, scale) in enumerate(zip(geometry.independent_joints, self._scales, strict=True)):
            markers += self._effort(number, joint, scale, efforts.get(joint.name), load[joint.name])
        for number, (weight, arrow) in enumerate(zip(geometry.weights, self._arrows, strict=True)):
            # In the link's frame the arrow starts where the link is drawn, however late the markers are.
            tip = weight.center_of_mass + poses[weight.link][:3, :3].T @ arrow
            markers.append(
                self._arrow(GRAVITY, number, weight.link, weight.center_of_mass, tip, WEIGHT_COLOR)
            )
        for marker in markers:
            marker.header.stamp = stamp
        return markers

    def _effort(
        self, number: int, joint: Joint, scale: EffortScale, effort: float | None, load: float
    ) -> list[Marker]:
        """Arc or arrow of one joint, the ring it is read on, and the numbers."""
        frame = axis_frame(joint.axis)
        radius = 1.3 * self._geometry.girth(joint) * self.settings.scale
        text = self._marker(NUMBERS, number, joint.child, Marker.TEXT_VIEW_FACING, WHITE)
        text.scale.z = 0.035 * self._size
        text.text = (
            f"{joint.name}: {effort_text(effort, joint.limits.effort, joint.kind) or 'no effort known'}"
        )
        text.text += f"\nholding the weight: {effort_text(load, np.inf, joint.kind)}"
        place = frame @ np.array([1.5 * radius, 0.0, 0.0])
        text.pose.position.x, text.pose.position.y, text.pose.position.z = map(float, place)
        turns = joint.kind is not JointType.PRISMATIC
        ring = self._line(
            LIMIT, 2 * number, joint.child, frame, arc_points(1.2, radius, ARC_COUNT), GRAY, 0.003
        )
        if effort is None:
            gone = [Marker(ns=EFFORT, id=2 * number + i, action=Marker.DELETE) for i in (0, 1)]
            return [text, *([ring] if turns else []), *gone]
        share, color = scale(effort)
        if not turns:
            tip = frame @ np.array([0.0, 0.0, 3.0 * radius * share])
            return [text, self._arrow(EFFORT, 2 * number, joint.child, np.zeros(3), tip, color)]
        points = arc_points(share, radius, ARC_COUNT)
        arc = self._line(EFFORT, 2 * number, joint.child, frame, points, color, 0.012)
        way = np.array([-points[-1][1], points[-1][0], 0.0]) * (0.35 if share >= 0.0 else -0.35)
        way *= min(1.0, 0.3 + 10.0 * abs(share))
        head = self._arrow(
            EFFORT, 2 * number + 1, joint.child, frame @ points[-1], frame @ (points[-1] + way), color
        )
        return [text, ring, arc, head]

    @property
    def _size(self) -> float:
        return self._geometry.size * self.settings.scale

    def _line(
        self, namespace: str, number: int, link: str, frame: Array, points: Array, color: RGB, width: float
    ) -> Marker:
        marker = self._marker(namespace, number, link, Marker.LINE_STRIP, color)
        marker.scale.x = width * self._size
        marker.points = [_point(point) for point in points @ frame.T]
        return marker

    def _arrow(
        self, namespace: str, number: int, link: str, start: Sequence[float], tip: Sequence[float], color: RGB
    ) -> Marker:
        marker = self._marker(namespace, number, link, Marker.ARROW, color)
        marker.scale.x, marker.scale.y, marker.scale.z = 0.012 * self._size, 0.03 * self._size, 0.0
        marker.points = [_point(start), _point(tip)]
        return marker

    def _marker(self, namespace: str, number: int, link: str, kind: int, color: RGB) -> Marker:
        marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD, frame_locked=True)
        marker.header.frame_id = self.settings.frame_prefix + link
        marker.pose.orientation.w = 1.0
        red, green, blue = color
        marker.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)
        return marker


def _point(values: Sequence[float]) -> Point:
    x, y, z = map(float, values)
    return Point(x=x, y=y, z=z)


def run(node: Markers, stop: spin.StopEvent) -> None:
    """Look at the topics at the node's rate until the event."""
    spin_at(node.settings.update_rate, node, stop, node.look)


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(Markers, args, loop=run)


if __name__ == "__main__":
    sys.exit(main())
