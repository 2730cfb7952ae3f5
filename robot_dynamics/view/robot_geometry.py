"""A robot's links in space: poses, weights and static loads at joint positions, for the whole tree."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from robot_dynamics.model.selection import ready_position
from robot_dynamics.model.urdf import Joint, JointType, RobotTree, parse_urdf
from robot_dynamics.spatial import Array, pose, rotation_about
from robot_dynamics.view.efforts import axis_frame
from robot_dynamics.view.links import SMALLEST, Weight, bounds, weight_arrows
from robot_dynamics.view.machine import Chart, Coordinate, Gauge, effort_chart
from robot_dynamics.view.mesh_files import MISSING
from robot_dynamics.view.placeholder_shapes import placeholder_shapes
from robot_dynamics.view.visuals import Cylinder, MeshCheck, Sphere, Visual, Visuals, read_visuals

UNLIMITED_TURN = math.pi
"""Range of the slider of a joint without limits [rad or m]."""
HANGING = 0.1
"""Share of its size below its base from which on a robot is taken to hang, or to stand on its limbs."""
OTHER_JOINTS = "other joints"
"""Name of the joints that make no limb of their own."""


@dataclass(frozen=True)
class RobotGeometry:
    """Tree and looks of a robot.

    Attributes:
        tree: links and joints.
        visuals: what the links look like.
    """

    tree: RobotTree
    visuals: Visuals

    @cached_property
    def ground(self) -> float:
        """Height of the floor: of the root, a lower fixed part, or the feet of what reaches far below [m]."""
        poses = self.link_poses(self.home)
        fixed = {name: pose for name, pose in poses.items() if name not in self._moving_links}
        base, feet = (float(bounds(links, self.shapes)[0][2]) for links in (fixed, poses))
        base = min(0.0, base)
        return feet if feet < base - HANGING * self.size else base

    @property
    def name(self) -> str:
        """Of the robot."""
        return self.tree.name

    @cached_property
    def shapes(self) -> tuple[Visual, ...]:
        """Shapes of the links; a link without a shape gets capsules."""
        own = tuple(visual for visual in self.visuals.shapes if visual.link in self.tree.links)
        return own + placeholder_shapes(self.tree, own, self.visuals.faults, self.size)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Shapes that cannot be drawn, one line each with the reason; missing meshes share one line."""
        others = tuple(line for line in self.visuals.skipped if MISSING not in line)
        return (self.visuals.missing, *others) if self.visuals.missing else others

    @cached_property
    def not_drawn(self) -> dict[str, str]:
        """The links that nothing is drawn for, and why."""
        drawn = {visual.link for visual in self.shapes}
        return {name: "a frame: no shape, no mass" for name in self.tree.links if name not in drawn}

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """All moving joints; those that follow another are locked."""
        return tuple(_coordinate(joint, self.limbs.get(joint.name, "")) for joint in self.moving_joints)

    @cached_property
    def home(self) -> dict[str, float]:
        """Ready pose of the independent joints."""
        return {joint.name: ready_position(joint) for joint in self.independent_joints}

    @cached_property
    def limbs(self) -> dict[str, str]:
        """Name of the limb of each moving joint; empty for a robot with one limb."""
        return limbs(self.tree)

    @cached_property
    def gauges(self) -> tuple[Gauge, ...]:
        """Arcs about the joints' axes, arrows along prismatic ones."""
        return tuple(self._gauge(joint) for joint in self.independent_joints)

    def _gauge(self, joint: Joint) -> Gauge:
        turns = joint.kind is not JointType.PRISMATIC
        extent = 1.25 * self.girth(joint) * (1.0 if turns else 3.0)
        frame = pose(axis_frame(joint.axis))
        return Gauge(joint.name, joint.child, frame, turns, joint.limits.effort, extent, 0.016 * self.size)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Errors of the joints, and their efforts."""
        sliding = any(joint.kind is JointType.PRISMATIC for joint in self.independent_joints)
        unit = "mrad or mm" if sliding else "mrad"
        errors = Chart("error", unit, "errors", {joint.name: 1e3 for joint in self.independent_joints}, 0.01)
        return errors, effort_chart("effort", self.gauges)

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """Joints with one degree of freedom, mimic joints included, parents before children."""
        return tuple(joint for joint in self.tree.subtree(self.tree.root) if joint.kind.moves_on_axis)

    @cached_property
    def independent_joints(self) -> tuple[Joint, ...]:
        """Moving joints that follow no other."""
        return tuple(joint for joint in self.moving_joints if joint.mimic is None)

    @cached_property
    def _moving_links(self) -> frozenset[str]:
        return frozenset(below.child for joint in self.moving_joints for below in self._carried(joint))

    def _carried(self, joint: Joint) -> tuple[Joint, ...]:
        return (joint, *self.tree.subtree(joint.child))

    @cached_property
    def weights(self) -> tuple[Weight, ...]:
        """Every moving link that has a mass."""
        return tuple(
            Weight(link.name, link.body.center_of_mass, link.body.mass)
            for link in self.tree.links.values()
            if link.body is not None and link.body.mass > 0.0 and link.name in self._moving_links
        )

    def weight_arrows(self, gravity: Array) -> tuple[Array, ...]:
        """An arrow (3,) for each of ``weights``, root frame [m]; as long as it is heavy."""
        return weight_arrows(self.weights, gravity, self.size)

    @cached_property
    def size(self) -> float:
        """About how far the robot extends from its root: sum of the joint offsets on the longest way [m]."""
        reach = {self.tree.root: 0.0}
        for joint in self.tree.subtree(self.tree.root):
            reach[joint.child] = reach[joint.parent] + float(np.linalg.norm(joint.origin[:3, 3]))
        return max(SMALLEST, *reach.values())

    def joint_value(self, joint: Joint, positions: Mapping[str, float]) -> float:
        """A joint's variable; of one that is not listed, zero or the limit nearest to it."""
        factor, offset = 1.0, 0.0
        while joint.mimic is not None:
            factor, offset = factor * joint.mimic.multiplier, offset + factor * joint.mimic.offset
            joint = self.tree.joints[joint.mimic.joint]
        value = positions.get(joint.name)
        if value is None:
            value = min(max(0.0, joint.limits.lower), joint.limits.upper)
        return factor * value + offset

    def link_poses(self, positions: Mapping[str, float]) -> dict[str, Array]:
        """(4, 4) pose of every link in the root frame.

        Args:
            positions: of independent joints, by name [rad or m]; floating and planar joints stay at zero.
        """
        poses = {self.tree.root: np.eye(4)}
        for joint in self.tree.subtree(self.tree.root):
            motion = np.eye(4)
            if joint.kind is JointType.PRISMATIC:
                motion[:3, 3] = self.joint_value(joint, positions) * joint.axis
            elif joint.kind.moves_on_axis:
                motion[:3, :3] = rotation_about(joint.axis, self.joint_value(joint, positions))
            poses[joint.child] = poses[joint.parent] @ joint.origin @ motion
        return poses

    def gravity_efforts(self, poses: Mapping[str, Array], gravity: Array) -> dict[str, float]:
        """Effort of every independent joint that holds the robot's weight [N·m or N].

        Args:
            poses: as :meth:`link_poses` gives them.
            gravity: (3,) in the root frame [m/s²].
        """
        efforts = {joint.name: 0.0 for joint in self.independent_joints}
        forces = {weight.link: weight for weight in self.weights}
        for joint in self.moving_joints:
            frame = poses[joint.child]
            axis = frame[:3, :3] @ joint.axis
            load = 0.0
            for below in self._carried(joint):
                weight = forces.get(below.child)
                if weight is None:
                    continue
                force = weight.mass * gravity
                if joint.kind is JointType.PRISMATIC:
                    load += float(axis @ force)
                    continue
                place = poses[weight.link]
                center = place[:3, :3] @ weight.center_of_mass + place[:3, 3]
                load += float(axis @ np.cross(center - frame[:3, 3], force))
            factor = 1.0
            while joint.mimic is not None:
                factor *= joint.mimic.multiplier
                joint = self.tree.joints[joint.mimic.joint]
            efforts[joint.name] -= factor * load
        return efforts

    def bounds(self, poses: Mapping[str, Array]) -> tuple[Array, Array]:
        """Least and greatest coordinates (3,), (3,) of the link origins and shapes, root frame [m]."""
        return bounds(poses, self.shapes)

    def girth(self, joint: Joint) -> float:
        """Radius of the round shapes about a joint's axis [m]; without any, a share of the robot's size."""
        found = 0.06 * self.size
        for visual in self.shapes:
            if visual.link != joint.child or not isinstance(visual.shape, Cylinder | Sphere):
                continue
            offset = visual.origin[:3, 3]
            beside = float(np.linalg.norm(offset - (offset @ joint.axis) * joint.axis))
            along = isinstance(visual.shape, Sphere) or abs(visual.origin[:3, 2] @ joint.axis) > 0.99
            if along and beside < visual.shape.radius:
                found = max(found, beside + visual.shape.radius)
        return found


