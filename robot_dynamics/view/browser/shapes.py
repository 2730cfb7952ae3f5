"""Geometry of :mod:`robot_dynamics.view` as nodes of viser's scene."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser
from transforms3d.quaternions import mat2quat

from robot_dynamics.errors import ModelError
from robot_dynamics.spatial import Array
from robot_dynamics.view.efforts import RGB
from robot_dynamics.view.mesh_files import MeshPart, read_parts, simplified
from robot_dynamics.view.plates import plate_mesh
from robot_dynamics.view.visuals import Box, Cylinder, MeshFile, Plate, Sphere, Visual

GHOST_SCALE = 1.02
"""Ghosts are a little larger: two surfaces in one place would flicker."""
MOVED = 1e-5
"""Least change of a pose's entries that is sent to the browser [m or 1]."""
SIMPLE = 1200
"""Triangles of a mesh at most where the browser has no graphics card, and of a ghost's."""
ROUND = {False: 48, True: 20}
"""Edges of a cylinder, by whether the shapes are simple."""


def rgb255(color: RGB) -> tuple[int, int, int]:
    """The colour in the whole numbers that viser takes."""
    red, green, blue = (round(255 * value) for value in color)
    return (red, green, blue)


class SceneFrame:
    """A node of the scene that moves its children; sends what has changed."""

    def __init__(self, server: viser.ViserServer, name: str) -> None:
        self._node = server.scene.add_frame(name, show_axes=False)
        self._pose = np.eye(4)

    def move(self, pose: Array) -> None:
        """Take a pose (4, 4) in the parent's frame."""
        if np.abs(pose - self._pose).max() < MOVED:
            return
        self._node.wxyz = mat2quat(pose[:3, :3])
        self._node.position = pose[:3, 3]
        self._pose = np.array(pose)

    @property
    def visible(self) -> bool:
        """Visibility of the children."""
        return bool(self._node.visible)

    @visible.setter
    def visible(self, value: bool) -> None:
        if value != self._node.visible:
            self._node.visible = value

    def remove(self) -> None:
        """Take it out of the scene with everything below."""
        self._node.remove()


def add_visual(
    server: viser.ViserServer,
    name: str,
    visual: Visual,
    color: RGB | None,
    opacity: float | None,
    simple: bool = False,
) -> str:
    """Draw one shape of a link below the link's frame.

    Args:
        server: the page.
        name: of the new node of the scene.
        visual: the shape.
        color: instead of its own.
        opacity: 0 to 1; None for its own.
        simple: with few triangles and without shadows.

    Returns:
        Why it cannot be drawn; empty when it is drawn.
    """
    placed: dict[str, Any] = {
        "wxyz": mat2quat(visual.origin[:3, :3]),
        "position": visual.origin[:3, 3],
        "scale": 1.0 if opacity is None else GHOST_SCALE,
        "cast_shadow": opacity is None and not simple,
        "receive_shadow": opacity is None and not simple,
    }
    shape, scene = visual.shape, server.scene
    if isinstance(shape, MeshFile):
        return _add_mesh(scene, name, visual, shape, (color, opacity), simple or opacity is not None, placed)
    placed |= _paint(color if color is not None else visual.color[:3], opacity, visual.color[3])
    if isinstance(shape, Box):
        scene.add_box(name, dimensions=shape.size, **placed)
    elif isinstance(shape, Cylinder):
        scene.add_cylinder(
            name, radius=shape.radius, height=shape.length, radial_segments=ROUND[simple], **placed
        )
    elif isinstance(shape, Sphere):
        scene.add_icosphere(name, radius=shape.radius, subdivisions=2 if simple else 4, **placed)
    elif isinstance(shape, Plate):
        mesh = plate_mesh(shape)
        scene.add_mesh_simple(name, vertices=mesh.vertices, faces=mesh.faces, flat_shading=True, **placed)
    return ""


def _paint(color: RGB, opacity: float | None, own: float) -> dict[str, Any]:
    return {"color": rgb255(color), "opacity": opacity if opacity is not None else own if own < 1.0 else None}


def _add_mesh(
    scene: viser.SceneApi,
    name: str,
    visual: Visual,
    shape: MeshFile,
    ghost: tuple[RGB | None, float | None],
    simple: bool,
    placed: dict[str, Any],
) -> str:
    """Draw the parts of a mesh file, each with its material's colour, or else the description's."""
    try:
        parts = read_parts(shape.path)
    except ModelError as error:
        return str(error)
    color, opacity = ghost
    scale = np.asarray(shape.scale)
    count = sum(len(part.faces) for part in parts)
    for number, part in enumerate(parts):
        at = f"{name}/part{number}"
        if part.painted is not None and color is None and not simple:
            painted = part.painted.copy()
            painted.apply_scale(scale)
            scene.add_mesh_trimesh(at, painted, **placed)
            continue
        part = simplified(part, _share(part, count)) if simple else part
        own = part.color or visual.color
        scene.add_mesh_simple(
            at,
            vertices=part.vertices * scale,
            faces=part.faces,
            side="double",
            **_paint(color if color is not None else own[:3], opacity, own[3]),
            **placed,
        )
    return ""


def _share(part: MeshPart, count: int) -> int:
    """Triangles that one part of a simple mesh may have."""
    return max(60, round(SIMPLE * len(part.faces) / count))
