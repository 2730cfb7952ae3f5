"""Mesh files of a description: search, checks, and the remedy for missing ones."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ModelError
from robot_dynamics.inputs.files import is_regular
from robot_dynamics.spatial import Array

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, 0 to 1."""
READABLE = (".stl", ".obj", ".dae")
"""Kinds of mesh files that are drawn."""
MOST_TRIANGLES = 2_000_000
"""Largest number of triangles of one mesh; more would keep a browser busy for minutes."""
MISSING = "is not on this machine"
"""In the reason why a mesh is not drawn, where its file is missing."""
_PACKAGES = ("package", "model")
_UPWARDS = 8
"""So many folders above the description are searched."""


def package_of(name: str) -> str:
    """The ROS package or Gazebo model that a mesh's name begins with; empty where it does not."""
    address = urlparse(name) if "\0" not in name else urlparse("")
    return address.netloc if address.scheme in _PACKAGES else ""


def find_mesh(name: str, folder: Path | None = None) -> Path:
    """The file that a mesh's name means.

    ``package://`` and ``model://`` are looked for in the installed packages (``AMENT_PREFIX_PATH``,
    ``ROS_PACKAGE_PATH``, ``GZ_SIM_RESOURCE_PATH``) and then in the folders above the description; a relative
    name begins at the description's folder.

    Args:
        name: as in the description.
        folder: of the description's file; None when it did not come from a file.

    Raises:
        ModelError: the file is not on this machine, or of a kind that is not drawn.
    """
    found = next((path for path in _candidates(name, folder) if is_regular(path)), None)
    if found is None:
        raise ModelError(f"mesh {name[:120]!r} {MISSING}")
    if found.suffix.lower() not in READABLE:
        raise ModelError(f"mesh {name[:120]!r} is none of {', '.join(READABLE)}")
    return found


def _candidates(name: str, folder: Path | None) -> Iterator[Path]:
    if not name or "\0" in name:
        return
    address = urlparse(name)
    if address.scheme in _PACKAGES:
        relative = unquote(address.path).lstrip("/")
        for prefix in _paths("AMENT_PREFIX_PATH"):
            yield prefix / "share" / address.netloc / relative
        # Either the folder that holds the package, or the package itself.
        for place in (*_paths("ROS_PACKAGE_PATH"), *_paths("GZ_SIM_RESOURCE_PATH"), *_above(folder)):
            yield place / address.netloc / relative
            if place.name == address.netloc:
                yield place / relative
    elif address.scheme == "file":
        yield Path(unquote(address.path))
    elif not address.scheme:
        path = Path(unquote(name))
        if path.is_absolute():
            yield path
        elif folder is not None:
            yield folder / path


def _paths(variable: str) -> list[Path]:
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]


def _above(folder: Path | None) -> Sequence[Path]:
    return () if folder is None else (folder, *folder.parents)[:_UPWARDS]


@dataclass(frozen=True)
class MeshPart:
    """Triangles of one material.

    Attributes:
        vertices: (V, 3) as in the file.
        faces: (F, 3) indices of vertices.
        color: of its material, red to opacity, 0 to 1; None where the file has none.
        painted: trimesh's own mesh where texture or vertices give the colours, else None.
    """

    vertices: Array
    faces: NDArray[np.int64]
    color: Color | None = None
    painted: Any = None


@lru_cache(maxsize=512)
def read_parts(path: Path) -> tuple[MeshPart, ...]:
    """Parts of a mesh file, one for each colour.

    Raises:
        ModelError: the file is no mesh, or one of more than ``MOST_TRIANGLES``.
    """
    import trimesh

    try:
        loaded: Any = trimesh.load(str(path))
        meshes = [
            mesh for mesh in (loaded.dump() if hasattr(loaded, "dump") else [loaded]) if _has_faces(mesh)
        ]
        parts = [_part(mesh) for mesh in meshes]
    except Exception as error:  # the readers of mesh formats raise whatever they like
        raise ModelError(f"mesh {path} cannot be read: {str(error)[:200]}") from error
    count = sum(len(part.faces) for part in parts)
    if not count or not all(np.isfinite(part.vertices).all() for part in parts):
        raise ModelError(f"mesh {path} has no triangles that can be read")
    if count > MOST_TRIANGLES:
        raise ModelError(f"mesh {path} has {count} triangles; {MOST_TRIANGLES} can be drawn")
    painted = [part for part in parts if part.painted is not None]
    plain: dict[Color | None, list[MeshPart]] = {}
    for part in parts:
        if part.painted is None:
            plain.setdefault(part.color, []).append(part)
    return (*(_joined(same, color) for color, same in plain.items()), *painted)


