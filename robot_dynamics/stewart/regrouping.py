"""The machine's parameters in the form in which the exact model needs the fewest operations.

Everything here depends on parameters alone and is computed once, offline.

- A point mass at a spherical joint may be thought of as lying on the leg or on the platform: the actuator
  forces are the same. The upper parts hand their whole mass to the platform (keeping their first and second
  moments about the platform point), and the platform hands back point masses chosen so that its first moment
  vanishes as far as possible.
- The inertias of both parts of a leg add: both turn alike.
- Each leg gets a fixed frame (e1, e2, k) with k along the fixed axis of its universal joint, in which the
  angle about k and the elevation above the plane e1, e2 describe its direction.
- Positions on the platform are counted from one of the platform points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array, second_moments, shift_inertia
from robot_dynamics.stewart.machine import Leg, Machine

# A number below this fraction of the others of its kind is a zero that rounding has spoilt.
NEGLIGIBLE = 1e-15


@dataclass(frozen=True, eq=False)
class LegParameters:
    """Constants of one leg.

    Attributes:
        frame: (3, 3) rows e1, e2, k, base frame.
        base_point: (3,) base frame [m].
        arm: (3,) from the reference point to the platform point, platform frame [m].
        inertia: (3, 3) of the lower part about the base point plus the upper part about the platform point,
            leg axes [kg·m²].
        moving_moment: (3,) first moment of the upper part about the platform point, leg axes [kg·m].
        weight_moment: (3,) sum of the parts' first moments, about these points, times gravity [N·m].
        weight_direction: (3,) direction of gravity, base frame.
        tip_mass: point mass at the platform point, taken over from the platform [kg].
        friction: universal, prismatic, spherical.
        coulomb: dry friction of the actuator [N].
        spring: its force at zero length [N], and its stiffness [N/m].
        reflected_mass: of what turns in the actuator [kg].
    """

    frame: Array
    base_point: Array
    arm: Array
    inertia: Array
    moving_moment: Array
    weight_moment: Array
    weight_direction: Array
    tip_mass: float
    friction: tuple[float, float, float]
    coulomb: float
    spring: tuple[float, float]
    reflected_mass: float


@dataclass(frozen=True, eq=False)
class Parameters:
    """Constants of the regrouped machine.

    Attributes:
        gravity: (3,) base frame [m/s²].
        legs: constants of the six legs.
        reference_arm: (3,) from the platform's origin to the reference point, platform frame [m].
        mass: of the platform with what it took over and handed back [kg].
        first_moment: (3,) about the reference point, platform frame [kg·m].
        second_moment: (3, 3) ∫ r rᵀ dm about the reference point, platform frame [kg·m²].
        triangle: the three legs whose base points carry the moment axes of the linear system.
        reference: the leg whose platform point is the reference point; None for the platform's origin.
        carriers: the legs that carry point masses of the platform.
    """

    gravity: Array
    legs: tuple[LegParameters, ...]
    reference_arm: Array
    mass: float
    first_moment: Array
    second_moment: Array
    triangle: tuple[int, int, int]
    reference: int | None
    carriers: tuple[int, ...]


def regroup(
    machine: Machine,
    reference: int | None = None,
    carriers: Sequence[int] = (),
    triangle: tuple[int, int, int] = (0, 2, 4),
) -> Parameters:
    """The machine's constants with the given free choices.

    Args:
        machine: the platform.
        reference: the leg whose platform point is the reference point; None for the platform's origin.
        carriers: legs that carry point masses of the platform.
        triangle: three legs whose base points do not lie on one line.
    """
    origin = np.zeros(3) if reference is None else machine.platform_points[reference]
    arms = machine.platform_points - origin
    upper_masses = np.array([leg.upper.mass for leg in machine.legs])
    mass, first, second = _moments(machine.platform, origin)
    mass += float(upper_masses.sum())
    first = first + upper_masses @ arms
    second = second + (arms.T * upper_masses) @ arms
    tip_masses = np.zeros(len(machine.legs))
    if carriers:
        chosen = list(carriers)
        tip_masses[chosen] = np.linalg.lstsq(arms[chosen].T, first, rcond=1e-9)[0]
        mass -= float(tip_masses.sum())
        first = first - tip_masses @ arms
        second = second - (arms.T * tip_masses) @ arms
    scale = float(np.abs(machine.platform_points).max()) * float(upper_masses.sum() + machine.platform.mass)
    first = np.where(np.abs(first) < 1e-14 * scale, 0.0, first)
    return Parameters(
        gravity=machine.gravity,
        legs=tuple(
            _leg(leg, axis, arm, float(tip), machine.gravity)
            for leg, axis, arm, tip in zip(
                machine.legs, machine.universal_axes, arms, tip_masses, strict=True
            )
        ),
        reference_arm=origin,
        mass=mass,
        first_moment=first,
        second_moment=second,
        triangle=triangle,
        reference=reference,
        carriers=tuple(carriers),
    )


def _moments(body: RigidBody, point: Array) -> tuple[float, Array, Array]:
    """Mass, first moment and ∫ r rᵀ dm of a body about ``point``."""
    offset = body.center_of_mass - point
    central = second_moments(body.inertia)
    return body.mass, body.mass * offset, central + body.mass * np.outer(offset, offset)


def _leg(leg: Leg, axis: Array, arm: Array, tip_mass: float, gravity: Array) -> LegParameters:
    inertia = sum(
        (body.inertia + shift_inertia(body.mass, body.center_of_mass) for body in (leg.lower, leg.upper)),
        np.zeros((3, 3)),
    )
    if leg.universal_axis is None:
        # Such a leg does not spin; without an inertia about its axis it behaves alike about any axis k.
        inertia[0, 0] = 0.0
    strength = float(np.linalg.norm(gravity))
    moving = leg.upper.mass * leg.upper.center_of_mass
    return LegParameters(
        frame=_frame(axis),
        base_point=leg.base_point,
        arm=arm,
        inertia=inertia,
        moving_moment=moving,
        weight_moment=strength * (moving + leg.lower.mass * leg.lower.center_of_mass),
        weight_direction=gravity / strength if strength > 0.0 else np.zeros(3),
        tip_mass=tip_mass,
        friction=(leg.friction.universal, leg.friction.prismatic, leg.friction.spherical),
        coulomb=leg.friction.coulomb,
        spring=(leg.spring.force_at_zero, leg.spring.stiffness),
        reflected_mass=leg.drive.reflected_mass,
    )


def _frame(k: Array) -> Array:
    """Rows e1, e2, k of a right-handed frame with as many zeros as k allows."""
    for first in np.eye(3)[::-1]:
        if abs(first @ k) < NEGLIGIBLE:
            return np.array([np.cross(first, k), first, k])
    across = np.array([-k[1], k[0], 0.0]) / np.hypot(k[0], k[1])
    return np.array([across, np.cross(k, across), k])