def read_robot(
    source: str | bytes | os.PathLike[str], folder: Path | None = None, check: MeshCheck | None = None
) -> RobotGeometry:
    """Geometry of a robot description.

    Args:
        source: path of a URDF file, or its XML text.
        folder: where relative mesh names begin; None: the folder of ``source`` if that is a path.
        check: looks into the mesh files that are found.

    Raises:
        ModelError: the description cannot be used; the message names the link or joint.
    """
    tree = parse_urdf(source)
    return RobotGeometry(tree, read_visuals(source, folder, check))


def _coordinate(joint: Joint, limb: str) -> Coordinate:
    """The slider of a joint: short numbers inside its limits."""
    low = joint.limits.lower if math.isfinite(joint.limits.lower) else -UNLIMITED_TURN
    high = joint.limits.upper if math.isfinite(joint.limits.upper) else UNLIMITED_TURN
    inner = (math.ceil(1e3 * low) / 1e3, math.floor(1e3 * high) / 1e3)
    low, high = inner if inner[0] < inner[1] else (low, max(high, low + 1e-6))
    turns = joint.kind is not JointType.PRISMATIC
    step = 0.001 if high - low > 0.02 else (high - low) / 100.0
    locked = "" if joint.mimic is None else f"follows {joint.mimic.joint}"
    return Coordinate(joint.name, "rad" if turns else "m", 1.0, low, high, step, turns, limb, locked)


