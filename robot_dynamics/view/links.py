"""Shapes and weights on links with poses: what arms and platforms have in common."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.spatial import Array
from robot_dynamics.view.mesh_files import read_mesh
from robot_dynamics.view.visuals import Box, Cylinder, MeshFile, Plate, Sphere, Visual

LONGEST_WEIGHT = 0.25
"""Arrow of the heaviest link's weight, as a share of the machine's size."""
SMALLEST = 0.2
"""A machine is never taken to be smaller than this when arrows are scaled [m]."""


@dataclass(frozen=True)
class Weight:
    """The weight of one moving link.

    Attributes:
        link: its name.
        center_of_mass: (3,) in the link frame [m].
        mass: [kg].
    """

    link: str
    center_of_mass: Array
    mass: float


def weight_arrows(weights: Sequence[Weight], gravity: Array, size: float) -> tuple[Array, ...]:
    """An arrow (3,) for each weight, root frame [m]; as long as it is heavy.

    Args:
        weights: of the links.
        gravity: (3,) in the root frame [m/s²].
        size: of the machine [m].
    """
    strength = float(np.linalg.norm(gravity))
    heaviest = max((weight.mass for weight in weights), default=1.0)
    unit = LONGEST_WEIGHT * size / (heaviest * strength) if strength > 0.0 else 0.0
    return tuple(np.asarray(unit * weight.mass * gravity) for weight in weights)


def bounds(poses: Mapping[str, Array], shapes: Iterable[Visual]) -> tuple[Array, Array]:
    """Least and greatest coordinates (3,), (3,) of the link origins and shapes, root frame [m]."""
    points = [place[:3, 3] for place in poses.values()]
    for visual in shapes:
        if visual.link not in poses:
            continue
        place = poses[visual.link] @ visual.origin
        for corner in _corners(visual):
            points.append(place[:3, :3] @ corner + place[:3, 3])
    cloud = np.array(points)
    return cloud.min(axis=0), cloud.max(axis=0)


def _corners(visual: Visual) -> Array:
    shape = visual.shape
    if isinstance(shape, Plate):
        flat = np.array(shape.outline)
        return np.vstack([np.column_stack([flat, np.full(len(flat), z)]) for z in (-shape.thickness, 0.0)])
    half = np.zeros(3)
    if isinstance(shape, MeshFile):
        return _mesh_corners(shape)
    if isinstance(shape, Box):
        half = 0.5 * np.array(shape.size)
    elif isinstance(shape, Cylinder):
        half = np.array([shape.radius, shape.radius, 0.5 * shape.length])
    elif isinstance(shape, Sphere):
        half = np.full(3, shape.radius)
    return np.asarray(_SIGNS * half)


@functools.lru_cache(maxsize=1024)
def _mesh_corners(shape: MeshFile) -> Array:
    """Corners of the box about a mesh; its origin where it cannot be read."""
    try:
        vertices, _ = read_mesh(shape.path)
    except (ModelError, ImportError):
        return np.zeros((1, 3))
    ends = np.array([vertices.min(axis=0), vertices.max(axis=0)]) * np.array(shape.scale)
    return np.asarray(ends.mean(axis=0) + 0.5 * _SIGNS * (ends[1] - ends[0]))


_SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
