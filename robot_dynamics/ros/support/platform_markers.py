"""A Stewart platform with its forces as rviz markers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.stewart import Machine
from robot_dynamics.stewart.kinematics import leg_geometry

Array = np.ndarray
LEG_WIDTH, PLATE_WIDTH, ARROW_WIDTH = 0.02, 0.012, 0.03
ARROW_SHARE = 0.25
"""Length of the arrow of a force at its limit, as a share of the leg."""
LARGE_FORCE = 1000.0
"""Stands for the limit where the machine has none [N]."""


def platform_markers(
    header: Header,
    machine: Machine,
    position: Array,
    rotation: Array,
    forces: Array,
    condition_number: float,
) -> MarkerArray:
    """Base, platform, legs coloured by their share of the force limit, force arrows and a line of text.

    Args:
        header: stamp and base frame.
        machine: the platform.
        position: (3,) of the platform's origin [m].
        rotation: (3, 3) from the platform frame to the base frame.
        forces: (6,) actuator forces [N], positive when the leg pushes.
        condition_number: of the pose.
    """
    legs = leg_geometry(machine, position, rotation)
    base = machine.base_points
    top = base + legs.vectors
    markers = [
        _polygon(header, "base", base, ColorRGBA(r=0.35, g=0.37, b=0.4, a=1.0)),
        _polygon(header, "platform", top, ColorRGBA(r=0.15, g=0.45, b=0.8, a=1.0)),
    ]
    limits = np.array([leg.limits.force for leg in machine.legs])
    shares = forces / np.where(np.isfinite(limits), limits, LARGE_FORCE)
    for k in range(len(forces)):
        colour = share_colour(abs(float(shares[k])))
        line = _marker(header, "legs", k, Marker.LINE_STRIP, colour)
        line.scale.x = LEG_WIDTH
        line.points = [_point(base[k]), _point(top[k])]
        arrow = _marker(header, "forces", k, Marker.ARROW, colour)
        arrow.scale.x, arrow.scale.y = ARROW_WIDTH, 2.0 * ARROW_WIDTH
        # A pushing leg's arrow points out of the platform's joint, a pulling one's back along the leg.
        length = ARROW_SHARE * legs.lengths[k] * float(np.clip(shares[k], -1.0, 1.0))
        arrow.points = [_point(top[k]), _point(top[k] + length * legs.directions[k])]
        markers += [line, arrow]
    text = _marker(header, "condition", 0, Marker.TEXT_VIEW_FACING, ColorRGBA(r=0.9, g=0.9, b=0.9, a=1.0))
    text.scale.z = 0.05
    text.pose.position = _point(position + np.array([0.0, 0.0, 0.15]))
    text.text = f"condition {condition_number:.1f}   " + "  ".join(f"{force:.0f} N" for force in forces)
    return MarkerArray(markers=[*markers, text])


def share_colour(share: float) -> ColorRGBA:
    """Green at no load, yellow at half the limit, red at the limit and beyond."""
    share = min(max(share, 0.0), 1.0)
    return ColorRGBA(r=min(1.0, 2.0 * share), g=min(1.0, 2.0 * (1.0 - share)), b=0.1, a=1.0)


def _marker(header: Header, namespace: str, number: int, kind: int, colour: ColorRGBA) -> Marker:
    marker = Marker(header=header, ns=namespace, id=number, type=kind, action=Marker.ADD, color=colour)
    marker.pose.orientation.w = 1.0
    return marker


def _polygon(header: Header, namespace: str, points: Array, colour: ColorRGBA) -> Marker:
    centre = points.mean(axis=0)
    order = np.argsort(np.arctan2(points[:, 1] - centre[1], points[:, 0] - centre[0]))
    marker = _marker(header, namespace, 0, Marker.LINE_STRIP, colour)
    marker.scale.x = PLATE_WIDTH
    marker.points = [_point(points[k]) for k in [*order, order[0]]]
    return marker


def _point(values: Sequence[float] | Array) -> Point:
    x, y, z = (float(value) for value in values)
    return Point(x=x, y=y, z=z)
