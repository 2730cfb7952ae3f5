"""The inertial parameters that a robot's dynamics depends on, by closed-form grouping.

Of the ten standard parameters of every link (XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M, about the origin and in
the axes of its frame) the torques depend on fewer combinations, the base parameters (Gautier & Khalil,
"Direct calculation of minimum set of inertial parameters of serial robots", IEEE Trans. Robotics and
Automation 6 (1990) 368-373). In terms of the pseudo-inertia P = [[J, s], [s^T, m]] of a link their rules say:

1. Revolute joint: what lies on its axis (J_zz, s_z, m) moves with the link before as well; it is given to it.
   There remain XX - YY, XY, XZ, YZ, ZZ, MX, MY.
2. Prismatic joint: all of J belongs to the link before. There remain MX, MY, MZ, M.
3. Before the first revolute joint nothing turns: of a link only M counts.
4. While all revolute joints so far have parallel axes e, links turn about e alone: nothing along e counts,
   and of J only the inertia about e. So a revolute link keeps ZZ, MX, MY, a prismatic one M and the two
   components of its first moment across e; when it slides along e these, too, belong to the link before.
5. If moreover the axis does not accelerate sideways and gravity has no component across e, MX and MY of the
   link do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.gate import gate_of_trees
from robot_dynamics.dynamics.serial_model import LinkFrame, SerialModel
from robot_dynamics.inputs.arrays import of_type
from robot_dynamics.inputs.records import check_arrays
from robot_dynamics.spatial import Array

STANDARD = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
_PARALLEL = 1e-12


@dataclass(frozen=True)
class BaseParameters:
    """A minimal set of inertial parameters.

    Attributes:
        names: e.g. "XX2" for link 2; XX stands for XX - YY where YY of the link is no base parameter.
        grouping: (b, 10 n) base parameters = grouping @ standard parameters.
        embedding: (10 n, b) standard parameters with the given base parameters and zeros elsewhere: same
            torques.
    """

    names: tuple[str, ...]
    grouping: Array
    embedding: Array

    def __post_init__(self) -> None:
        of_type("names of BaseParameters", self.names, tuple)
        check_arrays(self, "grouping", "embedding")


@gate_of_trees
def standard_parameters(model: SerialModel) -> Array:
    """(10 n,) standard parameters of ``model``, link by link, in order of ``STANDARD`` [kg·m², kg·m, kg]."""
    rows = []
    for link in model.links:
        i = link.inertia
        inertia = [i[0, 0], i[0, 1], i[0, 2], i[1, 1], i[1, 2], i[2, 2]]
        rows.append(np.concatenate([inertia, link.first_moment, [link.mass]]))
    return np.concatenate(rows)


@gate_of_trees
def base_parameters(model: SerialModel, *, any_gravity: bool = False) -> BaseParameters:
    """The base parameters of a robot.

    Args:
        model: the arm.
        any_gravity: for gravity in any direction; else for the model's own.
    """
    of_type("any_gravity", any_gravity, bool)
    model = model.rebased()
    count = len(model.links)
    # pseudo[i] is linear in all standard parameters: (4, 4, 10 n).
    pseudo = np.zeros((count, 4, 4, 10 * count))
    for index in range(count):
        for k, name in enumerate(STANDARD):
            pseudo[index, :, :, 10 * index + k] = _unit_pseudo(name)
    early = _EarlyMotion.along(model, any_gravity)
    kept: list[tuple[str, ...]] = []
    for index in range(count - 1, -1, -1):
        link, motion = model.links[index], early[index]
        given, names = _group(link, motion, pseudo[index])
        pseudo[index] -= given
        if link.parent >= 0:
            transform = link.pose_at(0.0)
            pseudo[link.parent] += np.einsum("ij,jkp,lk->ilp", transform, given, transform)
        kept.append(names)
    kept.reverse()
    names_, rows, columns = [], [], []
    for index, link_names in enumerate(kept):
        for name in link_names:
            names_.append(f"{name}{index + 1}")
            rows.append(np.einsum("ij,ijp->p", _FUNCTIONALS[name], pseudo[index]))
            column = np.zeros(10 * count)
            column[10 * index + STANDARD.index(name)] = 1.0
            columns.append(column)
    shape = (0, 10 * count)
    return BaseParameters(
        tuple(names_),
        np.array(rows).reshape(-1, shape[1]),
        np.array(columns).reshape(-1, shape[1]).T,
    )


@dataclass(frozen=True)
class _EarlyMotion:
    """Motion that the joints up to and including a link allow it.

    Attributes:
        turns: 0 no turning, 1 about one fixed direction, 2 in general.
        axis: (3,) that direction in the link's frame.
        sideways: whether the joint's axis can accelerate across the direction, or gravity pulls across it.
    """

    turns: int
    axis: Array
    sideways: bool

    @staticmethod
    def along(model: SerialModel, any_gravity: bool) -> list[_EarlyMotion]:
        """The motion of every link."""
        z = np.array([0.0, 0.0, 1.0])
        result: list[_EarlyMotion] = []
        # What is handed on from link to link, in axes of each.
        ends: list[tuple[Array, list[Array], Array | None]] = []
        for link in model.links:
            turns, axis, sideways = 0, z, False
            arm: Array = np.zeros(3)
            slides: list[Array] = []
            gravity: Array | None = model.gravity
            if link.parent >= 0:
                before = result[link.parent]
                turns, axis, sideways = before.turns, before.axis, before.sideways
                arm, slides, gravity = ends[link.parent]
            transform = link.pose_at(0.0)
            rotation = transform[:3, :3]
            axis = rotation.T @ axis
            slides = [rotation.T @ direction for direction in slides]
            gravity = None if gravity is None else rotation.T @ gravity
            if link.revolute and turns == 0:
                turns, axis = 1, z
                pulls = [*slides, np.asarray(gravity)]
                sideways = any_gravity or any(_across(direction, z) for direction in pulls)
                arm = np.zeros(3)
            elif turns == 1:
                # The offset of this joint's axis from the first axis, across the direction.
                arm = rotation.T @ (arm + transform[:3, 3])
                sideways = sideways or _across(arm, axis)
                if link.revolute and _across(z, axis):
                    turns = 2
                if not link.revolute:
                    sideways = sideways or _across(z, axis)
            if not link.revolute:
                slides = [*slides, z]
            ends.append((arm, slides, gravity))
            result.append(_EarlyMotion(turns, axis, sideways))
        return result


def _across(vector: Array, axis: Array) -> bool:
    """True where ``vector`` has a component across the unit vector ``axis``."""
    return bool(np.linalg.norm(np.cross(axis, vector)) > _PARALLEL * max(1.0, float(np.linalg.norm(vector))))


def _group(link: LinkFrame, motion: _EarlyMotion, pseudo: Array) -> tuple[Array, tuple[str, ...]]:
    """Part that a link gives to the link before, and the names of the parameters that it keeps."""
    given = np.zeros_like(pseudo)
    if link.revolute:
        given[2:, 2:] = pseudo[2:, 2:]
        # With J_zz = -J_xx left behind, YY of the link is zero.
        given[2, 2] += pseudo[0, 0]
        if motion.turns == 2:
            return given, ("XX", "XY", "XZ", "YZ", "ZZ", "MX", "MY")
        return given, ("ZZ", "MX", "MY") if motion.sideways else ("ZZ",)
    given[:3, :3] = pseudo[:3, :3]
    if motion.turns == 2:
        return given, ("MX", "MY", "MZ", "M")
    if motion.turns == 0:
        return given, ("M",)
    if not _across(np.array([0.0, 0.0, 1.0]), motion.axis):
        given[:2, 3] = pseudo[:2, 3]
        given[3, :2] = pseudo[3, :2]
        return given, ("M",)
    # The component along the fixed direction does not count: it serves to clear one entry.
    first = pseudo[:3, 3]
    cleared = int(np.argmax(np.abs(motion.axis)))
    along = np.multiply.outer(motion.axis / motion.axis[cleared], first[cleared])
    pseudo[:3, 3] = first - along
    pseudo[3, :3] = pseudo[:3, 3]
    return given, (*(name for k, name in enumerate(("MX", "MY", "MZ")) if k != cleared), "M")


def _unit_pseudo(name: str) -> Array:
    """(4, 4) pseudo-inertia of a link whose only parameter is ``name`` = 1."""
    pseudo = np.zeros((4, 4))
    axes = ["XYZ".index(letter) for letter in name if letter in "XYZ"]
    if name == "M":
        pseudo[3, 3] = 1.0
    elif name.startswith("M"):
        pseudo[axes[0], 3] = pseudo[3, axes[0]] = 1.0
    elif axes[0] != axes[1]:
        pseudo[axes[0], axes[1]] = pseudo[axes[1], axes[0]] = -1.0
    else:
        pseudo[:3, :3] = 0.5 * np.eye(3)
        pseudo[axes[0], axes[0]] -= 1.0
    return pseudo


def _functional(*entries: tuple[int, int, float]) -> Array:
    weights = np.zeros((4, 4))
    for i, j, weight in entries:
        weights[i, j] = weight
    return weights


# Each parameter as a linear function of the pseudo-inertia that remains with a link; XX is XX - YY.
_FUNCTIONALS = {
    "XX": _functional((1, 1, 1.0), (0, 0, -1.0)),
    "XY": _functional((0, 1, -1.0)),
    "XZ": _functional((0, 2, -1.0)),
    "YZ": _functional((1, 2, -1.0)),
    "ZZ": _functional((0, 0, 1.0), (1, 1, 1.0)),
    "MX": _functional((0, 3, 1.0)),
    "MY": _functional((1, 3, 1.0)),
    "MZ": _functional((2, 3, 1.0)),
    "M": _functional((3, 3, 1.0)),
}
