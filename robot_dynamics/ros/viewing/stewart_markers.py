"""A Stewart platform with its forces as rviz markers."""

from __future__ import annotations

import functools

import numpy as np
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.model.urdf import JointType
from robot_dynamics.ros.viewing.rviz_shapes import LINE_HEIGHT, arrow, leaders, line, put, solid, text
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.view.efforts import RGB, EffortScale, effort_text
from robot_dynamics.view.labels import label_column
from robot_dynamics.view.stewart_geometry import StewartGeometry, pose_values
from robot_dynamics.view.stewart_parts import JOINT_COLOR, ROD_COLOR

Array = np.ndarray

LEGS, FORCES, LIMITS, NUMBERS, CONDITION = "legs", "forces", "force_limits", "numbers", "condition"
LEADERS = "leaders"
"""Namespaces beside those of the plates, ``base`` and ``platform``; rviz can hide each."""
GRAY: RGB = (0.45, 0.50, 0.55)
TEXT_HEIGHT = 0.04
"""Of the numbers, as a share of the machine's size."""


def stewart_markers(
    header: Header,
    platform: StewartPlatform,
    position: Array,
    rotation: Array,
    forces: Array,
    condition_number: float,
) -> MarkerArray:
    """Plates, legs whose rods show the share of the force limit by their colour, force arrows and numbers.

    Args:
        header: stamp and base frame.
        platform: the machine.
        position: (3,) of the platform's origin [m].
        rotation: (3, 3) from the platform frame to the base frame.
        forces: (6,) actuator forces [N], positive when the leg pushes.
        condition_number: of the pose.
    """
    markers = _picture(platform, header.frame_id).markers(position, rotation, forces, condition_number)
    for marker in markers:
        marker.header.stamp = header.stamp
    return MarkerArray(markers=markers)


@functools.lru_cache(maxsize=1)
def _picture(platform: StewartPlatform, frame: str) -> _Picture:
    return _Picture(platform, frame)


class _Picture:
    """Common part of the pictures of one platform."""

    def __init__(self, platform: StewartPlatform, frame: str) -> None:
        self._geometry = StewartGeometry(platform)
        self._machine = platform.machine
        self._frame = frame
        self._scales = [EffortScale(leg.limits.force) for leg in self._machine.legs]
        self._solids = []
        for number, visual in enumerate(self._geometry.shapes):
            if visual.color == JOINT_COLOR:
                # Small parts, which the loop's time is too good for.
                continue
            namespace = visual.link if visual.link in ("base", "platform") else LEGS
            marker = solid(frame, namespace, number, visual)
            if marker is not None:
                put(marker, visual.origin)
                self._solids.append((visual, marker))

    def markers(
        self, position: Array, rotation: Array, forces: Array, condition_number: float
    ) -> list[Marker]:
        """The markers of a pose and its forces."""
        geometry = self._geometry
        poses = geometry.link_poses(pose_values(position, rotation))
        drawn = [scale(float(force)) for scale, force in zip(self._scales, forces, strict=True)]
        colors = dict(
            zip((leg.name for leg in self._machine.legs), (color for _, color in drawn), strict=True)
        )
        for visual, marker in self._solids:
            if visual.link != "base":
                put(marker, poses[visual.link] @ visual.origin)
            if visual.color == ROD_COLOR:
                red, green, blue = colors[visual.link.removesuffix("_upper")]
                marker.color.r, marker.color.g, marker.color.b = red, green, blue
        markers = [marker for _, marker in self._solids]
        places = []
        for number, (gauge, (share, color)) in enumerate(zip(geometry.gauges, drawn, strict=True)):
            frame = poses[gauge.link] @ gauge.frame
            middle, along = frame[:3, 3], frame[:3, 2]
            ends = np.array([middle - gauge.extent * along, middle + gauge.extent * along])
            # A pushing leg's arrow grows from the base, a pulling one's from the platform.
            start = ends[0] if share >= 0.0 else ends[1]
            tip = start + share * (ends[1] - ends[0])
            markers.append(line(self._frame, LIMITS, number, ends, GRAY, 0.15 * gauge.thickness))
            markers.append(arrow(self._frame, FORCES, number, start, tip, color, gauge.thickness))
            places.append(middle)
        return markers + self._numbers(
            position, np.array(places), forces, condition_number, TEXT_HEIGHT * geometry.size
        )

    def _numbers(
        self, position: Array, places: Array, forces: Array, condition_number: float, height: float
    ) -> list[Marker]:
        foot = position + np.array([0.0, 0.0, 2.0 * height])
        # The last one is of the condition number, and a little larger.
        labels = label_column(foot, len(places) + 1, 1.2 * LINE_HEIGHT * height)
        markers = [leaders(self._frame, LEADERS, labels[:-1], places, 0.1 * height)]
        for number, (leg, force) in enumerate(zip(self._machine.legs, forces, strict=True)):
            words = f"{leg.name}: {effort_text(float(force), leg.limits.force, JointType.PRISMATIC)}"
            markers.append(text(self._frame, NUMBERS, number, labels[number], words, height))
        words = f"condition number {condition_number:.1f} (limit {self._machine.condition_limit:g})"
        return [*markers, text(self._frame, CONDITION, 0, labels[-1], words, 1.2 * height)]
