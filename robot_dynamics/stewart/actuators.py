"""Forces along a leg beside its actuator's force: friction, inertia of the drive, and a spring."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.friction import direction
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine


def passive_forces(
    machine: Machine, lengths: Array, rates: Array, accelerations: Array
) -> tuple[Array, Array]:
    """Friction and inertia forces of the actuators, and forces of the springs beside them.

    The turning parts count with the energy of their turning by the leg's change of length; that the leg's own
    rotation turns them too is left out, as is usual where they make hundreds of turns a metre.

    Args:
        machine: the platform.
        lengths: (..., 6) of the legs [m].
        rates: (..., 6) of the lengths [m/s].
        accelerations: (..., 6) of the lengths [m/s²].

    Returns:
        (..., 6) against the motion: friction and turning parts; (..., 6) springs, positive pushing [N].
    """
    viscous = np.array([leg.friction.prismatic for leg in machine.legs])
    push, stiffness = np.array([[x.spring.force_at_zero, x.spring.stiffness] for x in machine.legs]).T
    masses = np.array([leg.drive.reflected_mass for leg in machine.legs])
    dry = coulomb_friction(machine) * direction(rates)
    return viscous * rates + dry + masses * accelerations, push - stiffness * lengths


def coulomb_friction(machine: Machine) -> Array:
    """(6,) of the actuators [N]."""
    return np.array([leg.friction.coulomb for leg in machine.legs])
