"""Parameters of a Stewart platform: geometry, mass properties, friction and limits.

Frames. The *base frame* is fixed to the ground; the *platform frame* moves with the platform. The *leg axes*
of a leg are x along the leg from the base point to the platform point, y along the moving axis of the
universal joint (parallel to k × x, k being the joint's fixed axis) and z = x × y. The lower part is described
from the base point, the upper part from the platform point, both in leg axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.errors import ModelError, quoted
from robot_dynamics.inputs.records import (
    a,
    bound,
    check_fields,
    not_negative,
    number,
    number_or_infinity,
    numbers,
    or_none,
    positive,
    several,
    text,
)
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array

LEG_COUNT = 6
GUESSED = ("friction", "masses")
"""Parts of a machine that may be guesses."""


@dataclass(frozen=True)
class JointFriction:
    """Friction of one leg's joints, viscous but for the last.

    Attributes:
        universal: at the base joint [N·m·s/rad].
        prismatic: between the two parts of the leg [N·s/m].
        spherical: at the platform joint [N·m·s/rad].
        coulomb: dry friction between the two parts of the leg [N].
    """

    universal: float
    prismatic: float
    spherical: float
    coulomb: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, dict.fromkeys(("universal", "prismatic", "spherical", "coulomb"), not_negative))


@dataclass(frozen=True)
class Drive:
    """Rotating parts of a leg's actuator: screw and rotor of the motor.

    Attributes:
        lead: of the screw, per turn [m].
        screw_inertia: about its axis [kg·m²].
        rotor_inertia: of the motor, about its axis [kg·m²].
        gear_ratio: turns of the motor per turn of the screw.
    """

    lead: float
    screw_inertia: float
    rotor_inertia: float
    gear_ratio: float

    def __post_init__(self) -> None:
        check_fields(self, {"lead": positive, "gear_ratio": not_negative})
        check_fields(self, dict.fromkeys(("screw_inertia", "rotor_inertia"), not_negative))

    @property
    def reflected_mass(self) -> float:
        """As which the turning parts resist the leg's change of length [kg]."""
        turns = 2.0 * np.pi / self.lead
        return float(turns**2 * (self.screw_inertia + self.gear_ratio**2 * self.rotor_inertia))


@dataclass(frozen=True)
class Spring:
    """A counterbalance beside an actuator, a spring or a gas spring; it pushes with ``force_at``.

    Attributes:
        length: of the leg [m].
        force: at this length [N].
        stiffness: by which the force falls as the leg grows [N/m].
    """

    length: float
    force: float
    stiffness: float

    def __post_init__(self) -> None:
        check_fields(self, dict.fromkeys(("length", "force", "stiffness"), number))

    @property
    def force_at_zero(self) -> float:
        """Extrapolated to a leg without length [N]."""
        return self.force + self.stiffness * self.length

    def force_at(self, length: float) -> float:
        """The spring's force at a leg ``length`` [m]; positive when it pushes the platform away [N]."""
        return self.force_at_zero - self.stiffness * length


NO_DRIVE = Drive(lead=1.0, screw_inertia=0.0, rotor_inertia=0.0, gear_ratio=1.0)
NO_SPRING = Spring(length=0.0, force=0.0, stiffness=0.0)


@dataclass(frozen=True)
class LegLimits:
    """Limits of one leg; infinite where the machine has no limit.

    Attributes:
        shortest: smallest length between base point and platform point [m].
        longest: greatest length [m].
        speed: greatest magnitude of the length's rate [m/s].
        force: greatest magnitude of the actuator force [N].
        base_angle: greatest angle between the leg and its direction at home, seen from the base [rad].
        platform_angle: the same seen from the platform [rad].
        continuous_force: greatest root mean square of the actuator force [N]. Sizing uses it; no motion is
            refused for it.
        speed_force: points (speed [m/s], force [N]) of the actuator's curve, by increasing speed. Likewise.
    """

    shortest: float = 0.0
    longest: float = np.inf
    speed: float = np.inf
    force: float = np.inf
    base_angle: float = np.inf
    platform_angle: float = np.inf
    continuous_force: float = np.inf
    speed_force: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, dict.fromkeys(("shortest", "longest"), number_or_infinity))
        bounds = ("speed", "force", "base_angle", "platform_angle", "continuous_force")
        check_fields(self, dict.fromkeys(bounds, bound))
        check_fields(self, {"speed_force": several(numbers(2))})
        curve = tuple((float(speed), float(force)) for speed, force in self.speed_force)
        object.__setattr__(self, "speed_force", curve)
        speeds = [speed for speed, _ in curve]
        if min([*speeds, *(force for _, force in curve)], default=0.0) < 0.0 or speeds != sorted(set(speeds)):
            raise ModelError(
                f"speed_force of a LegLimits is {quoted(curve)}; speeds must increase from 0 or more, and no"
                " force may be negative"
            )
        if np.isfinite(self.continuous_force) and self.continuous_force > self.force:
            raise ModelError(
                f"continuous_force of a LegLimits is {self.continuous_force:g} N; it must be at most force,"
                f" {self.force:g} N"
            )
        if not self.shortest < self.longest:
            raise ModelError(
                f"shortest of a LegLimits is {self.shortest:g} m; it must be less than longest,"
                f" {self.longest:g} m"
            )

    def force_at_speed(self, speed: Array) -> Array:
        """Greatest force of the actuator at speeds (...) [m/s]: its curve, or ``force`` up to ``speed`` [N].

        Beyond the last point of the curve it is zero.
        """
        speed = np.abs(speed)
        if self.speed_force:
            speeds, forces = np.array(self.speed_force).T
            return np.asarray(np.interp(speed, speeds, forces, right=0.0))
        return np.where(speed <= self.speed, self.force, 0.0)


