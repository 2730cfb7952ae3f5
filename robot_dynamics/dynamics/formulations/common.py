"""Steps of every formulation before and after its recursion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from robot_dynamics.dynamics.scalar import Matrix, Scalar, ScalarField, Vector, cross
from robot_dynamics.dynamics.serial_model import LinkFrame, SerialModel, StandardLink


class Formulation(Protocol):
    """Inverse dynamics, for scalars of any kind."""

    def __call__(
        self,
        model: SerialModel,
        q: Sequence[Scalar] | Vector,
        qd: Sequence[Scalar] | Vector,
        qdd: Sequence[Scalar] | Vector,
        wrench: Sequence[Scalar] | Vector | None = None,
        scalars: ScalarField = ...,
    ) -> Vector:
        """Generalised forces (n,) [N·m or N].

        Args:
            model: the arm.
            q, qd, qdd: (n,) coordinates, velocities, accelerations [rad or m, per s, per s²].
            wrench: (6,) [force, torque] that the arm exerts on its environment at the tip, in the tip frame
                [N, N·m]; nothing when None.
            scalars: the kind of scalars of the above.
        """


@dataclass(frozen=True)
class JointMotion:
    """Instantaneous motion of one joint: cos and sin of theta, the distance along z, rate, acceleration."""

    cos: Scalar
    sin: Scalar
    distance: Scalar
    rate: Scalar
    acceleration: Scalar


def joint_motions(
    links: Sequence[LinkFrame],
    q: Sequence[Scalar] | Vector,
    qd: Sequence[Scalar] | Vector,
    qdd: Sequence[Scalar] | Vector,
    scalars: ScalarField,
) -> list[JointMotion]:
    """Motion of every joint, offsets and mimic factors applied."""
    motions = []
    for i, link in enumerate(links, 1):
        scalars.step("joint variable", i)
        value, rate, acceleration = (x[link.coordinate] * link.multiplier for x in (q, qd, qdd))
        if link.revolute:
            c, s = _cos_sin(value, link.offset, scalars)
            distance = scalars.parameters(link.r)[()]
        else:
            c, s = scalars.parameters(_cos_sin_of_constant(link.theta))
            distance = value + link.offset
        motions.append(JointMotion(c, s, distance, rate, acceleration))
    return motions


def base_motion(gravity: Vector, scalars: ScalarField) -> tuple[Vector, Vector, Vector]:
    """omega_0, alpha_0 and a_0: gravity is an upward acceleration of the base.

    Counted like any other link's, so that the first link costs what the papers' count for every link.
    """
    rest = scalars.parameters(np.zeros(3))
    upwards = scalars.parameters(-gravity)
    return scalars.as_variables(rest), scalars.as_variables(rest), scalars.as_variables(upwards)


def coordinate_forces(links: Sequence[LinkFrame], joint_forces: Sequence[Scalar], size: int) -> Vector:
    """Generalised forces (size,): sum of multiplier times joint force over a coordinate's joints."""
    tau: list[Scalar] = [0.0] * size
    for link, force in zip(links, joint_forces, strict=True):
        tau[link.coordinate] = tau[link.coordinate] + force * link.multiplier
    return np.array(tau)


def tip_load(
    model: SerialModel, wrench: Sequence[Scalar] | Vector | None, scalars: ScalarField
) -> tuple[Vector, Vector]:
    """f_{n+1}, n_{n+1}: force and torque on the environment, about the origin of frame n, in its axes."""
    if wrench is None:
        return np.zeros(3), np.zeros(3)
    scalars.step("tip wrench", len(model.links))
    rotation, position = scalars.parameters(model.tip[:3, :3]), scalars.parameters(model.tip[:3, 3])
    force = rotation @ np.array(list(wrench[:3]))
    return force, rotation @ np.array(list(wrench[3:])) + cross(position, force)


def standard_rotation(link: StandardLink, motion: JointMotion, scalars: ScalarField) -> Matrix:
    """R_{i-1}^i of standard DH (Turney 1.10), full: its structural zero counts as an entry."""
    ca, sa, zero = scalars.parameters([link.cos_alpha, link.sin_alpha, 0.0])
    c, s = motion.cos, motion.sin
    return np.array([[c, -ca * s, sa * s], [s, ca * c, -sa * c], [zero, sa, ca]])


def standard_displacement(link: StandardLink, motion: JointMotion, scalars: ScalarField) -> Vector:
    """r_i, from origin i-1 to origin i, in frame i (Turney 1.14)."""
    ca, sa, a, y = scalars.parameters([link.cos_alpha, link.sin_alpha, link.a, link.y_shift])
    return np.array([a, motion.distance * sa + y, motion.distance * ca])


def modified_rotation(link: LinkFrame, motion: JointMotion, scalars: ScalarField) -> Matrix:
    """R_{i-1,i} of modified DH."""
    ca, sa, zero = scalars.parameters([link.cos_alpha, link.sin_alpha, 0.0])
    c, s = motion.cos, motion.sin
    return np.array([[c, -s, zero], [ca * s, ca * c, -sa], [sa * s, sa * c, ca]])


def modified_displacement(link: LinkFrame, motion: JointMotion, scalars: ScalarField) -> Vector:
    """p_{i-1,i}, from origin i-1 to origin i, in frame i-1."""
    ca, sa, a, y = scalars.parameters([link.cos_alpha, link.sin_alpha, link.a, link.y_shift])
    return np.array([a, y * ca - motion.distance * sa, y * sa + motion.distance * ca])


def about_z(value: Scalar) -> Vector:
    """``value`` times the unit vector z."""
    return np.array([0.0, 0.0, value])


def _cos_sin_of_constant(angle: float) -> tuple[float, float]:
    quarter = round(angle / (np.pi / 2))
    if angle == quarter * np.pi / 2:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return float(np.cos(angle)), float(np.sin(angle))


def _cos_sin(value: Scalar, offset: float, scalars: ScalarField) -> tuple[Scalar, Scalar]:
    """cos and sin of ``value + offset``; quarter turns cost nothing and are exact."""
    quarter = round(offset / (np.pi / 2))
    if offset != quarter * np.pi / 2:
        angle = value + offset
        return scalars.cos(angle), scalars.sin(angle)
    c, s = scalars.cos(value), scalars.sin(value)
    return ((c, s), (-s, c), (-c, -s), (s, -c))[quarter % 4]
