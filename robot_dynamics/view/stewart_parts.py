"""Shapes of a Stewart platform from its description: plates, joints and legs."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.spatial import Array, pose
from robot_dynamics.stewart.machine import Leg, Machine
from robot_dynamics.view.efforts import axis_frame
from robot_dynamics.view.mesh_files import Color
from robot_dynamics.view.plates import plate_below
from robot_dynamics.view.visuals import Cylinder, Sphere, Visual

BASE_COLOR: Color = (0.33, 0.36, 0.42, 1.0)
PLATFORM_COLOR: Color = (0.93, 0.80, 0.62, 1.0)
HOUSING_COLOR: Color = (0.36, 0.40, 0.47, 1.0)
ROD_COLOR: Color = (0.84, 0.86, 0.88, 1.0)
JOINT_COLOR: Color = (0.55, 0.58, 0.63, 1.0)
# Thicknesses as shares of the mean length of the legs at home.
HOUSING, ROD, JOINT, PIN, PLATE, MARGIN = 0.048, 0.026, 0.044, 0.020, 0.035, 0.10
X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def lower(leg: Leg) -> str:
    """Link of the part that carries the base joint."""
    return f"{leg.name}_lower"


def upper(leg: Leg) -> str:
    """Link of the part that carries the platform joint."""
    return f"{leg.name}_upper"


def leg_axes(universal_axis: Array, direction: Array) -> Array:
    """(3, 3) axes of a leg in the base frame: x along it, y along the moving axis of its universal joint.

    Args:
        universal_axis: (3,) fixed axis of the universal joint, base frame.
        direction: (3,) unit vector along the leg, base frame.
    """
    y = np.cross(universal_axis, direction)
    y /= np.linalg.norm(y)
    return np.column_stack([direction, y, np.cross(direction, y)])


def platform_shapes(machine: Machine, unit: float) -> tuple[Visual, ...]:
    """The parts of a machine; the links are ``base``, ``platform``, and ``lower`` and ``upper`` of every leg.

    Args:
        machine: the platform.
        unit: mean length of its legs at home [m].
    """
    along = machine.home_directions.mean(axis=0)
    plates = (
        ("base", machine.base_points, along, BASE_COLOR),
        ("platform", machine.platform_points, -along @ machine.home_rotation, PLATFORM_COLOR),
    )
    shapes = []
    for link, points, outward, color in plates:
        frame, plate = plate_below(points, outward, JOINT * unit, MARGIN * unit, PLATE * unit)
        shapes.append(Visual(link, frame, plate, color))
    for leg in machine.legs:
        shapes += _leg(leg, unit)
    return tuple(shapes)


def _leg(leg: Leg, unit: float) -> list[Visual]:
    housing, rod = part_lengths(leg, unit)
    low, high = lower(leg), upper(leg)
    shapes = [
        _bar(low, X, 0.0, housing, HOUSING * unit, HOUSING_COLOR),
        _bar(low, X, housing, housing + 0.04 * unit, 1.2 * HOUSING * unit, JOINT_COLOR),
        _bar(high, X, -rod, 0.0, ROD * unit, ROD_COLOR),
        Visual(high, np.eye(4), Sphere(JOINT * unit), JOINT_COLOR),
    ]
    reach = 2.0 * JOINT * unit
    if leg.universal_axis is None:
        return [*shapes, Visual(low, np.eye(4), Sphere(1.3 * JOINT * unit), JOINT_COLOR)]
    fixed = _bar("base", leg.universal_axis, -reach, reach, PIN * unit, JOINT_COLOR)
    carried = Visual("base", pose(position=leg.base_point) @ fixed.origin, fixed.shape, fixed.color)
    return [*shapes, carried, _bar(low, Y, -reach, reach, PIN * unit, JOINT_COLOR)]


def part_lengths(leg: Leg, unit: float) -> tuple[float, float]:
    """Lengths of housing and rod as drawn [m]: they overlap at full stroke and fit into the shortest leg."""
    shortest, longest = leg.limits.shortest, leg.limits.longest
    if not (math.isfinite(longest) and shortest > 0.0):
        return 0.6 * unit, 0.55 * unit
    housing = 0.85 * shortest
    return housing, min(longest - 0.9 * housing, 0.97 * shortest)


def _bar(link: str, axis: Array, begin: float, end: float, radius: float, color: Color) -> Visual:
    """A cylinder along an axis through the link's origin."""
    frame = pose(axis_frame(axis), 0.5 * (begin + end) * axis)
    return Visual(link, frame, Cylinder(radius, end - begin), color)
