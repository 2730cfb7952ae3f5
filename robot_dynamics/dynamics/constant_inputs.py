"""Inputs of a model that stay constant between calls: gravity, payloads, friction, measured joints."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.dynamics.generator.links import pseudo_inertia
from robot_dynamics.dynamics.identifiable import body_parameters
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.inputs.arrays import real_vector
from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.spatial import Array

_LOG = logging.getLogger(__name__)
LARGEST_GRAVITY = 1e9
"""A larger acceleration [m/s²] is a mistake, and forces under it would overflow."""
LARGEST_PAYLOAD = 1e9
"""The same of a payload's parameters [kg, kg·m, kg·m²]."""
TYPED_DIGITS = 1e-3
"""Relative slack of a payload's inertia: a point mass typed with three digits is still a body."""

Payload = RigidBody | Sequence[float] | Array | Mapping[str, "RigidBody | Sequence[float] | Array"]
"""A body in the tip frame, or its ten parameters, or one by each tip's name; see :func:`payload_vector`."""


@dataclass(frozen=True)
class ConstantInputs:
    """Values and which of them the kernels take as inputs; the others are constants in them, or left out.

    Attributes:
        gravity: (3,) in the root frame [m/s²].
        payload: (10,) of a body at each tip, about the tip frame's origin; left out unless it is an input.
        friction: (2n,) damping, then Coulomb friction of the joints; left out unless it is an input.
        live: names of the inputs.
        measured: (3 m,) positions, velocities and accelerations of the measured joints.
    """

    gravity: Array
    payload: Array
    friction: Array
    live: frozenset[str] = frozenset()
    measured: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def values(self) -> Mapping[str, Array]:
        """By the names of the inputs."""
        return {
            "gravity": self.gravity,
            "payload": self.payload,
            "friction": self.friction,
            "measured": self.measured,
        }


def gravity_vector(gravity: Sequence[float] | Array) -> Array:
    """(3,) [m/s²].

    Raises:
        ParameterError: it is not three finite numbers, or too large.
    """
    try:
        vector = np.array(real_vector("gravity", gravity, 3, ParameterError))
    except ParameterError as error:
        raise type(error)(
            f"gravity is {quoted(gravity)}; expected 3 finite numbers [m/s²] in the root frame"
        ) from None
    if not np.abs(vector).max() <= LARGEST_GRAVITY:
        raise ParameterError(
            f"gravity is {quoted(gravity)}; no part of it may exceed {LARGEST_GRAVITY:g} m/s²"
        )
    return vector


def payload_vector(payload: Payload, chain: KinematicChain) -> Array:
    """(10 t,) of the bodies at the t tips of ``chain``, in the order of ``chain.tips``.

    Of each m, m c (3), xx, xy, yy, xz, yz, zz about the tip frame's origin, in its axes [kg, kg·m, kg·m²].

    Args:
        payload: these numbers, or a body in the tip frame; of several tips a mapping from their names,
            in which those without a payload may be left out.
        chain: the chain or tree.

    Raises:
        ParameterError: none of these, a mass is negative, a number is too large, or no body has this inertia.
    """
    names = [tip.link for tip in chain.tips]
    if isinstance(payload, Mapping):
        for name in payload:
            if name not in names:
                raise ParameterError(f"payload names {quoted(name)}; the tips are {', '.join(names)}")
        parts = [_body_vector(payload[name]) if name in payload else np.zeros(10) for name in names]
        return np.concatenate(parts)
    if len(names) > 1 and isinstance(payload, RigidBody):
        raise ParameterError(
            f"payload is one body for {len(names)} tips; give a mapping from tips: {', '.join(names)}"
        )
    if len(names) > 1:
        rows = real_vector("payload", payload, 10 * len(names), ParameterError)
        return np.concatenate([_body_vector(row) for row in rows.reshape(-1, 10)])
    return _body_vector(payload)


def _body_vector(payload: RigidBody | Sequence[float] | Array) -> Array:
    given = body_parameters(payload) if isinstance(payload, RigidBody) else payload
    try:
        vector = np.array(real_vector("payload", given, 10, ParameterError))
    except ParameterError as error:
        raise type(error)(
            f"payload is {quoted(payload)}; expected a RigidBody in the tip frame, or ten finite numbers:"
            " mass, first moment (3) and inertia xx, xy, yy, xz, yz, zz about the tip frame's origin"
        ) from None
    if vector[0] < 0.0 or not np.abs(vector).max() <= LARGEST_PAYLOAD:
        raise ParameterError(
            f"payload is {quoted(payload)}; its mass must not be negative, and no number beyond"
            f" {LARGEST_PAYLOAD:g}"
        )
    if not _is_a_body(vector):
        raise ParameterError(
            f"payload is {quoted(payload)}; no rigid body has this inertia with this mass and first moment:"
            " xx, xy, yy, xz, yz, zz are about the tip frame's origin, not about the centre of mass"
        )
    return vector


def _is_a_body(vector: Array) -> bool:
    """Return whether the pseudo-inertia has no negative eigenvalue, in units with a diagonal of 1."""
    xx, xy, yy, xz, yz, zz = vector[4:]
    pseudo = pseudo_inertia(vector[0], vector[1:4], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    units = np.array([np.abs(pseudo[:3, :3]).max()] * 3 + [vector[0]])
    units[units == 0.0] = 1.0
    scaled = pseudo / np.sqrt(np.outer(units, units))
    return bool(np.linalg.eigvalsh(scaled)[0] >= -TYPED_DIGITS)


def measured_vector(
    chain: KinematicChain, position: object = None, velocity: object = None, acceleration: object = None
) -> Array:
    """(3 m,) motion of the measured joints: at rest at zero, or at the limit next to it, where not given.

    Raises:
        ParameterError: not one finite number for each joint.
    """
    places = chain.measured_coordinates
    limits = [chain.modelled.driving_joint(i).limits for i in places]
    rest = np.array([min(max(0.0, limit.lower), limit.upper) for limit in limits])
    given = {
        "position": (position, rest),
        "velocity": (velocity, 0.0 * rest),
        "acceleration": (acceleration, 0.0 * rest),
    }
    return np.concatenate(
        [
            default
            if value is None
            else real_vector(f"{name} of measured joints", value, len(places), ParameterError)
            for name, (value, default) in given.items()
        ]
    )


def friction_vector(chain: KinematicChain) -> Array:
    """(2n,) damping, then Coulomb friction of the joints, as the description gives them."""
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    return np.array([*(joint.damping for joint in joints), *(joint.friction for joint in joints)])


def tell_what_is_left_out(chain: KinematicChain) -> None:
    """Warn, in the log, where the description gives joints a friction."""
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    names = [joint.name for joint in joints if joint.damping or joint.friction]
    if names:
        _LOG.warning(
            "%s: the description gives friction to %s, which the efforts leave out; friction=True includes"
            " it, friction=False leaves it out and says nothing",
            chain.name,
            ", ".join(names),
        )
