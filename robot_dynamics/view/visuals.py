"""The ``<visual>`` elements of a robot description: what each link looks like.

The dynamics do not depend on them, so a faulty one is left out with a note and never refuses the robot.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.inputs.files import is_regular
from robot_dynamics.model.urdf.gate import read_source
from robot_dynamics.spatial import Array, pose, rotation_from_rpy
from robot_dynamics.view.mesh_files import MISSING, Color, advice, find_mesh, package_of

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
        shapes: in the order of the description; of a link none of whose visuals can be drawn, its collision
            shapes.
        skipped: what was left out and why, one line each.
        faults: the links that have a <visual> or <collision> but nothing to draw, and why.
        missing: one line about meshes that are not on this machine and how to get them; empty without any.
    """

    shapes: tuple[Visual, ...]
    skipped: tuple[str, ...]
    faults: Mapping[str, str]
    missing: str


MeshCheck = Callable[[Path], str]
"""Reason why a mesh file cannot be drawn; empty when it can."""


def read_visuals(
    source: str | bytes | os.PathLike[str],
    folder: Path | None = None,
    check: MeshCheck | None = None,
    kinds: Sequence[str] = ("visual", "collision"),
) -> Visuals:
    """The shapes of a description that the model layer has accepted.

    Args:
        source: path of a URDF file, or its XML text; :func:`robot_dynamics.model.urdf.parse_urdf` must have
            read it before, because that refuses document types, entities and broken XML.
        folder: where relative mesh names begin; None: the folder of ``source`` if that is a path.
        check: looks into the mesh files that are found.
        kinds: elements that are read; of each link the first kind that has a shape.

    Raises:
        ModelError: the text is no XML.
    """
    description = read_source(source)
    try:
        parser = ElementTree.XMLParser(encoding=description.encoding)
        robot = ElementTree.fromstring(description.data, parser=parser)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ModelError(f"{description.label}: not well-formed XML: {error}") from error
    if folder is None and (isinstance(source, os.PathLike) or is_regular(description.label)):
        folder = Path(description.label).resolve().parent
    palette = {
        material.get("name", ""): color
        for material in robot.iter("material")
        if (color := _color(material)) is not None
    }
    return _VisualReader(folder, palette, check, kinds).read(robot)


class _VisualReader:
    def __init__(
        self,
        folder: Path | None,
        palette: Mapping[str, Color],
        check: MeshCheck | None,
        kinds: Sequence[str],
    ) -> None:
        self._folder, self._palette, self._check, self._kinds = folder, palette, check, kinds
        self._skipped: list[str] = []
        self._missing: list[str] = []

    def read(self, robot: ElementTree.Element) -> Visuals:
        shapes: list[Visual] = []
        faults: dict[str, str] = {}
        for link in robot.findall("link"):
            name = link.get("name", "")
            reason = ""
            for kind in self._kinds:
                drawn, why = self._shapes(name, link.findall(kind), report=kind == self._kinds[0])
                shapes += drawn
                reason = "" if drawn else reason or why
                if drawn:
                    break
            if reason:
                faults[name] = reason
        missing = ""
        if self._missing:
            packages, count = map(package_of, self._missing), len(set(self._missing))
            missing = advice(packages, count, drawn="visual" in self._kinds)
        return Visuals(tuple(shapes), tuple(self._skipped), faults, missing)

    def _shapes(
        self, link: str, elements: list[ElementTree.Element], report: bool
    ) -> tuple[list[Visual], str]:
        """Shapes that can be drawn, and the reason of the first that cannot."""
        drawn: list[Visual] = []
        reasons: list[str] = []
        for element in elements:
            try:
                visual = _visual(link, element, self._palette, self._folder)
                if isinstance(visual.shape, MeshFile) and self._check is not None:
                    problem = self._check(visual.shape.path)
                    if problem:
                        raise ModelError(problem)
                drawn.append(visual)
            except ModelError as error:
                reasons.append(str(error))
                mesh = element.find("geometry/mesh")
                if report and mesh is not None and MISSING in str(error):
                    self._missing.append(mesh.get("filename", ""))
        if report:
            self._skipped += [f"link {link!r}: {reason}" for reason in reasons]
        return drawn, reasons[0] if reasons else ""


def _visual(
    link: str, element: ElementTree.Element, palette: Mapping[str, Color], folder: Path | None
) -> Visual:
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
    return Visual(link, origin, _shape(geometry[0], folder), color)


def _shape(element: ElementTree.Element, folder: Path | None) -> Shape:
    if element.tag == "box":
        size = _positive(element, "size", 3)
        return Box((size[0], size[1], size[2]))
    if element.tag == "sphere":
        return Sphere(_positive(element, "radius")[0])
    if element.tag in ("cylinder", "capsule"):
        return Cylinder(_positive(element, "radius")[0], _positive(element, "length")[0])
    if element.tag == "mesh":
        scale = _numbers(element.get("scale", "1 1 1"), 3, "scale")
        return MeshFile(find_mesh(element.get("filename", ""), folder), (scale[0], scale[1], scale[2]))
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