def limbs(tree: RobotTree) -> dict[str, str]:
    """Name of the limb of each moving joint, in the tree's order; empty where there is one limb only.

    A limb is a row of moving joints that follow each other without a branch. It is called by what the
    names of its joints begin with, or by its first joint.
    """
    ways: list[list[str]] = []
    pending: list[tuple[str, list[str]]] = [(tree.root, [])]
    while pending:
        link, way = pending.pop()
        moving = _moving_below(tree, link)
        while len(moving) == 1:
            joint, link = moving[0]
            way.append(joint)
            moving = _moving_below(tree, link)
        if way:
            ways.append(way)
        pending += [(child, [joint]) for joint, child in reversed(moving)]
    named: dict[str, list[str]] = {}
    for way in ways:
        name = _limb_name(way)
        named.setdefault(name if len(way) > 1 else OTHER_JOINTS, []).extend(way)
    if len(named) < 2:
        return {}
    return {joint: name for name, joints in named.items() for joint in joints}


def _moving_below(tree: RobotTree, link: str) -> list[tuple[str, str]]:
    """Next moving joints below a link, and their children."""
    found: list[tuple[str, str]] = []
    pending = [link]
    while pending:
        for joint in tree.child_joints[pending.pop()]:
            if joint.kind.moves_on_axis:
                found.append((joint.name, joint.child))
            else:
                pending.append(joint.child)
    return found


def _limb_name(joints: list[str]) -> str:
    first, last = min(joints), max(joints)
    same = next((k for k, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), len(first))
    return first[:same].rstrip("0123456789").rstrip("_- ").removesuffix("_joint") or joints[0]
