"""Newton-Euler inverse dynamics of the Stewart platform, body by body.

Dasgupta and Mruthyunjaya 1998, whose equation numbers and letters stand beside the lines; written for batches
(leading axes are kept). Two models:

- ``exact``: the published equations with two errors mended. (1) A universal joint with fixed axis k and
  moving axis y lets the leg turn about k and y; what it blocks, and where its constraint moment acts, is the
  direction n = k × y, not the leg's axis s. (2) The inertia of the upper part enters about its centre of
  mass, because the moment of its inertial force m·r × a is already there.
- ``published``: as printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from robot_dynamics.errors import ParameterError, SingularityError
from robot_dynamics.inputs.records import check_arrays
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array, cross
from robot_dynamics.stewart.actuators import passive_forces
from robot_dynamics.stewart.kinematics import LegGeometry, leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.physical import LOCKED_SINE

Model = Literal["exact", "published"]


@dataclass(frozen=True)
class Reactions:
    """Joint reactions, base frame, (..., 6, 3) each.

    Attributes:
        spherical_force: of the platform on the upper part, at the platform point, F_s [N].
        prismatic_force: constraint force of the lower on the upper part, across the leg, F_c [N].
        prismatic_moment: constraint moment of the lower on the upper part, M_p [N·m]; the prismatic force and
            the actuator force are then thought of as acting at the base point.
        universal_force: of the base on the lower part, at the base point, F_u [N].
        universal_moment: constraint moment of the base on the lower part [N·m].
    """

    spherical_force: Array
    prismatic_force: Array
    prismatic_moment: Array
    universal_force: Array
    universal_moment: Array

    def __post_init__(self) -> None:
        check_arrays(self, *self.__dataclass_fields__)


@dataclass(frozen=True)
class LegMotion:
    """Motion of the legs, base frame, (..., 6, 3) or (..., 6).

    Attributes:
        axes: (..., 6, 3, 3) leg axes as columns, T (eq. 10).
        blocked: direction in which the base joint carries a moment: n (exact) or s (published).
        sliding_velocity: rate of the length, dL/dt [m/s].
        sliding_acceleration: second rate of the length [m/s²].
        angular_velocity: of both parts, W [rad/s].
        angular_acceleration: of both parts, A [rad/s²].
    """

    axes: Array
    blocked: Array
    sliding_velocity: Array
    sliding_acceleration: Array
    angular_velocity: Array
    angular_acceleration: Array


@dataclass(frozen=True)
class Balance:
    """Loads of the legs in a motion, before the actuator forces are solved for.

    Attributes:
        legs: positions of the legs.
        motion: motion of the legs.
        wrench: (..., 6) that the actuator forces must exert together, force and moment about the platform's
            origin, base frame: ``jacobian.T @ actuator_forces`` [N, N·m].
        static_wrench: the same with massless legs and frictionless joints, the springs at work.
        axial: (..., 6) actuator force plus spherical force along the leg, D (eq. 24) [N].
        across: (..., 6, 3) spherical force across the leg, K (eq. 21) [N].
        inertial_upper: (..., 6, 3) mass times acceleration less gravity of the upper part [N].
        inertial_lower: the same of the lower part [N].
        moment_upper: (..., 6, 3) moment about the base point that moves the upper part, friction at the
            spherical joint included [N·m].
        universal_moment: constraint moment of the base joint [N·m].
        passive: (..., 6, 3) what friction, spring and turning drive do along the leg, on the lower part [N].
    """

    legs: LegGeometry
    motion: LegMotion
    wrench: Array
    static_wrench: Array
    axial: Array
    across: Array
    inertial_upper: Array
    inertial_lower: Array
    moment_upper: Array
    universal_moment: Array
    passive: Array

    def solve(self) -> tuple[Array, Array]:
        """Actuator forces (..., 6) [N], and those with massless legs and frictionless joints, F_0 (eq. 41).

        Raises:
            SingularityError: no forces can hold the platform.
        """
        transposed = np.swapaxes(self.legs.jacobian, -1, -2)  # H, eq. 36
        try:
            both = np.linalg.solve(transposed, np.stack([self.wrench, self.static_wrench], axis=-1))
        except np.linalg.LinAlgError as error:
            raise SingularityError("the platform is in a singular pose: no leg forces can hold it") from error
        return np.asarray(both[..., 0]), np.asarray(both[..., 1])

    def reactions(self, actuator_forces: Array) -> Reactions:
        """Joint reactions (section 3.3) under the given actuator forces (..., 6) [N]."""
        s = self.legs.directions
        spherical = (self.axial - actuator_forces)[..., None] * s + self.across  # eqs. 21, 24
        prismatic = self.inertial_upper - spherical + self.passive  # eq. 26
        return Reactions(
            spherical_force=spherical,
            prismatic_force=prismatic - actuator_forces[..., None] * s,  # eq. 28
            prismatic_moment=self.moment_upper - cross(self.legs.vectors, spherical),  # eq. 18
            universal_force=self.inertial_lower + prismatic - self.passive,  # eq. 25
            universal_moment=self.universal_moment,  # eq. 29
        )


def leg_motion(machine: Machine, legs: LegGeometry, platform: Motion, model: Model) -> LegMotion:
    """Velocities and accelerations of the legs (eqs. 4-10).

    Raises:
        SingularityError: a leg lies along the fixed axis of its universal joint.
    """
    s, length = legs.directions, legs.lengths[..., None]
    w, alpha = platform.angular_velocity[..., None, :], platform.angular_acceleration[..., None, :]
    swing = cross(w, legs.arms)
    rate = platform.linear_velocity[..., None, :] + swing  # eq. 4
    acceleration = (
        platform.linear_acceleration[..., None, :] + cross(alpha, legs.arms) + cross(w, swing)
    )  # eq. 7
    k = machine.universal_axes
    y = cross(k, s)
    sine = np.linalg.norm(y, axis=-1, keepdims=True)
    _check_locked(machine, sine[..., 0])
    y = y / sine
    n = cross(k, y)
    axes = np.stack([s, y, cross(s, y)], axis=-1)  # eq. 10
    sliding = _dot(s, rate)  # eq. 5
    across = cross(s, rate) / length  # eq. 6
    if model == "published":
        turning = across
        sliding_acceleration = _dot(s, acceleration) + length * _dot(turning, turning)  # eq. 8
        turning_acceleration = (cross(s, acceleration) - 2.0 * sliding * turning) / length  # eq. 9
        return LegMotion(
            axes, s, sliding[..., 0], sliding_acceleration[..., 0], turning, turning_acceleration
        )
    free = np.array([leg.universal_axis is None for leg in machine.legs])[:, None]
    # The base joint forbids turning about n; a leg with spherical joints at both ends is taken without spin.
    spin = np.where(free, 0.0, -_dot(across, n) / _dot(s, n))
    turning = across + spin * s
    sliding_acceleration = _dot(s, acceleration) + length * _dot(across, across)
    across_acceleration = (cross(s, acceleration) - 2.0 * sliding * across) / length + spin * cross(across, s)
    # n is fixed in the cross of the joint, which turns about k alone.
    n_rate = cross(_dot(turning, k) * k, n)
    spin_acceleration = np.where(
        free, 0.0, -(_dot(across_acceleration, n) + _dot(turning, n_rate)) / _dot(s, n)
    )
    return LegMotion(
        axes,
        np.where(free, 0.0, n),
        sliding[..., 0],
        sliding_acceleration[..., 0],
        turning,
        across_acceleration + spin_acceleration * s,
    )


def balance(machine: Machine, platform: Motion, model: Model = "exact") -> Balance:
    """Loads of the legs in a motion (sections 2.2 to 3.2).

    Raises:
        ParameterError: an unknown model.
        SingularityError: a universal joint is locked.
    """
    if model not in ("exact", "published"):
        raise ParameterError(f"the model is {model!r}; it must be 'exact' or 'published'")
    legs = leg_geometry(machine, platform.position, platform.rotation)
    motion = leg_motion(machine, legs, platform, model)
    s, length, gravity = legs.directions, legs.lengths[..., None], machine.gravity
    w, big_w, big_a = (
        platform.angular_velocity[..., None, :],
        motion.angular_velocity,
        motion.angular_acceleration,
    )
    sliding, sliding_acc = motion.sliding_velocity[..., None], motion.sliding_acceleration[..., None]
    friction_u, friction_s = np.array(
        [[leg.friction.universal, leg.friction.spherical] for leg in machine.legs]
    ).T[..., None]
    mass_d, r_d, inertia_d = _bodies([leg.lower for leg in machine.legs], motion.axes)
    mass_u, r_u, inertia_u = _bodies([leg.upper for leg in machine.legs], motion.axes)
    r_u = r_u + legs.vectors  # eq. 12
    acc_d = cross(big_a, r_d) + cross(big_w, cross(big_w, r_d))  # eq. 13
    acc_u = (
        sliding_acc * s
        + cross(big_a, r_u)
        + cross(big_w, cross(big_w, r_u))
        + 2.0 * sliding * cross(big_w, s)
    )  # eq. 14
    if model == "published":
        across = np.eye(3) - s[..., :, None] * s[..., None, :]
        inertia_u = inertia_u + (mass_u * length**2)[..., None] * across  # eq. 16
    rub_s = friction_s * (big_w - w)  # f
    # Moments about the base point that the lower part, and the upper part, ask for.
    moment_d = mass_d * cross(r_d, acc_d - gravity) + _spin_rate(inertia_d, big_w, big_a) + friction_u * big_w
    moment_u = mass_u * cross(r_u, acc_u - gravity) + _spin_rate(inertia_u, big_w, big_a) + rub_s
    c = moment_d + moment_u  # eq. 20
    # M_u·n + S × F_s = C: the component along s gives M_u, the rest F_s but for its part x along the leg.
    n = motion.blocked
    along = _dot(s, n)
    m_u = np.divide(_dot(s, c), along, out=np.zeros_like(along), where=along != 0.0)
    k = cross(c - m_u * n, s) / length  # eq. 21
    resistance, spring = passive_forces(
        machine, legs.lengths, motion.sliding_velocity, motion.sliding_acceleration
    )
    d = mass_u[..., 0] * _dot(s, acc_u - gravity)[..., 0] + resistance - spring  # eq. 24

    own = _platform_wrench(machine, platform)
    load = own - _wrench(k, cross(legs.arms, k) - rub_s)
    pushed = (legs.jacobian * d[..., None]).sum(axis=-2)
    return Balance(
        legs=legs,
        motion=motion,
        wrench=pushed - load,  # H·F = H·D - c
        static_wrench=-own - (legs.jacobian * spring[..., None]).sum(axis=-2),
        axial=d,
        across=k,
        inertial_upper=mass_u * (acc_u - gravity),
        inertial_lower=mass_d * (acc_d - gravity),
        moment_upper=moment_u,
        universal_moment=m_u * n,
        passive=(resistance - spring)[..., None] * s,
    )


def _platform_wrench(machine: Machine, platform: Motion) -> Array:
    """External less inertial wrench of the platform about its origin, base frame (eqs. 30-34)."""
    rotation, body = platform.rotation, machine.platform
    w, alpha = platform.angular_velocity, platform.angular_acceleration
    arm = rotation @ body.center_of_mass
    acceleration = platform.linear_acceleration + cross(alpha, arm) + cross(w, cross(w, arm))
    inertia = rotation @ body.inertia @ np.swapaxes(rotation, -1, -2)  # eq. 32
    external_force = (rotation @ platform.force[..., None])[..., 0]
    external_torque = (rotation @ platform.torque[..., None])[..., 0]
    weight = body.mass * (machine.gravity - acceleration)
    torque = cross(arm, weight) - _spin_rate(inertia, w, alpha) + external_torque
    return np.concatenate([external_force + weight, torque], axis=-1)


def _wrench(forces: Array, moments: Array) -> Array:
    return np.concatenate([forces.sum(axis=-2), moments.sum(axis=-2)], axis=-1)


def _bodies(bodies: Sequence[RigidBody], axes: Array) -> tuple[Array, Array, Array]:
    """Masses (6, 1), centres of mass and inertias in the base frame (eqs. 11, 15)."""
    mass = np.array([body.mass for body in bodies])[:, None]
    center = np.array([body.center_of_mass for body in bodies])
    inertia = np.array([body.inertia for body in bodies])
    return mass, (axes @ center[..., None])[..., 0], axes @ inertia @ np.swapaxes(axes, -1, -2)


def _spin_rate(inertia: Array, velocity: Array, acceleration: Array) -> Array:
    """I·A + W × I·W: what Euler's equation asks for."""
    momentum = (inertia @ velocity[..., None])[..., 0]
    return np.asarray((inertia @ acceleration[..., None])[..., 0] + cross(velocity, momentum))


def _dot(a: Array, b: Array) -> Array:
    return np.asarray((a * b).sum(axis=-1, keepdims=True))


def _check_locked(machine: Machine, sine: Array) -> None:
    least = sine.reshape(-1, sine.shape[-1]).min(axis=0, initial=np.inf)
    for name, leg, value in zip(machine.leg_names, machine.legs, least, strict=True):
        if leg.universal_axis is not None and value < LOCKED_SINE:
            raise SingularityError(
                f"{name} lies along the fixed axis of its universal joint (sine of the angle {value:.1e}):"
                " the joint is locked"
            )
