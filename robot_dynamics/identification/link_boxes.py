"""Boxes about the links, inside of which their centres of mass must lie."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.identification.excitation.bodies import carriers
from robot_dynamics.identification.inertial import COUNT, parameters_of, pseudo_basis
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array
from robot_dynamics.view.links import bounds
from robot_dynamics.view.mesh_files import read_mesh
from robot_dynamics.view.visuals import MeshFile, Visual, read_visuals

MARGIN = 0.08
"""Margin about a link's joints where its shape is not known, as a share of the arm's reach."""
SHAPE_MARGIN = 0.1
"""Margin about a link's shape, as a share of its longest edge."""
LEAST = 0.1
"""Least margin about anything, as a share of the margin about joints."""
LOOSE = 1.5
"""By how much the ellipsoid about a box is enlarged beyond the description's own second moments."""


@dataclass(frozen=True)
class LinkBox:
    """A box in the axes of a link frame.

    Attributes:
        lower, upper: (3,) corners [m].
    """

    lower: Array
    upper: Array

    def contains(self, point: Array, tolerance: float = 1e-9) -> bool:
        """True if a point (3,) of the link frame lies in the box."""
        return bool(((point >= self.lower - tolerance) & (point <= self.upper + tolerance)).all())

    def rows(self, prior: Array) -> Array:
        """(7, 10) with rows · parameters ≥ 0 for a body whose centre of mass lies in the box.

        Six rows are the faces; the last is tr(P·Q) of the ellipsoid through the corners, which is enlarged
        where the second moments of the pseudo-inertia ``prior`` (4, 4) exceed it.
        """
        faces = np.zeros((6, COUNT))
        for axis in range(3):
            faces[2 * axis, [0, 1 + axis]] = self.upper[axis], -1.0
            faces[2 * axis + 1, [0, 1 + axis]] = -self.lower[axis], 1.0
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        shape = np.diag(1.0 / (3.0 * half**2))
        spread = np.zeros((4, 4))
        spread[:3, :3] = shape
        spread[:3, 3] = spread[3, :3] = -shape @ middle
        spread[3, 3] = middle @ shape @ middle
        own = float(np.sum(spread * prior)) / float(prior[3, 3])
        bound = -spread / max(1.0, LOOSE * own)
        bound[3, 3] += 1.0
        return np.vstack([faces, np.einsum("kij,ij->k", pseudo_basis(), bound)])


def link_boxes(
    chain: KinematicChain, shapes: Mapping[str, tuple[Array, Array]] | None = None
) -> tuple[LinkBox, ...]:
    """A box for each moving link of ``chain``.

    A box spans the link's shape, or where that is not known its joints, and the centre of mass by the
    description; it has a margin.

    Args:
        chain: of the description.
        shapes: least and greatest coordinates (3,), (3,) of the shapes on each moving link, in its frame.
    """
    shapes = shapes or {}
    distances: list[float] = []  # of each link from the root, along the joints
    ends: list[list[Array]] = [[] for _ in chain.joints]
    for joint, carrier in zip(chain.joints, chain.carriers, strict=True):
        before = distances[carrier] if carrier >= 0 else 0.0
        distances.append(before + float(np.linalg.norm(joint.origin[:3, 3])))
        if carrier >= 0:
            ends[carrier].append(joint.origin[:3, 3])
    for tip in chain.tips:
        ends[tip.joint].append(tip.transform[:3, 3])
    reach = max(distances[tip.joint] + float(np.linalg.norm(tip.transform[:3, 3])) for tip in chain.tips)
    margin = MARGIN * max(reach, 1e-3)
    boxes = []
    for index, joint in enumerate(chain.joints):
        parameters = parameters_of(joint.body)
        points = [parameters[1:4] / parameters[0]] if parameters[0] > 0.0 else []
        points += [np.zeros(3), *ends[index]]
        if joint.link in shapes:
            lower, upper = shapes[joint.link]
            wide = SHAPE_MARGIN * float(np.max(upper - lower))
            points += [lower - wide, upper + wide]
        else:
            if joint.kind is JointKind.PRISMATIC and np.isfinite(joint.limits.upper - joint.limits.lower):
                points.append(-(joint.limits.upper - joint.limits.lower) * joint.axis)
            points += [point + side * margin for point in tuple(points) for side in (-1.0, 1.0)]
        cloud = np.array(points)
        # Never flat, and never with the described centre of mass on a face.
        boxes.append(LinkBox(cloud.min(axis=0) - LEAST * margin, cloud.max(axis=0) + LEAST * margin))
    return tuple(boxes)


def described_shapes(
    source: str | bytes | os.PathLike[str],
    chain: KinematicChain,
    locked: Mapping[str, float],
    folder: Path | None = None,
) -> dict[str, tuple[Array, Array]]:
    """Least and greatest coordinates of the shapes that each moving link carries, in its frame [m].

    Meshes that are not on this machine are left out, and so is a link that has no other shape.

    Args:
        source: path of a URDF file, or its XML text.
        chain: loaded from it.
        locked: where joints are held that take no part [rad or m].
        folder: of relative mesh names.
    """
    places = carriers(source, chain, locked)
    boxes: dict[str, list[tuple[Array, Array]]] = {}
    for kind in ("visual", "collision"):
        for visual in read_visuals(source, folder, kinds=(kind,)).shapes:
            body, place = places[visual.link]
            if body >= 0:
                with contextlib.suppress(ModelError, ImportError):  # a mesh that cannot be read
                    boxes.setdefault(chain.joints[body].link, []).append(_extent(visual, place))
    return {
        link: (np.min([lower for lower, _ in own], axis=0), np.max([upper for _, upper in own], axis=0))
        for link, own in boxes.items()
    }


def _extent(visual: Visual, place: Array) -> tuple[Array, Array]:
    if not isinstance(visual.shape, MeshFile):
        return bounds({visual.link: place}, [visual])
    vertices, _ = read_mesh(visual.shape.path)
    pose = place @ visual.origin
    points = (vertices * np.array(visual.shape.scale)) @ pose[:3, :3].T + pose[:3, 3]
    return points.min(axis=0), points.max(axis=0)
