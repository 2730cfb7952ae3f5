"""Mesh files of a description: search, checks, and the remedy for missing ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.inputs.files import is_regular
from robot_dynamics.spatial import Array

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


@lru_cache(maxsize=512)
def read_mesh(path: Path) -> tuple[Array, Array]:
    """Vertices (V, 3) as in the file, and triangles (T, 3) of their indices.

    Raises:
        ModelError: the file is no mesh, or one of more than ``MOST_TRIANGLES``.
    """
    import trimesh

    try:
        mesh: Any = trimesh.load(str(path), force="mesh")
        vertices, faces = np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces)
    except Exception as error:  # the readers of mesh formats raise whatever they like
        raise ModelError(f"mesh {path} cannot be read: {str(error)[:200]}") from error
    if not len(faces) or not np.isfinite(vertices).all():
        raise ModelError(f"mesh {path} has no triangles that can be read")
    if len(faces) > MOST_TRIANGLES:
        raise ModelError(f"mesh {path} has {len(faces)} triangles; {MOST_TRIANGLES} can be drawn")
    return vertices, faces


def unreadable(path: Path) -> str:
    """Reason why a mesh file cannot be drawn; empty when it can."""
    try:
        read_mesh(path)
    except ModelError as error:
        return str(error)
    return ""


def advice(packages: Iterable[str], count: int) -> str:
    """One line: how many meshes are missing, what is drawn instead, and how to get them.

    Args:
        packages: that have them; empty texts where nobody knows.
        count: of the missing meshes.
    """
    names = sorted({package for package in packages if package})
    missing = "1 mesh is" if count == 1 else f"{count} meshes are"
    line = f"{missing} not on this machine, simple shapes are drawn instead"
    if not names:
        return f"{line}; put the files where the description says"
    installs = " ".join(f"ros-$ROS_DISTRO-{name.replace('_', '-').lower()}" for name in names)
    return (
        f"{line}; install {installs}, or name the folder that holds {' and '.join(names)} in ROS_PACKAGE_PATH"
    )
