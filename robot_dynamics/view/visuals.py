"""The ``<visual>`` elements of a robot description: what each link looks like.

The dynamics do not depend on them, so a faulty one is left out with a note and never refuses the robot.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.urdf.gate import read_source
from robot_dynamics.spatial import Array, pose, rotation_from_rpy

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, 0 to 1."""

DEFAULT_COLOR: Color = (0.72, 0.74, 0.76, 1.0)
LARGEST = 1e4
"""Greatest magnitude of a length in a visual [m]."""


@dataclass(frozen=True)
class Box:
    """A box about its origin.

    Attributes:
        size: edge lengths along x, y and z [m].
    """

    size: tuple[float, float, float]


@dataclass(frozen=True)
class Cylinder:
    """A cylinder about its origin, its axis along z [m]."""

    radius: float
    length: float


@dataclass(frozen=True)
class Sphere:
    """A sphere about its origin [m]."""

    radius: float


@dataclass(frozen=True)
class Plate:
    """A plate below the plane z = 0.

    Attributes:
        outline: x and y of its corners, convex, counter-clockwise [m].
        thickness: [m].
    """

    outline: tuple[tuple[float, float], ...]
    thickness: float


@dataclass(frozen=True)
class MeshFile:
    """A mesh in a file.

    Attributes:
        path: of a file that exists.
        scale: along x, y and z.
    """

    path: Path
    scale: tuple[float, float, float]


Shape = Box | Cylinder | Sphere | Plate | MeshFile


@dataclass(frozen=True)
class Visual:
    """One shape of a link.

    Attributes:
        link: name of the link.
        origin: (4, 4) pose of the shape in the link frame.
        shape: what it is.
        color: of all of it.
    """

    link: str
    origin: Array
    shape: Shape
    color: Color


@dataclass(frozen=True)
class Visuals:
    """All shapes of a robot.

    Attributes:
        shapes: in the order of the description.
        skipped: what was left out and why, one line each.
    """

    shapes: tuple[Visual, ...]
    skipped: tuple[str, ...]


def read_visuals(source: str | bytes | os.PathLike[str]) -> Visuals:
    """The shapes of a description that the model layer has accepted.

    Args:
        source: path of a URDF file, or its XML text; :func:`robot_dynamics.model.urdf.parse_urdf` must have
            read it before, because that refuses document types, entities and broken XML.

    Raises:
        ModelError: the text is no XML.
    """
    description = read_source(source)
    try:
        parser = ElementTree.XMLParser(encoding=description.encoding)
        robot = ElementTree.fromstring(description.data, parser=parser)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ModelError(f"{description.label}: not well-formed XML: {error}") from error
    palette = {
        material.get("name", ""): color
        for material in robot.iter("material")
        if (color := _color(material)) is not None
    }
    shapes: list[Visual] = []
    skipped: list[str] = []
    for link in robot.findall("link"):
        name = link.get("name", "")
        for element in link.findall("visual"):
            try:
                shapes.append(_visual(name, element, palette))
            except ModelError as error:
                skipped.append(f"link {name!r}: {error}")
    return Visuals(tuple(shapes), tuple(skipped))


def _visual(link: str, element: ElementTree.Element, palette: Mapping[str, Color]) -> Visual:
    geometry = element.find("geometry")
    if geometry is None or len(geometry) == 0:
        raise ModelError("a <visual> has no <geometry>")
    origin = np.eye(4)
    placed = element.find("origin")
    if placed is not None:
        xyz = _numbers(placed.get("xyz", "0 0 0"), 3, "xyz")
        rpy = _numbers(placed.get("rpy", "0 0 0"), 3, "rpy")
        origin = pose(rotation_from_rpy(rpy), xyz)
    color = DEFAULT_COLOR
    material = element.find("material")
    if material is not None:
        color = _color(material) or palette.get(material.get("name", ""), DEFAULT_COLOR)
    return Visual(link, origin, _shape(geometry[0]), color)


def _shape(element: ElementTree.Element) -> Shape:
    if element.tag == "box":
        size = _positive(element, "size", 3)
        return Box((size[0], size[1], size[2]))
    if element.tag == "sphere":
        return Sphere(_positive(element, "radius")[0])
    if element.tag in ("cylinder", "capsule"):
        return Cylinder(_positive(element, "radius")[0], _positive(element, "length")[0])
    if element.tag == "mesh":
        scale = _numbers(element.get("scale", "1 1 1"), 3, "scale")
        return MeshFile(find_mesh(element.get("filename", "")), (scale[0], scale[1], scale[2]))
    raise ModelError(f"unknown geometry <{element.tag}>; known are box, cylinder, sphere and mesh")


def _positive(element: ElementTree.Element, attribute: str, count: int = 1) -> list[float]:
    values = _numbers(element.get(attribute, ""), count, f"{attribute} of <{element.tag}>")
    if min(values) <= 0.0:
        raise ModelError(f"{attribute} of <{element.tag}> must be positive, not {element.get(attribute)!r}")
    return values


def _numbers(text: str, count: int, what: str) -> list[float]:
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count or not all(math.isfinite(v) and abs(v) <= LARGEST for v in values):
        raise ModelError(f"{what} must be {count} numbers up to {LARGEST:g}, not {text[:60]!r}")
    return values


def _color(material: ElementTree.Element) -> Color | None:
    element = material.find("color")
    if element is None:
        return None
    try:
        red, green, blue, alpha = (
            min(1.0, max(0.0, value)) for value in _numbers(element.get("rgba", ""), 4, "rgba")
        )
    except ModelError:
        return None
    return (red, green, blue, alpha)


def find_mesh(name: str) -> Path:
    """The file that a mesh's name means: ``package://``, ``file://`` or an absolute path.

    Raises:
        ModelError: the file is not on this machine.
    """
    for candidate in _candidates(name):
        if candidate.is_file():
            return candidate
    raise ModelError(f"mesh {name[:120]!r} is not on this machine")


def _candidates(name: str) -> Iterator[Path]:
    if "\0" in name:
        return
    address = urlparse(name)
    if address.scheme == "package":
        relative = unquote(address.path).lstrip("/")
        for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
            if prefix:
                yield Path(prefix) / "share" / address.netloc / relative
        for folder in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
            if folder:
                yield Path(folder) / address.netloc / relative
    elif address.scheme == "file":
        yield Path(unquote(address.path))
    elif not address.scheme and name.startswith("/"):
        yield Path(name)
