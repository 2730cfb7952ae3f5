"""Placeholder shapes: capsules from a link's joint to each of the next joints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from robot_dynamics.model.urdf import RobotTree
from robot_dynamics.spatial import Array, pose
from robot_dynamics.view.efforts import axis_frame
from robot_dynamics.view.mesh_files import Color
from robot_dynamics.view.visuals import Cylinder, Sphere, Visual

COLOR: Color = (0.60, 0.66, 0.72, 1.0)
THICKNESS = 0.025
"""Radius of a capsule, as a share of the robot's size."""
LEAST = 1e-3
"""Share of the robot's mass below which a link without shapes is a frame with a nominal mass: not shown."""
SHORTEST = 0.2
"""A link whose ends are nearer than this many radii is a ball."""


def placeholder_shapes(
    tree: RobotTree, shapes: tuple[Visual, ...], faulty: Mapping[str, str], size: float
) -> tuple[Visual, ...]:
    """Capsules for the links that should be seen and have no shape.

    These are the links whose own shapes cannot be drawn, those with a mass that counts, and, of a robot
    without any shape, all that carry others.

    Args:
        tree: the robot.
        shapes: what can be drawn.
        faulty: links whose shapes cannot be drawn.
        size: of the robot [m].
    """
    shaped = {visual.link for visual in shapes}
    radius = THICKNESS * size
    masses = {link.name: link.body.mass for link in tree.links.values() if link.body is not None}
    least = LEAST * sum(masses.values())
    found: list[Visual] = []
    for link in tree.links.values():
        if link.name in shaped:
            continue
        massive = masses.get(link.name, 0.0) > least
        if massive or link.name in faulty or (not shaped and tree.child_joints[link.name]):
            found += _link(tree, link.name, radius)
    return tuple(found)


def _link(tree: RobotTree, link: str, radius: float) -> Iterator[Visual]:
    ends = [joint.origin[:3, 3] for joint in tree.child_joints[link]]
    body = tree.links[link].body
    if not ends and body is not None:
        ends = [2.0 * body.center_of_mass]
    yield Visual(link, np.eye(4), Sphere(radius), COLOR)
    for end in ends:
        length = float(np.linalg.norm(end))
        if length > SHORTEST * radius:
            yield Visual(link, _between(end, length), Cylinder(radius, length), COLOR)
            yield Visual(link, pose(position=end), Sphere(radius), COLOR)


def _between(end: Array, length: float) -> Array:
    """Pose (4, 4) of a cylinder from the origin to ``end``."""
    return pose(axis_frame(end / length), 0.5 * end)
