"""The 4x4 matrices of the Lagrange-Euler formulation (Turney section 1, Lee section 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.scalar import Matrix, Scalar, ScalarField, Vector, axial
from robot_dynamics.dynamics.serial_model import SerialModel, StandardLink
from robot_dynamics.spatial import second_moments


class Transformations:
    """T_j^i of an arm at one configuration, and the operator Q by which they are differentiated.

    Attributes:
        links: the arm's links; link i is ``links[i - 1]``.
        size: number of links.
    """

    def __init__(
        self, model: SerialModel, motions: Sequence[common.JointMotion], scalars: ScalarField, step: str
    ) -> None:
        self.links = model.standard_links()
        self.size = len(self.links)
        self._zero = scalars.as_variables(scalars.parameters(np.zeros(4)))
        self._between: dict[tuple[int, int], Matrix] = {}
        for i, (link, motion) in enumerate(zip(self.links, motions, strict=True), 1):
            scalars.step("T_{i-1}^i", i)
            self._between[i - 1, i] = scalars.as_variables(_transformation(link, motion, scalars))
        for i in range(2, self.size + 1):
            scalars.step(step, i)
            for j in range(i - 2, -1, -1):
                self._between[j, i] = self._between[j, j + 1] @ self._between[j + 1, i]  # 1.15
        self.identity: Matrix = scalars.as_variables(scalars.parameters(np.eye(4)))

    def between(self, j: int, i: int) -> Matrix:
        """T_j^i, pose of frame i in frame j <= i."""
        return self.identity if i == j else self._between[j, i]

    def differentiated(self, j: int, matrix: Matrix) -> Matrix:
        """Q_{j-1} times ``matrix``: the derivative of T_{j-1}^j ... by joint j (1.5, 1.11).

        Exchanging and negating rows is not counted. For a prismatic joint Q moves the last row to the third.
        """
        if self.links[j - 1].revolute:
            return np.array([-matrix[1], matrix[0], self._zero, self._zero])
        return np.array([self._zero, self._zero, matrix[3], self._zero])


def pseudo_inertia(link: StandardLink, scalars: ScalarField) -> Matrix:
    """J_q^a (1.28): integral of d d^T over the link, d = (x, y, z, 1) from the origin of frame q."""
    center = np.append(link.center_of_mass, 1.0)
    matrix = link.mass * np.outer(center, center)
    matrix[:3, :3] += second_moments(link.inertia)
    return scalars.parameters(matrix)


def trace_of_product(a: Matrix, b: Matrix) -> Scalar:
    """Tr{a b^t}, the diagonal of the product alone."""
    return a.ravel() @ b.ravel()


def wrench_force(pose: Matrix, derivative: Matrix, force: Vector, torque: Vector) -> Scalar:
    """Generalised force of the tip load, by virtual work.

    Args:
        pose: T_0^n.
        derivative: its derivative by the joint's variable.
        force, torque: on the environment, about the origin of frame n and in its axes.
    """
    twist = pose[:3, :3].T @ derivative[:3]
    rotation = axial(twist[:, :3]) * 0.5
    return force @ twist[:, 3] + torque @ rotation


def _transformation(link: StandardLink, motion: common.JointMotion, scalars: ScalarField) -> Matrix:
    """T_{i-1}^i (1.13)."""
    rotation = common.standard_rotation(link, motion, scalars)
    a, y, ca, sa = scalars.parameters([link.a, link.y_shift, link.cos_alpha, link.sin_alpha])
    c, s = motion.cos, motion.sin
    if link.y_shift == 0.0:
        position = [c * a, s * a, motion.distance]
    else:
        position = [c * a - s * (ca * y), s * a + c * (ca * y), motion.distance + sa * y]
    last = scalars.parameters([0.0, 0.0, 0.0, 1.0])
    return np.array([[*rotation[row], position[row]] for row in range(3)] + [list(last)])
