"""Distances between the collision shapes of an arm, and to the floor, by MuJoCo's convex geometry."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import RobotDynamicsError, shown
from robot_dynamics.extras import lacking
from robot_dynamics.identification.excitation.bodies import GROUND, carriers, link_poses, slope
from robot_dynamics.identification.excitation.bounds import Bounds
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array
from robot_dynamics.view.mesh_files import MISSING, read_mesh
from robot_dynamics.view.visuals import Box, Cylinder, MeshFile, Sphere, Visual, read_visuals

_FLOOR_SIZE = 50.0
_PLACES = 30
_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Shape:
    """A convex shape: on which link it sits, where, its radius about that place, and its number in MuJoCo."""

    body: int
    name: str
    place: Array
    radius: float
    number: int


@dataclass(frozen=True)
class Pairs:
    """Shapes that are looked at, and those that are left out.

    Attributes:
        pairs: indices of two shapes each.
        shares: of the clearance that each pair keeps: neighbours are built closer than others should come.
        touching: links that touch whatever the arm does, and are left out.
        skipped: shapes that cannot be read, and why; links whose meshes are missing share one line.
    """

    pairs: tuple[tuple[int, int], ...]
    shares: tuple[float, ...]
    touching: tuple[str, ...]
    skipped: tuple[str, ...] = field(default=())


class Clearance:
    """Distances of an arm's shapes from each other and from the floor.

    Args:
        source: path of a URDF file, or its XML text.
        chain: loaded from it.
        bounds: of the positions; a pair of shapes that touches everywhere inside does not count.
        floor: height of the floor in the root frame [m]; None without one.
        folder: of relative mesh names.
        locked: where joints are held that take no part [rad or m].
        touching: pairs of links whose distance does not count, as an SRDF file has them.

    Raises:
        RobotDynamicsError: MuJoCo is missing, or a moving link cannot keep clear of the floor.
    """

    def __init__(
        self,
        source: str | bytes | os.PathLike[str],
        chain: KinematicChain,
        bounds: Bounds,
        floor: float | None = None,
        folder: Path | None = None,
        locked: Mapping[str, float] | None = None,
        touching: frozenset[frozenset[str]] = frozenset(),
    ) -> None:
        try:
            import mujoco as untyped_mujoco
        except ImportError as error:
            raise RobotDynamicsError(lacking("collisions need", "mujoco")) from error
        self._mujoco: Any = untyped_mujoco
        self._chain = chain
        visuals = read_visuals(source, folder, kinds=("collision",))
        places = carriers(source, chain, locked or {})
        spec = self._mujoco.MjSpec()
        found: list[tuple[int, str, Array, float]] = []
        missing = [link for link, why in visuals.faults.items() if MISSING in why]
        skipped = [f"link {link!r}: {why}" for link, why in visuals.faults.items() if link not in missing]
        if missing:
            skipped.append(f"{shown(*missing)}: {visuals.missing}")
        for visual in visuals.shapes:
            radius, middle = _add(spec, self._mujoco, visual)
            body, place = places[visual.link]
            found.append((body, visual.link, place @ visual.origin @ middle, radius))
        if floor is not None:
            box = spec.worldbody.add_geom(type=self._mujoco.mjtGeom.mjGEOM_BOX)
            box.size = [_FLOOR_SIZE, _FLOOR_SIZE, 1.0]
            place = np.eye(4)
            place[2, 3] = floor - 1.0
            found.append((GROUND, "the floor", place, np.inf))
        if not found:
            spec.worldbody.add_geom(type=self._mujoco.mjtGeom.mjGEOM_SPHERE, size=[1.0, 0.0, 0.0])
        self._model = spec.compile()
        self._data = self._mujoco.MjData(self._model)
        self._shapes = [_Shape(*entry, number) for number, entry in enumerate(found)]
        for shape in self._shapes:
            self._centre_mesh(shape)
        self.pairs = self._pairs(bounds, floor, tuple(skipped), touching)

    @property
    def shaped(self) -> bool:
        """True if there is anything that could collide."""
        return bool(self.pairs.pairs)

    def _centre_mesh(self, shape: _Shape) -> None:
        """MuJoCo moves meshes to their centres of mass and principal axes; so does the shape's place."""
        mesh = int(self._model.geom_dataid[shape.number])
        if mesh >= 0:
            own = np.eye(4)
            rotation = np.zeros(9)
            self._mujoco.mju_quat2Mat(rotation, self._model.mesh_quat[mesh])
            own[:3, :3], own[:3, 3] = rotation.reshape(3, 3), self._model.mesh_pos[mesh]
            shape.place[:] = shape.place @ own

    def _pairs(
        self,
        bounds: Bounds,
        floor: float | None,
        skipped: tuple[str, ...],
        touching: frozenset[frozenset[str]],
    ) -> Pairs:
        considered = []
        for a, b in itertools.combinations(range(len(self._shapes)), 2):
            one, other = self._shapes[a], self._shapes[b]
            floored = "the floor" in (one.name, other.name)
            if frozenset((one.name, other.name)) in touching:
                continue
            if one.body != other.body and (floored or not self._neighbours(one.body, other.body)):
                considered.append((a, b))
        farthest = np.full(len(considered), -np.inf)
        places = np.random.default_rng(0).uniform(bounds.lower, bounds.upper, (_PLACES, self._chain.dof))
        for poses in link_poses(self._chain, places):
            self._set(poses)
            for k in np.flatnonzero(farthest < 2.0 * bounds.clearance):
                one, other = (self._shapes[index] for index in considered[k])
                farthest[k] = max(farthest[k], self._distance(one, other, 1.0)[0])
        free = farthest > 0.0
        always = {
            " and ".join(self._shapes[index].name for index in considered[k]) for k in np.flatnonzero(~free)
        }
        floored_links = sorted(name for name in always if "the floor" in name)
        if floored_links:
            raise RobotDynamicsError(
                f"{floored_links[0]} touch wherever the arm is: is {floor:g} m its height?"
            )
        pairs = tuple(pair for pair, apart in zip(considered, free, strict=True) if apart)
        return Pairs(
            pairs,
            tuple(np.minimum(1.0, 0.5 * farthest[free] / bounds.clearance)),
            tuple(sorted(always)),
            skipped,
        )

    def _neighbours(self, one: int, other: int) -> bool:
        """True if one of two bodies carries the other; built so, they come near each other."""
        first, second = min(one, other), max(one, other)
        return self._chain.carriers[second] == first

    def _set(self, poses: Array) -> None:
        for shape in self._shapes:
            place = shape.place if shape.body == GROUND else poses[shape.body] @ shape.place
            self._data.geom_xpos[shape.number] = place[:3, 3]
            self._data.geom_xmat[shape.number] = place[:3, :3].ravel()

    def _distance(self, one: _Shape, other: _Shape, farthest: float) -> tuple[float, Array]:
        points = np.zeros(6)
        distance = self._mujoco.mj_geomDistance(
            self._model, self._data, one.number, other.number, farthest, points
        )
        return float(distance), points

    def least(self, q: Array, farthest: float) -> tuple[float, str]:
        """The least distance at positions (N, n) [m], ``farthest`` at most, and between whom.

        Distances of neighbours are divided by their share, so that all are to be compared with the clearance.
        """
        best, names = farthest, ""
        for poses, apart in zip(*self._apart(q), strict=True):
            self._set(poses)
            for pair in np.flatnonzero(apart < best):
                one, other, share = self._pair(int(pair))
                if apart[pair] < best:
                    distance = self._distance(one, other, share * best)[0] / share
                    if distance < best * (1.0 - _ROUNDING):
                        best, names = distance, f"{one.name} and {other.name}"
        return best, names

    def near(self, q: Array, margin: float) -> list[tuple[int, float, Array]]:
        """Pairs nearer than ``margin`` [m] at positions (N, n): sample, distance of `least`, slopes (n,)."""
        found = []
        for sample, (poses, apart) in enumerate(zip(*self._apart(q), strict=True)):
            self._set(poses)
            for pair in np.flatnonzero(apart < margin):
                one, other, share = self._pair(int(pair))
                distance, points = self._distance(one, other, share * margin)
                if distance < share * margin * (1.0 - _ROUNDING):
                    slopes = self._slope(poses, one, other, distance, points)
                    found.append((sample, distance / share, slopes / share))
        return found

    def _pair(self, index: int) -> tuple[_Shape, _Shape, float]:
        one, other = self.pairs.pairs[index]
        return self._shapes[one], self._shapes[other], self.pairs.shares[index]

    def _apart(self, q: Array) -> tuple[Array, Array]:
        """Poses of the links (N, k, 4, 4), and less than each pair's distance of `least` (N, pairs).

        It is the distance of the balls about the shapes.
        """
        poses = link_poses(self._chain, q)
        centres = np.zeros((len(self._shapes), len(q), 3))
        for centre, shape in zip(centres, self._shapes, strict=True):
            here = np.eye(4)[None] if shape.body == GROUND else poses[:, shape.body]
            centre[:] = (here @ shape.place)[:, :3, 3]
        radii = np.array([shape.radius for shape in self._shapes])
        one, other = np.array(self.pairs.pairs, int).reshape(-1, 2).T
        apart = np.linalg.norm(centres[one] - centres[other], axis=2).T - radii[one] - radii[other]
        for pair in np.flatnonzero(np.isinf(radii[one] + radii[other])):
            ball, floor = (
                (one[pair], other[pair]) if np.isinf(radii[other[pair]]) else (other[pair], one[pair])
            )
            apart[:, pair] = centres[ball, :, 2] - radii[ball] - (self._shapes[floor].place[2, 3] + 1.0)
        return poses, apart / np.array(self.pairs.shares)

    def _slope(self, poses: Array, one: _Shape, other: _Shape, distance: float, points: Array) -> Array:
        way = points[3:] - points[:3]
        length = float(np.linalg.norm(way))
        if length < 1e-9:
            return np.zeros(self._chain.dof)
        direction = way / length if distance > 0.0 else -way / length
        return slope(self._chain, poses, other.body, points[3:], direction) - slope(
            self._chain, poses, one.body, points[:3], direction
        )


