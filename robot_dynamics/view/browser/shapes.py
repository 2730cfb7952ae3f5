"""Geometry of :mod:`robot_dynamics.view` as nodes of viser's scene."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser
from transforms3d.quaternions import mat2quat

from robot_dynamics.errors import ModelError
from robot_dynamics.spatial import Array
from robot_dynamics.view.efforts import RGB
from robot_dynamics.view.mesh_files import read_mesh
from robot_dynamics.view.plates import plate_mesh
from robot_dynamics.view.visuals import Box, Cylinder, MeshFile, Plate, Sphere, Visual

GHOST_SCALE = 1.02
"""Ghosts are a little larger: two surfaces in one place would flicker."""
MOVED = 1e-5
"""Least change of a pose's entries that is sent to the browser [m or 1]."""


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
    server: viser.ViserServer, name: str, visual: Visual, color: RGB | None, opacity: float | None
) -> str:
    """Draw one shape of a link below the link's frame.

    Args:
        server: the page.
        name: of the new node of the scene.
        visual: the shape.
        color: instead of its own.
        opacity: 0 to 1; None for its own.

    Returns:
        Why it cannot be drawn; empty when it is drawn.
    """
    placed: dict[str, Any] = {
        "wxyz": mat2quat(visual.origin[:3, :3]),
        "position": visual.origin[:3, 3],
        "color": rgb255(color if color is not None else visual.color[:3]),
        "opacity": opacity if opacity is not None else (visual.color[3] if visual.color[3] < 1.0 else None),
        "scale": 1.0 if opacity is None else GHOST_SCALE,
        "cast_shadow": opacity is None,
        "receive_shadow": opacity is None,
    }
    shape, scene = visual.shape, server.scene
    if isinstance(shape, Box):
        scene.add_box(name, dimensions=shape.size, **placed)
    elif isinstance(shape, Cylinder):
        scene.add_cylinder(name, radius=shape.radius, height=shape.length, radial_segments=48, **placed)
    elif isinstance(shape, Sphere):
        scene.add_icosphere(name, radius=shape.radius, subdivisions=4, **placed)
    elif isinstance(shape, Plate):
        mesh = plate_mesh(shape)
        scene.add_mesh_simple(name, vertices=mesh.vertices, faces=mesh.faces, flat_shading=True, **placed)
    else:
        return _add_mesh(scene, name, shape, placed)
    return ""


def _add_mesh(scene: viser.SceneApi, name: str, shape: MeshFile, placed: dict[str, Any]) -> str:
    try:
        vertices, faces = read_mesh(shape.path)
    except ModelError as error:
        return str(error)
    scale = np.asarray(shape.scale)
    scene.add_mesh_simple(name, vertices=vertices * scale, faces=faces, side="double", **placed)
    return ""
