"""Efforts as shapes: arcs about joint axes, arrows along them, and colours by the share of the limit."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.model.urdf import JointType
from robot_dynamics.spatial import Array, rotation_with_z

RGB = tuple[float, float, float]

FULL_SWEEP = math.radians(300.0)
"""Angle of the arc at the effort limit."""
HEAD_SWEEP = math.radians(28.0)
"""Angle that the arrowhead of an arc takes beyond it."""
VISIBLE_SHARE = 0.005
"""Efforts below this share of their limit are not drawn."""
# Colours at shares 0, 1/2 and 1 of the limit, and of an effort whose limit is unknown.
_SCALE = np.array([[0.11, 0.62, 0.47], [0.95, 0.68, 0.14], [0.84, 0.15, 0.16]])
UNLIMITED: RGB = (0.27, 0.46, 0.71)


def share_of_limit(effort: float, limit: float) -> float | None:
    """Signed share of the limit; None when there is no limit."""
    return effort / limit if math.isfinite(limit) else None


def share_color(share: float | None) -> RGB:
    """Green for no effort, amber at half the limit, red at the limit; blue when there is none."""
    if share is None:
        return UNLIMITED
    place = 2.0 * min(1.0, abs(share))
    low = min(1, int(place))
    red, green, blue = _SCALE[low] + (place - low) * (_SCALE[low + 1] - _SCALE[low])
    return (float(red), float(green), float(blue))


def effort_text(effort: float | None, limit: float, kind: JointType) -> str:
    """An effort in words, with its share of the limit."""
    return quantity_text(effort, limit, "N" if kind is JointType.PRISMATIC else "N·m")


def quantity_text(effort: float | None, limit: float, unit: str) -> str:
    """An effort of any unit in words, with its share of the limit."""
    if effort is None:
        return ""
    share = share_of_limit(effort, limit)
    # Adding zero takes the sign off a zero.
    return f"{round(effort, 1) + 0.0:.1f} {unit}" + ("" if share is None else f" ({100 * abs(share):.0f} %)")


class EffortScale:
    """Efforts of one joint against its limit, or against the largest one seen where there is none.

    Args:
        limit: [N·m or N]; infinite when unknown.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._largest = 0.0

    def __call__(self, effort: float) -> tuple[float, RGB]:
        """Share of the full arc to draw (signed, at most 1) and its colour."""
        share = share_of_limit(effort, self._limit)
        if share is None:
            self._largest = max(self._largest, abs(effort))
            drawn = 0.5 * effort / self._largest if self._largest > 0.0 else 0.0
            return drawn, UNLIMITED
        return min(1.0, max(-1.0, share)), share_color(share)


def axis_frame(axis: Array) -> Array:
    """(3, 3) rotation whose z axis is the unit vector ``axis`` and whose x axis is as high as it can be.

    Arcs begin at x: of equal efforts about parallel axes they look alike.
    """
    z = np.asarray(axis, dtype=float)
    return rotation_with_z(z, np.eye(3)[2 if abs(z[2]) < 0.9 else 0])


def arc_points(share: float, radius: float, count: int) -> Array:
    """(count, 3) points of an arc about z that begins at x; positive shares turn right-handed [m]."""
    angles = np.linspace(0.0, share * FULL_SWEEP, count)
    return np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.zeros(count)])


@dataclass(frozen=True)
class Mesh:
    """A surface of triangles.

    Attributes:
        vertices: (V, 3) [m].
        faces: (F, 3) indices of vertices.
    """

    vertices: Array
    faces: NDArray[np.uint32]


_RINGS = 24
_SIDES = 10
_THIN = 5
"""Sides of a scale, which is a few pixels thick."""
_HEAD_WIDTH = 2.6


def arc_arrow(share: float, radius: float, thickness: float) -> Mesh:
    """An arc about z with an arrowhead; the faces are the same for every share.

    Args:
        share: of the limit, -1 to 1.
        radius: of the arc [m].
        thickness: diameter of its tube [m].
    """
    sign = math.copysign(1.0, share)
    end = share * FULL_SWEEP
    head = _head_scale(share)
    tip = end + sign * head * HEAD_SWEEP
    angles = np.concatenate([[0.0], np.linspace(0.0, end, _RINGS), [end, tip]])
    radii = _arrow_radii(head * thickness)
    centers = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.zeros(len(angles))])
    outward = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])
    upward = np.broadcast_to([0.0, 0.0, sign], outward.shape)
    return _tube(centers, outward, upward, radii)


def straight_arrow(share: float, length: float, thickness: float) -> Mesh:
    """An arrow along z from the origin, ``share * length`` long without its head; same faces always."""
    sign = math.copysign(1.0, share)
    head = _head_scale(share)
    end = share * length
    heights = np.concatenate([[0.0], np.linspace(0.0, end, _RINGS), [end, end + sign * head * 0.25 * length]])
    radii = _arrow_radii(head * thickness)
    centers = np.column_stack([np.zeros(len(heights)), np.zeros(len(heights)), heights])
    across = np.broadcast_to([1.0, 0.0, 0.0], centers.shape)
    beside = np.broadcast_to([0.0, -sign, 0.0], centers.shape)
    return _tube(centers, across, beside, radii)


def _head_scale(share: float) -> float:
    """Small efforts have small arrows, or the head would look like an effort."""
    return min(1.0, 0.3 + abs(share) / 0.1)


def _arrow_radii(thickness: float) -> Array:
    half = 0.5 * thickness
    return np.concatenate([[0.0], np.full(_RINGS, half), [_HEAD_WIDTH * half, 0.0]])


def ring(radius: float, thickness: float) -> Mesh:
    """A closed thin ring about z, the scale on which an arc is read."""
    angles = np.linspace(0.0, 2.0 * np.pi, 49)
    outward = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])
    upward = np.broadcast_to([0.0, 0.0, 1.0], outward.shape)
    return _tube(radius * outward, outward, upward, np.full(len(angles), 0.5 * thickness), _THIN)


def rod(reach: float, thickness: float) -> Mesh:
    """A thin rod along z from minus to plus ``reach``, the scale on which an arrow is read."""
    heights = np.array([-reach, -reach, reach, reach])
    centers = np.column_stack([np.zeros(4), np.zeros(4), heights])
    across, beside = (np.broadcast_to(axis, centers.shape) for axis in ([1.0, 0.0, 0.0], [0.0, -1.0, 0.0]))
    return _tube(centers, across, beside, 0.5 * thickness * np.array([0.0, 1.0, 1.0, 0.0]), _THIN)


def _tube(centers: Array, across: Array, beside: Array, radii: Array, sides: int = _SIDES) -> Mesh:
    turn = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    circle = np.cos(turn)[None, :, None] * across[:, None, :] + np.sin(turn)[None, :, None] * beside[:, None]
    vertices = (centers[:, None, :] + radii[:, None, None] * circle).reshape(-1, 3)
    return Mesh(vertices, _tube_faces(len(centers), sides))


@functools.lru_cache
def _tube_faces(rings: int, sides: int) -> NDArray[np.uint32]:
    faces = []
    for r in range(rings - 1):
        for s in range(sides):
            a, b = r * sides + s, r * sides + (s + 1) % sides
            c, d = a + sides, b + sides
            faces += [(a, c, b), (b, c, d)]
    found = np.array(faces, dtype=np.uint32)
    found.setflags(write=False)
    return found