_LEG = {
    "name": text,
    "base_point": numbers(3),
    "platform_point": numbers(3),
    "universal_axis": or_none(numbers(3)),
    "lower": a(RigidBody),
    "upper": a(RigidBody),
    "friction": a(JointFriction),
    "limits": a(LegLimits),
    "drive": a(Drive),
    "spring": a(Spring),
}


@dataclass(frozen=True)
class Leg:
    """One leg: two bodies joined by a prismatic actuator, a joint to the base and one to the platform.

    Attributes:
        name: for messages and for the joint's name in ROS.
        base_point: (3,) centre of the base joint, base frame [m].
        platform_point: (3,) centre of the spherical joint, platform frame [m].
        universal_axis: (3,) unit vector of the universal joint's fixed axis, base frame; None when the base
            joint is spherical too.
        lower: the part that carries the base joint; from the base point, leg axes.
        upper: the part that carries the platform joint; from the platform point, leg axes.
        friction: of the three joints.
        limits: of length, speed, force and joint angles.
        drive: what turns in its actuator.
        spring: the counterbalance beside its actuator.
    """

    name: str
    base_point: Array
    platform_point: Array
    universal_axis: Array | None
    lower: RigidBody
    upper: RigidBody
    friction: JointFriction
    limits: LegLimits
    drive: Drive = NO_DRIVE
    spring: Spring = NO_SPRING

    def __post_init__(self) -> None:
        check_fields(self, _LEG)


_MACHINE = {
    "name": text,
    "gravity": numbers(3),
    "platform": a(RigidBody),
    "legs": several(a(Leg), LEG_COUNT, LEG_COUNT),
    "home_position": numbers(3),
    "home_rotation": numbers(3, 3),
    "characteristic_length": positive,
    "condition_limit": positive,
    "guessed": several(text),
}


@dataclass(frozen=True)
class Machine:
    """A Stewart platform.

    Attributes:
        name: of the machine.
        gravity: (3,) gravitational acceleration, base frame [m/s²].
        platform: the platform with its payload, platform frame.
        legs: the six legs; every (6,) array follows this order.
        home_position: (3,) of the platform frame's origin at home, base frame [m].
        home_rotation: (3, 3) from the platform frame to the base frame at home.
        characteristic_length: divides moments where they are compared with forces [m].
        condition_limit: greatest condition number (with the characteristic length) that is worked with.
        guessed: parts in :data:`GUESSED` that nobody has measured. A controller does not compensate friction
            that is guessed.
    """

    name: str
    gravity: Array
    platform: RigidBody
    legs: tuple[Leg, ...]
    home_position: Array
    home_rotation: Array
    characteristic_length: float
    condition_limit: float
    guessed: tuple[str, ...] = ()
    base_points: Array = field(init=False, repr=False)
    platform_points: Array = field(init=False, repr=False)
    home_directions: Array = field(init=False, repr=False)
    universal_axes: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self, _MACHINE)
        if unknown := sorted(set(self.guessed) - set(GUESSED)):
            raise ModelError(f"guessed has {quoted(unknown[0])}; known are {', '.join(GUESSED)}")
        base = np.array([leg.base_point for leg in self.legs])
        platform = np.array([leg.platform_point for leg in self.legs])
        with np.errstate(over="ignore", invalid="ignore"):  # reported by name below
            leg_vectors = self.home_position + platform @ self.home_rotation.T - base
            lengths = np.linalg.norm(leg_vectors, axis=1)
        for leg, length in zip(self.legs, lengths, strict=True):
            if not 0.0 < length < np.inf:
                raise ModelError(f"leg {quoted(leg.name)} of a Machine has the length {length:g} m at home")
        directions = leg_vectors / lengths[:, None]
        axes = np.array(
            [
                _any_perpendicular(direction) if leg.universal_axis is None else leg.universal_axis
                for leg, direction in zip(self.legs, directions, strict=True)
            ]
        )
        object.__setattr__(self, "base_points", base)
        object.__setattr__(self, "platform_points", platform)
        object.__setattr__(self, "home_directions", directions)
        object.__setattr__(self, "universal_axes", axes)

    @property
    def leg_names(self) -> tuple[str, ...]:
        """Names of the legs: the order of every (6,) array."""
        return tuple(leg.name for leg in self.legs)


def _any_perpendicular(direction: Array) -> Array:
    """A unit vector across ``direction``: the axes of a leg that may spin are free to choose."""
    least = np.eye(3)[int(np.argmin(np.abs(direction)))]
    across = np.cross(direction, least)
    return np.asarray(across / np.linalg.norm(across))
