"""Plates that carry points: the base and the top of a platform, drawn from its joints alone."""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array, pose
from robot_dynamics.view.efforts import Mesh, axis_frame
from robot_dynamics.view.visuals import Plate

CORNER = 12
"""Points of the circle about each joint that rounds the outline."""


def plate_below(
    points: Array, outward: Array, clearance: float, margin: float, thickness: float
) -> tuple[Array, Plate]:
    """The plate on which joints stand.

    Args:
        points: (N, 3) centres of the joints [m].
        outward: (3,) the side on which the joints stand.
        clearance: from the lowest joint's centre to the plate [m].
        margin: from the joints to the plate's edge [m].
        thickness: [m].

    Returns:
        (4, 4) pose of the plate: its face is z = 0, z points to the joints; and the plate.
    """
    center = points.mean(axis=0)
    # The direction in which the points differ least is across the plate; of points on a line any is.
    normal = np.linalg.svd(points - center)[2][-1]
    normal = normal if normal @ outward >= 0.0 else -normal
    frame = pose(axis_frame(normal), center)
    local = (points - center) @ frame[:3, :3]
    frame[:3, 3] += (local[:, 2].min() - clearance) * normal
    angles = np.linspace(0.0, 2.0 * np.pi, CORNER, endpoint=False)
    circle = margin * np.column_stack([np.cos(angles), np.sin(angles)])
    outline = convex_hull((local[:, None, :2] + circle).reshape(-1, 2))
    return frame, Plate(tuple((float(x), float(y)) for x, y in outline), thickness)


def convex_hull(points: Array) -> Array:
    """Corners (M, 2) of the convex hull of points (N, 2), counter-clockwise."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    halves = []
    for side in (ordered, ordered[::-1]):
        chain: list[tuple[float, float]] = []
        for point in side:
            while len(chain) > 1 and not _turns_left(chain[-2], chain[-1], point):
                chain.pop()
            chain.append(point)
        halves.append(chain[:-1])
    return np.array(halves[0] + halves[1])


def _turns_left(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0.0


def plate_mesh(plate: Plate) -> Mesh:
    """The surface of a plate, faces outwards."""
    outline = np.array(plate.outline)
    count = len(outline)
    top = np.column_stack([outline, np.zeros(count)])
    bottom = np.column_stack([outline, np.full(count, -plate.thickness)])
    fan = [(0, i, i + 1) for i in range(1, count - 1)]
    faces = [*fan, *((count, count + c, count + b) for _, b, c in fan)]
    for i in range(count):
        j = (i + 1) % count
        faces += [(i, count + i, j), (j, count + i, count + j)]
    return Mesh(np.vstack([top, bottom]), np.array(faces, dtype=np.uint32))