def _has_faces(mesh: Any) -> bool:
    return len(getattr(mesh, "faces", ())) > 0


def _part(mesh: Any) -> MeshPart:
    visual = mesh.visual
    material = getattr(visual, "material", None)
    image = getattr(material, "image", None)
    if image is None:
        image = getattr(material, "baseColorTexture", None)
    vertices, faces = np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces)
    if visual.kind in ("vertex", "face") or (image is not None and visual.uv is not None):
        return MeshPart(vertices, faces, None, mesh)
    color = getattr(material, "main_color", None) if visual.kind == "texture" else None
    if color is None:
        return MeshPart(vertices, faces)
    red, green, blue, alpha = (float(value) / 255.0 for value in color)
    # Some files have opacity the wrong way round: what nobody could see is meant to be seen.
    return MeshPart(vertices, faces, (red, green, blue, alpha if alpha > 0.0 else 1.0))


def _joined(parts: Sequence[MeshPart], color: Color | None) -> MeshPart:
    first = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = [part.faces + begin for part, begin in zip(parts, first, strict=False)]
    return MeshPart(np.concatenate([part.vertices for part in parts]), np.concatenate(faces), color)


def read_mesh(path: Path) -> tuple[Array, NDArray[np.int64]]:
    """Vertices (V, 3) as in the file, and triangles (T, 3) of their indices.

    Raises:
        ModelError: the file is no mesh, or one of more than ``MOST_TRIANGLES``.
    """
    whole = _joined(read_parts(path), None)
    return whole.vertices, whole.faces


def simplified(part: MeshPart, most: int) -> MeshPart:
    """The part with at most ``most`` triangles: vertices of a cell of a grid are one.

    Triangles that look in different directions share no vertices, so that edges stay sharp.
    """
    vertices, faces = part.vertices, part.faces
    if len(faces) <= most:
        return part
    normals = np.cross(
        vertices[faces[:, 1]] - vertices[faces[:, 0]], vertices[faces[:, 2]] - vertices[faces[:, 0]]
    )
    axis = np.abs(normals).argmax(axis=1)
    side = 2 * axis + (normals[np.arange(len(faces)), axis] > 0.0)
    cell = math.sqrt(0.5 * float(np.linalg.norm(normals, axis=1).sum()) / most)
    kept = faces[:0]
    while cell > 0.0:
        grid = np.floor((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
        key = (grid[:, 0] << 42) + (grid[:, 1] << 21) + grid[:, 2]
        _, group = np.unique(key, return_inverse=True)
        corners = group[faces]
        whole = (corners != np.roll(corners, 1, axis=1)).all(axis=1)
        kept = corners[whole]
        if len(kept) <= most:
            break
        cell *= 1.2
    if not len(kept):
        return part
    count = np.bincount(group)
    places = np.stack([np.bincount(group, vertices[:, k]) / count for k in range(3)], axis=1)
    used, index = np.unique(6 * kept + side[whole][:, None], return_inverse=True)
    return MeshPart(places[used // 6], index.reshape(-1, 3), part.color)


def unreadable(path: Path) -> str:
    """Reason why a mesh file cannot be drawn; empty when it can."""
    try:
        read_parts(path)
    except ModelError as error:
        return str(error)
    return ""


def advice(packages: Iterable[str], count: int, drawn: bool) -> str:
    """One line: how many meshes are missing, what is drawn instead, and how to get them.

    Args:
        packages: that have them; empty texts where nobody knows.
        count: of the missing meshes.
        drawn: whether others take their place.
    """
    names = sorted({package for package in packages if package})
    missing = "1 mesh is" if count == 1 else f"{count} meshes are"
    line = f"{missing} not on this machine{', simple shapes are drawn instead' if drawn else ''}"
    if not names:
        return f"{line}; put the files where the description says"
    installs = " ".join(f"ros-$ROS_DISTRO-{name.replace('_', '-').lower()}" for name in names)
    return (
        f"{line}; install {installs}, or name the folder that holds {' and '.join(names)} in ROS_PACKAGE_PATH"
    )
