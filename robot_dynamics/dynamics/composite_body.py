"""Mass matrix from composite rigid bodies, for any scalars.

Walker & Orin, "Efficient dynamic computer simulation of robotic mechanisms", 1982, method 3: column i of M is
the force and moment that give everything beyond joint i a unit acceleration of that joint, carried down the
chain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector, cross
from robot_dynamics.dynamics.serial_model import SerialModel


@gate
def mass_matrix(model: SerialModel, q: Sequence[Scalar] | Vector, scalars: ScalarField = FLOATS) -> Matrix:
    """The mass matrix M (n, n), symmetric, by composite bodies.

    Entries are in kg·m² (two revolute joints), kg·m (one of each) or kg (two prismatic joints).

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
        scalars: the kind of scalars of the coordinates.
    """
    links, size = model.links, len(model.links)
    rest = [0.0] * model.dof
    motions = common.joint_motions(links, q, rest, rest, scalars)
    rotations = [
        common.modified_rotation(link, motion, scalars) for link, motion in zip(links, motions, strict=True)
    ]
    displacements = [
        common.modified_displacement(link, motion, scalars)
        for link, motion in zip(links, motions, strict=True)
    ]
    joint_matrix = np.zeros((size, size), dtype=object)
    mass, moment, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    for i in range(size - 1, -1, -1):
        link = links[i]
        mass = mass + link.mass
        moment = moment + scalars.parameters(link.first_moment)
        inertia = inertia + scalars.parameters(link.inertia)
        if link.revolute:
            f, n = np.array([-moment[1], moment[0], 0.0]), inertia[:, 2]
        else:
            f, n = np.array([0.0, 0.0, scalars.parameters(mass)[()]]), np.array([moment[1], -moment[0], 0.0])
        joint_matrix[i, i] = n[2] if link.revolute else f[2]
        for j in range(i, 0, -1):
            f = rotations[j] @ f
            n = rotations[j] @ n + cross(displacements[j], f)
            joint_matrix[i, j - 1] = joint_matrix[j - 1, i] = n[2] if links[j - 1].revolute else f[2]
        moment, inertia = _carried(
            rotations[i], displacements[i], scalars.parameters(mass)[()], moment, inertia
        )
    return _by_coordinates(model, joint_matrix)


def _carried(
    rotation: Matrix, p: Vector, mass: Scalar, moment: Vector, inertia: Matrix
) -> tuple[Vector, Matrix]:
    """First moment and inertia about the previous frame's origin, in its axes."""
    h = rotation @ moment
    turned = rotation @ inertia @ rotation.T
    # For points d + p: |d + p|^2 E - (d + p)(d + p)^T, integrated.
    k = h + p * mass
    xx, yy, zz = p * (h + k)
    xy = p[0] * h[1] + k[0] * p[1]
    xz = p[0] * h[2] + k[0] * p[2]
    yz = p[1] * h[2] + k[1] * p[2]
    shift = np.array([[yy + zz, -xy, -xz], [-xy, xx + zz, -yz], [-xz, -yz, xx + yy]])
    return k, turned + shift


def _by_coordinates(model: SerialModel, joint_matrix: Matrix) -> Matrix:
    """The matrix over coordinates: several joints may share one (mimic joints)."""
    matrix = np.zeros((model.dof, model.dof), dtype=object)
    for i, row in enumerate(model.links):
        for j, column in enumerate(model.links):
            entry = joint_matrix[i, j] * (row.multiplier * column.multiplier)
            matrix[row.coordinate, column.coordinate] = matrix[row.coordinate, column.coordinate] + entry
    numbers = all(isinstance(entry, float) for entry in matrix.flat)
    return matrix.astype(float) if numbers else matrix
