"""The inertial parameters of a chain's links, and what of them the efforts depend on.

The parameters of the m moving links stand in one vector p (10 m,), link by link in the order of
`robot_dynamics.dynamics.generator.regressor.PARAMETERS`, each in the link's own frame, the joint frame of
URDF.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.dynamics.base_parameters import STANDARD, base_parameters
from robot_dynamics.dynamics.generator.links import axes_made_parallel, pseudo_inertia
from robot_dynamics.dynamics.generator.regressor import PARAMETERS
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.spatial import INERTIA_ENTRIES, Array, shift_inertia

# Row and column of an inertia's entries in the order of `STANDARD`; that of `PARAMETERS` is INERTIA_ENTRIES.
_STANDARD_ORDER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
_COLUMNS = {"M": "m", **{f"M{axis}": f"m{axis.lower()}" for axis in "XYZ"}}


@dataclass(frozen=True)
class Base:
    """The base parameters of a chain.

    Attributes:
        names: of the parameters: those of `STANDARD` with the number of the link.
        columns: the columns of the regressor in the frames of ``SerialModel`` that belong to them.
        grouping: (b, 10 m) what they are of the parameters in the links' own frames.
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    grouping: Array


def inertial_parameters(chain: KinematicChain) -> Array:
    """(10 m,) parameters of the moving links [kg, kg·m, kg·m²]."""
    return np.concatenate([body_parameters(joint.body) for joint in chain.joints])


def body_parameters(body: RigidBody) -> Array:
    """(10,) parameters of one body about the origin of its frame [kg, kg·m, kg·m²]."""
    inertia = body.inertia + shift_inertia(body.mass, body.center_of_mass)
    entries = [float(inertia[i, k]) for i, k in INERTIA_ENTRIES]
    return np.array([body.mass, *(body.mass * body.center_of_mass), *entries])


def base_of_chain(chain: KinematicChain, gravity: Array | None) -> Base:
    """The base parameters of a chain under ``gravity`` (3,) in the root frame [m/s²], or any where None."""
    model = SerialModel.from_chain(chain, np.zeros(3) if gravity is None else gravity)
    return base_of_model(axes_made_parallel(model.rebased()), any_gravity=gravity is None)


def base_of_model(model: SerialModel, *, any_gravity: bool) -> Base:
    """The same of a model as the generator takes it."""
    base = base_parameters(model, any_gravity=any_gravity)
    rows = np.argmax(base.embedding, axis=0)
    columns = []
    for row in rows.tolist():
        name = STANDARD[row % 10]
        columns.append(10 * (row // 10) + PARAMETERS.index(_COLUMNS.get(name, f"I{name.lower()}")))
    change = np.zeros((10 * len(model.links), 10 * len(model.links)))
    poses = model.link_poses or (np.eye(4),) * len(model.links)
    for index, pose in enumerate(poses):
        part = slice(10 * index, 10 * index + 10)
        change[part, part] = _in_other_frame(pose)
    return Base(base.names, tuple(columns), np.asarray(base.grouping @ change))


def _in_other_frame(pose: Array) -> Array:
    """(10, 10) from a link's own parameters to those of `STANDARD` where its frame has this ``pose``."""
    columns = []
    for unit in np.eye(10):
        inertia = np.zeros((3, 3))
        for (i, k), value in zip(INERTIA_ENTRIES, unit[4:], strict=True):
            inertia[i, k] = inertia[k, i] = value
        pseudo = pose @ pseudo_inertia(float(unit[0]), unit[1:4], inertia) @ pose.T
        moved = np.trace(pseudo[:3, :3]) * np.eye(3) - pseudo[:3, :3]
        columns.append([*(moved[i, k] for i, k in _STANDARD_ORDER), *pseudo[:3, 3], pseudo[3, 3]])
    return np.asarray(np.transpose(columns))
