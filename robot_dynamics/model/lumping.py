"""Adds up the mass properties of everything that moves as one body."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array, rotate_inertia, shift_inertia

MASSLESS = RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))


def moved_body(body: RigidBody, transform: Array) -> RigidBody:
    """``body`` seen from the frame in which its own frame has the pose ``transform`` (4, 4)."""
    rotation = transform[:3, :3]
    return RigidBody(
        mass=body.mass,
        center_of_mass=rotation @ body.center_of_mass + transform[:3, 3],
        inertia=rotate_inertia(rotation, body.inertia),
    )


def lumped_body(bodies: Iterable[RigidBody]) -> RigidBody:
    """One body with the mass properties of all ``bodies``, which are given in one common frame."""
    parts = list(bodies)
    mass = sum(part.mass for part in parts)
    center = np.zeros(3)
    if mass > 0.0:
        center = sum((part.mass * part.center_of_mass for part in parts), center) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        inertia += part.inertia + shift_inertia(part.mass, part.center_of_mass - center)
    return RigidBody(mass, center, inertia)
