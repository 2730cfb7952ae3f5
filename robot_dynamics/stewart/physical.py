"""Checks that a machine's parameters are physically possible."""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import principal_moments
from robot_dynamics.stewart.machine import NO_SPRING, Leg, Machine

# Relative tolerance on inertias that were rounded for a data sheet.
ROUNDING = 1e-6
# Least sine of the angle between a leg and the fixed axis of its universal joint.
LOCKED_SINE = 1e-3
LARGEST = 100.0
"""Of a machine's lengths [m]."""
STROKES = 100.0
"""Fastest leg [strokes/s]."""
STRONGEST = 1000.0
"""Force of the legs at home, over the platform's weight."""


def check_body(body: RigidBody, where: str) -> None:
    """Refuse mass properties that no distribution of mass has.

    Raises:
        ModelError: the inertia is not symmetric, has a negative principal moment, or one that exceeds the
            sum of the other two; or a body without mass has inertia.
    """
    inertia = body.inertia
    scale = float(np.abs(inertia).max())
    if not np.allclose(inertia, inertia.T, rtol=0.0, atol=ROUNDING * scale):
        raise ModelError(f"{where}.inertia is not symmetric")
    if body.mass == 0.0 and scale > 0.0:
        raise ModelError(f"{where}.inertia must be zero because {where}.mass is zero")
    small, middle, large = (float(moment) for moment in principal_moments(inertia))
    if small < -ROUNDING * scale:
        raise ModelError(f"{where}.inertia has the negative principal moment {small:g} kg·m²")
    if large > small + middle + ROUNDING * scale:
        raise ModelError(
            f"{where}.inertia has the principal moments {small:g}, {middle:g}, {large:g} kg·m²; none may"
            " exceed the sum of the other two"
        )


def check_spinning_leg(leg: Leg, where: str) -> None:
    """Refuse a leg with spherical joints at both ends whose spin about its own axis would matter.

    Nothing controls that spin, so forces follow from the platform's motion only when the mass is distributed
    evenly about the leg's axis and no friction drags the leg round.

    Raises:
        ModelError: a centre of mass lies off the axis, an inertia is not that of a body of revolution about
            it, or a spherical joint has friction.
    """
    for name, body in (("lower", leg.lower), ("upper", leg.upper)):
        if np.abs(body.center_of_mass[1:]).max() > 1e-9:
            raise ModelError(
                f"{where}.{name}.center_of_mass must lie on the leg's axis (y = z = 0): the base joint is"
                " spherical, so the leg may spin"
            )
        inertia = body.inertia
        across = inertia - np.diag(np.diag(inertia))
        scale = max(float(np.abs(inertia).max()), 1e-12)
        if np.abs(across).max() > ROUNDING * scale or abs(inertia[1, 1] - inertia[2, 2]) > ROUNDING * scale:
            raise ModelError(
                f"{where}.{name}.inertia must be diagonal with yy = zz: the base joint is spherical, so the"
                " leg may spin"
            )
    for name, value in (("universal", leg.friction.universal), ("spherical", leg.friction.spherical)):
        if value > 0.0:
            raise ModelError(
                f"{where}.friction.{name} must be 0: the base joint is spherical, and friction would spin the"
                " leg at a rate that the platform's motion does not determine"
            )


def check_geometry(machine: Machine) -> None:
    """Refuse points that leave the machine without six degrees of freedom, or a home it cannot take.

    Raises:
        ModelError: joint centres coincide or lie on one line, a leg has no length at home or lies outside its
            limits, a universal joint is locked at home, or home is singular.
    """
    for name, points in (("base_point", machine.base_points), ("platform_point", machine.platform_points)):
        spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
        if spread[1] <= 1e-6 * max(float(spread[0]), 1e-6):
            raise ModelError(f"legs[1..6].{name}: the six points lie on one line")
    arms = machine.platform_points @ machine.home_rotation.T
    vectors = machine.home_position + arms - machine.base_points
    lengths = np.linalg.norm(vectors, axis=1)
    for number, (leg, length, axis, vector) in enumerate(
        zip(machine.legs, lengths, machine.universal_axes, vectors, strict=True), start=1
    ):
        where = f"legs[{number}] ({leg.name})"
        if length < 1e-6:
            raise ModelError(f"{where} has no length at home: base and platform point coincide")
        if not leg.limits.shortest <= length <= leg.limits.longest:
            raise ModelError(
                f"{where} has length {length:.4f} m at home, outside limits.length"
                f" [{leg.limits.shortest:g}, {leg.limits.longest:g}] m"
            )
        if float(np.linalg.norm(np.cross(axis, vector))) < LOCKED_SINE * length:
            raise ModelError(f"{where}.universal_axis is parallel to the leg at home: the joint is locked")
    directions = vectors / lengths[:, None]
    moments = np.cross(arms, directions) / machine.characteristic_length
    condition = float(np.linalg.cond(np.vstack([directions.T, moments.T])))
    if not condition <= machine.condition_limit:
        raise ModelError(
            f"home is singular: its condition number is {condition:.3g}, condition_limit is"
            f" {machine.condition_limit:g}"
        )


def check_units(machine: Machine) -> str:
    """Refuse numbers that are out of all proportion, and ask for their unit.

    Returns:
        A warning: legs that carry more than :data:`STRONGEST` times the platform; empty where there is none.

    Raises:
        ModelError: an angle beyond half a turn, a size beyond :data:`LARGEST`, a leg that is faster than
            :data:`STROKES` strokes a second, or legs that do not carry the machine at home.
    """
    sizes = {
        "characteristic_length": np.array(machine.characteristic_length),
        "home.position": machine.home_position,
        "base_point": machine.base_points,
        "platform_point": machine.platform_points,
        "center_of_mass": machine.platform.center_of_mass,
    }
    for name, value in sizes.items():
        if (largest := float(np.abs(value).max())) > LARGEST:
            raise ModelError(f"{name} has {largest:g} m, the limit is {LARGEST:g} m: give it in metres")
    for number, leg in enumerate(machine.legs, start=1):
        where, limits = f"legs[{number}].limits", leg.limits
        for name in ("base_angle", "platform_angle"):
            angle = getattr(limits, name)
            if np.pi < angle < np.inf:
                raise ModelError(
                    f"{where}.{name} is {angle:g} rad, more than half a turn: give it in radians, such as"
                    f" {np.radians(angle):.4g} for {angle:g} degrees"
                )
        stroke = limits.longest - limits.shortest
        if np.isfinite(stroke) and np.isfinite(limits.speed) and limits.speed > STROKES * stroke:
            raise ModelError(
                f"{where}.speed is {limits.speed:g} m/s, {limits.speed / stroke:.3g} strokes a second:"
                " give it in m/s"
            )
    return _check_force(machine)


def _check_force(machine: Machine) -> str:
    """See :func:`check_units`: the legs' forces along gravity, at home."""
    weight = float(np.linalg.norm(machine.gravity)) * machine.platform.mass
    if weight == 0.0 or any(leg.spring != NO_SPRING for leg in machine.legs):
        return ""
    along = np.abs(machine.home_directions @ machine.gravity) / np.linalg.norm(machine.gravity)
    carried = float(np.sum([leg.limits.force for leg in machine.legs] * along))
    found = f"the legs carry at most {carried:.4g} N at home, the platform weighs {weight:.4g} N"
    if carried < weight:
        raise ModelError(f"{found}: give limits.force in N and masses in kg")
    return f"{found}: is its mass in kg?" if STRONGEST * weight < carried < np.inf else ""