def _add(spec: Any, mujoco: Any, visual: Visual) -> tuple[float, Array]:
    """Add a shape; the radius of a ball about it, and its frame in that of the description."""
    shape, kinds = visual.shape, mujoco.mjtGeom
    if isinstance(shape, Box):
        half = 0.5 * np.array(shape.size)
        spec.worldbody.add_geom(type=kinds.mjGEOM_BOX, size=half)
        return float(np.linalg.norm(half)), np.eye(4)
    if isinstance(shape, Cylinder):
        size = [shape.radius, 0.5 * shape.length, 0.0]
        spec.worldbody.add_geom(type=kinds.mjGEOM_CYLINDER, size=size)
        return float(np.hypot(shape.radius, 0.5 * shape.length)), np.eye(4)
    if isinstance(shape, Sphere):
        spec.worldbody.add_geom(type=kinds.mjGEOM_SPHERE, size=[shape.radius, 0.0, 0.0])
        return shape.radius, np.eye(4)
    assert isinstance(shape, MeshFile)
    vertices, _ = read_mesh(shape.path)
    vertices = np.unique(np.round(vertices * np.array(shape.scale), 6), axis=0)
    mesh = spec.add_mesh(name=f"mesh{len(spec.meshes)}")
    mesh.uservert = vertices.ravel()
    spec.worldbody.add_geom(type=kinds.mjGEOM_MESH, meshname=mesh.name)
    middle = vertices.mean(axis=0)
    # MuJoCo's frame of the mesh is inside its convex hull.
    return 2.0 * float(np.linalg.norm(vertices - middle, axis=1).max()), np.eye(4)
