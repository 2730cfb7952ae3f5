"""The markers of which pictures for rviz are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.view.efforts import RGB
from robot_dynamics.view.plates import plate_mesh
from robot_dynamics.view.visuals import Box, Cylinder, Plate, Sphere, Visual

LEADER_COLOR: RGB = (0.7, 0.7, 0.7)
LINE_HEIGHT = 1.15
"""Distance of two lines of a text, as a share of the text's height."""
_SPACE = 0.45
# An arrow shorter than this many of its shaft's diameters gets a thinner shaft, so that it stays an arrow.
_SLENDER = 4.0
_NOTHING = 1e-4


def shape(frame: str, namespace: str, number: int, kind: int, color: RGB, opacity: float = 1.0) -> Marker:
    """A marker at the frame's origin, without size."""
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
    marker.header.frame_id = frame
    marker.pose.orientation.w = 1.0
    red, green, blue = color
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=opacity)
    return marker


def gone(frame: str, namespace: str, number: int) -> Marker:
    """Takes a marker away that may have been there."""
    marker = Marker(ns=namespace, id=number, action=Marker.DELETE)
    marker.header.frame_id = frame
    return marker


def line(
    frame: str, namespace: str, number: int, points: Array, color: RGB, width: float, *, strip: bool = True
) -> Marker:
    """A line through points (N, 3), or one between every two of them [m]."""
    kind = Marker.LINE_STRIP if strip else Marker.LINE_LIST
    marker = shape(frame, namespace, number, kind, color)
    marker.scale.x = width
    marker.points = [point(place) for place in points]
    return marker


def leaders(frame: str, namespace: str, labels: Array, places: Array, width: float) -> Marker:
    """Faint lines from labels (N, 3) to what they belong to (N, 3) [m]."""
    ends = np.stack([labels, places], axis=1).reshape(-1, 3)
    marker = line(frame, namespace, 0, ends, LEADER_COLOR, width, strip=False)
    marker.color.a = 0.4
    return marker


def arrow(
    frame: str, namespace: str, number: int, start: Array, tip: Array, color: RGB, thickness: float
) -> Marker:
    """An arrow between two places (3,); none where they are the same [m]."""
    length = float(np.linalg.norm(np.subtract(tip, start)))
    if length < _NOTHING * thickness:
        return gone(frame, namespace, number)
    marker = shape(frame, namespace, number, Marker.ARROW, color)
    shaft = min(thickness, length / _SLENDER)
    marker.scale.x, marker.scale.y, marker.scale.z = shaft, 2.5 * shaft, min(4.0 * shaft, 0.5 * length)
    marker.points = [point(start), point(tip)]
    return marker


def text(
    frame: str, namespace: str, number: int, place: Sequence[float] | Array, words: str, height: float
) -> Marker:
    """White text about a place (3,), its capitals about as high as ``height`` [m]."""
    marker = shape(frame, namespace, number, Marker.TEXT_VIEW_FACING, (1.0, 1.0, 1.0))
    marker.pose.position = point(place)
    # rviz has no characters beyond ASCII, and spaces of any text's size only if scale.x tells their width.
    marker.text = words.replace("·", " ")
    marker.scale.x, marker.scale.z = _SPACE * height, height
    return marker


def solid(frame: str, namespace: str, number: int, visual: Visual) -> Marker | None:
    """A part of a machine, to be placed by :func:`put`; None for what has no marker."""
    red, green, blue, opacity = visual.color
    kinds = {Box: Marker.CUBE, Cylinder: Marker.CYLINDER, Sphere: Marker.SPHERE, Plate: Marker.TRIANGLE_LIST}
    kind = kinds.get(type(visual.shape))
    if kind is None:
        return None
    marker = shape(frame, namespace, number, kind, (red, green, blue), opacity)
    size = (1.0, 1.0, 1.0)
    if isinstance(visual.shape, Box):
        size = visual.shape.size
    elif isinstance(visual.shape, Cylinder):
        diameter = 2.0 * visual.shape.radius
        size = (diameter, diameter, visual.shape.length)
    elif isinstance(visual.shape, Sphere):
        size = (2.0 * visual.shape.radius,) * 3
    elif isinstance(visual.shape, Plate):
        mesh = plate_mesh(visual.shape)
        corners = [point(vertex) for vertex in mesh.vertices]
        marker.points = [corners[index] for index in mesh.faces.ravel()]
    marker.scale.x, marker.scale.y, marker.scale.z = map(float, size)
    return marker


def put(marker: Marker, place: Array) -> None:
    """Move a marker to a pose (4, 4) in its frame."""
    marker.pose.position = point(place[:3, 3])
    turn = marker.pose.orientation
    turn.x, turn.y, turn.z, turn.w = quaternion_from_rotation(place[:3, :3]).tolist()


def point(values: Sequence[float] | Array) -> Point:
    """Three coordinates as a message."""
    x, y, z = map(float, values)
    return Point(x=x, y=y, z=z)
