"""The markers of an arm's load: efforts against their limits and the weights of the links."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from visualization_msgs.msg import Marker

from robot_dynamics.model.urdf import Joint, JointType, RobotTree
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp
from robot_dynamics.ros.viewing.rviz_shapes import LINE_HEIGHT, arrow, gone, leaders, line, text
from robot_dynamics.ros.viewing.streams import JointValues
from robot_dynamics.spatial import Array
from robot_dynamics.view.efforts import RGB, EffortScale, arc_points, axis_frame, effort_text
from robot_dynamics.view.labels import label_column
from robot_dynamics.view.parameters import MarkerParameters
from robot_dynamics.view.robot_geometry import RobotGeometry

EFFORT, LIMIT, GRAVITY, NUMBERS = "effort", "effort_limit", "gravity_load", "numbers"
LEADERS = "leaders"
"""Namespaces of the markers; rviz can hide each."""
GRAY: RGB = (0.45, 0.50, 0.55)
WEIGHT_COLOR: RGB = (0.55, 0.40, 0.80)
ARC_COUNT = 33
"""Points of an arc."""
TEXT_HEIGHT = 0.028
"""As a share of the robot's size."""


class LoadMarkers:
    """Pictures of one robot's load.

    Args:
        geometry: of the robot.
        settings: scale, frames and gravity.
    """

    def __init__(self, geometry: RobotGeometry, settings: MarkerParameters) -> None:
        self.geometry = geometry
        self._gravity = np.array(settings.gravity)
        self._frame_prefix = settings.frame_prefix
        self._scale = settings.scale
        self._size = geometry.size * settings.scale
        self._thickness = 0.012 * self._size
        self._scales = [EffortScale(joint.limits.effort) for joint in geometry.independent_joints]
        self._arrows = geometry.weight_arrows(self._gravity)

    def describe(self) -> str:
        """Words for the drawing."""
        return f"{self.geometry.tree.name}: {len(self._scales)} joints, {len(self._arrows)} weights"

    def picture(self, state: JointValues, efforts: Mapping[str, float]) -> list[Marker]:
        """The markers for a state and the efforts by joint name [N·m or N]."""
        geometry = self.geometry
        stamp = nanoseconds_to_stamp(state.nanoseconds)
        poses = geometry.link_poses(state.position)
        load = geometry.gravity_efforts(poses, self._gravity)
        markers = self._numbers(poses, state, efforts, load)
        for number, (joint, scale) in enumerate(zip(geometry.independent_joints, self._scales, strict=True)):
            if joint.name in state.position:
                markers += self._effort(number, joint, scale, efforts.get(joint.name))
            else:
                markers += self._no_marks(number)
        frames = frames_with_states(geometry.tree, state.position)
        for number, (weight, tip) in enumerate(zip(geometry.weights, self._arrows, strict=True)):
            # In the link's frame the arrow starts where the link is drawn, however late the markers are.
            frame, pose = poses[frames[weight.link]], poses[weight.link]
            start = frame[:3, :3].T @ (pose[:3, :3] @ weight.center_of_mass + pose[:3, 3] - frame[:3, 3])
            end = start + frame[:3, :3].T @ tip
            where = self._frame(frames[weight.link])
            markers.append(arrow(where, GRAVITY, number, start, end, WEIGHT_COLOR, self._thickness))
        for marker in markers:
            marker.header.stamp = stamp
            marker.frame_locked = True
        return markers

    def _numbers(
        self,
        poses: Mapping[str, Array],
        state: JointValues,
        efforts: Mapping[str, float],
        load: Mapping[str, float],
    ) -> list[Marker]:
        """Loads that no arc shows, one above the other over the robot, with a line to each joint."""
        geometry = self.geometry
        joints = [joint for joint in geometry.independent_joints if joint.name in state.position]
        if not joints:
            return [gone(self._frame(geometry.tree.root), LEADERS, 0)]
        words = []
        for joint in joints:
            effort = effort_text(efforts.get(joint.name), joint.limits.effort, joint.kind)
            weight = effort_text(load[joint.name], np.inf, joint.kind)
            words.append(f"{joint.name}: {effort or 'no effort known'}\nweight: {weight}")
        height, places = TEXT_HEIGHT * self._size, np.array([poses[joint.child][:3, 3] for joint in joints])
        top = max(pose[2, 3] for pose in poses.values())
        foot = np.array([0.0, 0.0, top + 1.5 * max(map(self._radius, joints))])
        labels = label_column(foot, len(joints), 2.0 * LINE_HEIGHT * height)
        # In the root's frame: in their joints' own frames they would swing with them.
        root = self._frame(geometry.tree.root)
        numbers = [geometry.independent_joints.index(joint) for joint in joints]
        return [
            *(text(root, NUMBERS, *label, height) for label in zip(numbers, labels, words, strict=True)),
            leaders(root, LEADERS, labels, places, 0.1 * height),
        ]

    def _effort(self, number: int, joint: Joint, scale: EffortScale, effort: float | None) -> list[Marker]:
        """Arc or arrow of one joint, and the ring that the arc is read on."""
        where, frame, radius = self._frame(joint.child), axis_frame(joint.axis), self._radius(joint)
        turns = joint.kind is not JointType.PRISMATIC
        ring = arc_points(1.2, radius, ARC_COUNT) @ frame.T
        markers = [line(where, LIMIT, 2 * number, ring, GRAY, 0.003 * self._size)] if turns else []
        if effort is None:
            return [*markers, *(gone(where, EFFORT, 2 * number + i) for i in (0, 1))]
        share, color = scale(effort)
        if not turns:
            tip = frame @ np.array([0.0, 0.0, 3.0 * radius * share])
            return [arrow(where, EFFORT, 2 * number, np.zeros(3), tip, color, self._thickness)]
        points = arc_points(share, radius, ARC_COUNT)
        way = np.array([-points[-1][1], points[-1][0], 0.0]) * (0.35 if share >= 0.0 else -0.35)
        way *= min(1.0, 0.3 + 10.0 * abs(share))
        head = np.array([points[-1], points[-1] + way]) @ frame.T
        return [
            *markers,
            line(where, EFFORT, 2 * number, points @ frame.T, color, self._thickness),
            arrow(where, EFFORT, 2 * number + 1, head[0], head[1], color, self._thickness),
        ]

    def _no_marks(self, number: int) -> list[Marker]:
        """Takes away what a joint had as long as its state was known."""
        where = self._frame(self.geometry.tree.root)
        marks = ((LIMIT, 2 * number), (EFFORT, 2 * number), (EFFORT, 2 * number + 1), (NUMBERS, number))
        return [gone(where, namespace, mark) for namespace, mark in marks]

    def _radius(self, joint: Joint) -> float:
        return 1.3 * self.geometry.girth(joint) * self._scale

    def _frame(self, link: str) -> str:
        return self._frame_prefix + link


def frames_with_states(tree: RobotTree, positions: Mapping[str, float]) -> dict[str, str]:
    """For every link the nearest one towards the root that robot_state_publisher knows a transform of.

    It has none beyond a joint that no joint state tells the position of.
    """
    frames = {tree.root: tree.root}
    for joint in tree.subtree(tree.root):
        leader = joint
        while leader.mimic is not None:
            leader = tree.joints[leader.mimic.joint]
        known = joint.kind is JointType.FIXED or leader.name in positions
        parent = frames[joint.parent]
        frames[joint.child] = joint.child if known and parent == joint.parent else parent
    return frames
