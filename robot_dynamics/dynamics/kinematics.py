"""The Jacobian of the tip, for any scalars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector
from robot_dynamics.dynamics.serial_model import SerialModel


@gate
def tip_jacobian(model: SerialModel, q: Sequence[Scalar] | Vector, scalars: ScalarField = FLOATS) -> Matrix:
    """J (6, n) with [linear; angular] velocity of the tip = J qd, in the tip frame.

    Rows are ordered like a wrench [force, torque], so J^T wrench are the efforts that it takes.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
        scalars: the kind of scalars of the coordinates.
    """
    rest = [0.0] * model.dof
    motions = common.joint_motions(model.links, q, rest, rest, scalars)
    rotation: Matrix = scalars.parameters(model.tip[:3, :3])  # pose of the tip in frame i
    position: Vector = scalars.parameters(model.tip[:3, 3])
    columns: list[list[Scalar]] = [[0.0] * 6 for _ in range(model.dof)]
    for link, motion in zip(reversed(model.links), reversed(motions), strict=True):
        along = rotation[2]  # z_i in the tip frame
        if link.revolute:
            lever = np.array([-position[1], position[0], 0.0])  # z x p
            twist = [*(rotation.T @ lever), *along]
        else:
            twist = [*along, 0.0, 0.0, 0.0]
        column = columns[link.coordinate]
        columns[link.coordinate] = [c + t * link.multiplier for c, t in zip(column, twist, strict=True)]
        step = common.modified_rotation(link, motion, scalars)
        position = step @ position + common.modified_displacement(link, motion, scalars)
        rotation = step @ rotation
    matrix: Matrix = np.array(columns).T
    return matrix


@gate
def root_jacobian(model: SerialModel, q: Sequence[float] | Vector) -> Matrix:
    """J (6, n) with [linear; angular] velocity of the tip = J qd, in the axes of the root frame.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
    """
    rotation = model.forward_kinematics(q)[:3, :3]
    jacobian = tip_jacobian(model, np.asarray(q, dtype=float))
    return np.vstack([rotation @ jacobian[:3], rotation @ jacobian[3:]])
