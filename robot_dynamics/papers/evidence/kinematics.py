"""Positions, velocities and accelerations of an arm's frames from positions alone: an oracle for recursions.

Velocities come from complex steps of the positions, accelerations from differences of eighth order of the
velocities, along q(t) = q + qd t + qdd t²/2. Nothing here is a recursion over velocities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.scalar import FloatField, Scalar
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.spatial import Array

_WEIGHTS = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
_STEP = 5e-3
_IMAGINARY = 1e-30


class ComplexField(FloatField):
    """Numbers that may be complex."""

    def sin(self, angle: Scalar) -> Scalar:
        """Sine of an angle [rad]."""
        return np.sin(angle)

    def cos(self, angle: Scalar) -> Scalar:
        """Cosine of an angle [rad]."""
        return np.cos(angle)


@dataclass(frozen=True)
class FrameMotion:
    """Motion of the frames 1..n, in the base frame.

    Attributes:
        rotation: (n, 3, 3) from the frame to the base frame.
        position: (n, 3) of the origins [m].
        velocity, acceleration: (n, 3) of the origins.
        angular_velocity, angular_acceleration: (n, 3).
    """

    rotation: Array
    position: Array
    velocity: Array
    acceleration: Array
    angular_velocity: Array
    angular_acceleration: Array


def random_arm(seed: int, kinds: str = "RRRRRR") -> SerialModel:
    """An arm with generic parameters; ``kinds`` has an R or a P for each joint."""
    random = np.random.default_rng([seed, len(kinds)])
    size = len(kinds)
    mass = random.uniform(0.5, 3.0, size)
    centers = random.uniform(-0.2, 0.2, (size, 3))
    inertias = []
    for m, c in zip(mass, centers, strict=True):
        points = random.normal(scale=0.1, size=(3, 3))
        spread = points @ points.T
        inertias.append(np.trace(spread) * np.eye(3) - spread + m * (c @ c * np.eye(3) - np.outer(c, c)))
    alpha, a = random.uniform(-1.5, 1.5, size), random.uniform(-0.5, 0.5, size)
    alpha[0] = a[0] = 0.0
    return SerialModel.from_dh(
        list(alpha),
        list(a),
        list(random.uniform(-0.5, 0.5, size)),
        list(mass),
        list(mass[:, None] * centers),
        inertias,
        theta=list(random.uniform(-1.5, 1.5, size)),
        prismatic=[kind == "P" for kind in kinds],
    )


def random_state(model: SerialModel, seed: int = 0) -> Array:
    """(3, n): q, qd, qdd."""
    return np.random.default_rng([seed, 17]).uniform(-1.5, 1.5, (3, model.dof))


def poses(model: SerialModel, q: Any, *, standard: bool) -> tuple[Any, Any]:
    """Rotations (n, 3, 3) and positions (n, 3) of the modified or standard DH frames in the base frame."""
    scalars, rest = ComplexField(), np.zeros(model.dof)
    links: Any = model.standard_links() if standard else model.links
    rotation, position = np.eye(3), np.zeros(3)
    rotations, positions = [], []
    for link, joint in zip(links, common.joint_motions(model.links, q, rest, rest, scalars), strict=True):
        if standard:
            own = common.standard_rotation(link, joint, scalars)
            offset = own @ common.standard_displacement(link, joint, scalars)
        else:
            own = common.modified_rotation(link, joint, scalars)
            offset = common.modified_displacement(link, joint, scalars)
        position = position + rotation @ offset
        rotation = rotation @ own
        rotations.append(rotation)
        positions.append(position)
    return np.array(rotations), np.array(positions)


def frame_motion(model: SerialModel, q: Array, qd: Array, qdd: Array, *, standard: bool) -> FrameMotion:
    """Motion of the frames at t = 0 of q + qd t + qdd t²/2."""

    def rates(time: float) -> tuple[Array, Array]:
        now = time + 1j * _IMAGINARY
        rotation, position = poses(model, q + qd * now + 0.5 * qdd * now * now, standard=standard)
        spin = np.einsum("nij,nkj->nik", rotation.imag / _IMAGINARY, rotation.real)
        return position.imag / _IMAGINARY, np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)

    rotation, position = poses(model, q, standard=standard)
    velocity, angular_velocity = rates(0.0)
    acceleration, angular_acceleration = _derivative(lambda t: np.array(rates(t)))
    return FrameMotion(rotation, position, velocity, acceleration, angular_velocity, angular_acceleration)


def _derivative(function: Callable[[float], Array]) -> Array:
    total = 0.0
    for k, weight in enumerate(_WEIGHTS, 1):
        total = total + weight * (function(k * _STEP) - function(-k * _STEP))
    return np.asarray(total / _STEP)


def energies(model: SerialModel, q: Array, qd: Array) -> tuple[float, float]:
    """Kinetic and potential energy [J], link by link from the motion of the modified frames."""
    motion = frame_motion(model, q, qd, np.zeros_like(q), standard=False)
    kinetic = potential = 0.0
    for i, link in enumerate(model.links):
        w = motion.rotation[i].T @ motion.angular_velocity[i]
        v = motion.rotation[i].T @ motion.velocity[i]
        kinetic += 0.5 * link.mass * v @ v + 0.5 * w @ link.inertia @ w + link.first_moment @ np.cross(v, w)
        center = link.mass * motion.position[i] + motion.rotation[i] @ link.first_moment
        potential -= float(model.gravity @ center)
    return float(kinetic), float(potential)


def lagrange_oracle(model: SerialModel, q: Array, qd: Array, qdd: Array) -> Array:
    """Generalised forces (n,) by Newton's and Euler's laws of each link, projected by virtual work."""
    size = model.dof
    motion = frame_motion(model, q, qd, qdd, standard=False)
    tau = np.zeros(size)
    for j in range(size):
        unit = frame_motion(model, q, np.eye(size)[j], np.zeros(size), standard=False)
        for i, link in enumerate(model.links):
            rotation = motion.rotation[i]
            s, inertia = rotation @ link.first_moment, rotation @ link.inertia @ rotation.T
            w, wd = motion.angular_velocity[i], motion.angular_acceleration[i]
            a = motion.acceleration[i] - model.gravity
            force = link.mass * a + np.cross(wd, s) + np.cross(w, np.cross(w, s))
            moment = inertia @ wd + np.cross(w, inertia @ w) + np.cross(s, a)
            tau[j] += force @ unit.velocity[i] + moment @ unit.angular_velocity[i]
    return tau
