"""The exact actuator forces with few operations, written once for any scalar.

With numbers it computes, with intervals it bounds; with expressions it is counted and generated. It is
another way to the forces of ``newton_euler``'s exact model, on regrouped parameters.

Each leg is seen in cylindrical coordinates about the fixed axis k of its universal joint: r points from the
axis to the platform point, t = k × r. With the distance D from the axis and the height e along it,

    S = D r + e k,   L² = D² + e²,   W = a' k + b' t,   A = a'' k + b'' t - a' b' r,

a' and b' being the rates of the universal joint's two axes. The joint carries a moment about neither k nor t,
so the moments Q_k and Q_t of the leg about them give the force across the leg; what remains unknown is the
force along it. All unknown forces enter as multiples of S, the leg vector.

Six equations for them: moments about the three edges of a triangle of base points, each of which two legs
meet, so that three unknowns are expressed by the others at once; then two forces and a moment. The only
divisors are lengths, the distances D, the heights of three legs above the triangle's plane, and the
determinant that vanishes in singular poses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.codegen.expression import sqrt
from robot_dynamics.dynamics.friction import direction
from robot_dynamics.spatial import Array, cross_entries, quaternion_rows
from robot_dynamics.stewart.regrouping import LegParameters, Parameters
from robot_dynamics.stewart.scalar_algebra import (
    Matrix,
    Scalar,
    Vector,
    add,
    dot,
    flat,
    product,
    subtract,
    times,
    transpose,
)
from robot_dynamics.stewart.wrench_distribution import wrench_distribution

Keep = Callable[[str, Sequence[Any]], None]


@dataclass(frozen=True)
class PlatformInputs:
    """Motion and load, as three sequences of scalars per field (four for the quaternion x, y, z, w)."""

    position: Vector
    orientation: Vector
    linear_velocity: Vector
    angular_velocity: Vector
    linear_acceleration: Vector
    angular_acceleration: Vector
    force: Vector
    torque: Vector


@dataclass(frozen=True)
class LegLoad:
    """Load of one leg: it pulls the platform by ``share``·S + ``force``, ``share`` being unknown.

    Attributes:
        vector: S.
        force: known force of the platform on the leg, base frame.
        moment: friction moment of the platform on the leg without the part from the platform's rotation.
        length: L.
        offset: the actuator force is ``length * (offset - share) + actuator``.
        actuator: see ``offset``.
    """

    vector: Vector
    force: Vector
    moment: Vector
    length: Scalar
    offset: Scalar
    actuator: Scalar


def actuator_forces(
    parameters: Parameters, inputs: PlatformInputs, keep: Keep = lambda part, values: None
) -> list[Scalar]:
    """The six actuator forces, positive when the leg pushes [N].

    Args:
        parameters: of the machine.
        inputs: motion and load.
        keep: called with "platform" and "legs" and the scalars that this part hands on.
    """
    rotation = quaternion_rows(inputs.orientation)
    w, alpha = inputs.angular_velocity, inputs.angular_acceleration
    turned = transpose(rotation)
    # What takes arms, in the platform frame, to accelerations: there, and in the base frame.
    local_bending = _acceleration_matrix(times(turned, w), times(turned, alpha))
    bending = product(rotation, local_bending)
    # With the platform's origin as reference point the arm is zero and folds away.
    arm = times(rotation, parameters.reference_arm)
    point = add(inputs.position, arm)
    velocity = add(inputs.linear_velocity, cross_entries(w, arm))
    acceleration = add(inputs.linear_acceleration, times(bending, parameters.reference_arm))
    force, moment = _platform_load(parameters, inputs, rotation, local_bending, acceleration)
    keep("platform", [*point, *velocity, *acceleration, *force, *moment, *flat(rotation), *flat(bending)])

    loads, arms = [], []
    for leg in parameters.legs:
        leg_arm = times(rotation, leg.arm)
        load = _leg_load(
            leg,
            parameters.gravity,
            vector=add(leg_arm, subtract(point, leg.base_point)),
            rate=add(velocity, cross_entries(w, leg_arm)),
            acceleration=add(acceleration, times(bending, leg.arm)),
            angular_velocity=w,
        )
        force = subtract(force, load.force)
        moment = add(subtract(moment, cross_entries(leg_arm, load.force)), load.moment)
        loads.append(load)
        arms.append(leg_arm)
    rub = sum(leg.friction[2] for leg in parameters.legs)
    moment = subtract(moment, [rub * x for x in w])
    keep(
        "legs", [*force, *moment, *(x for load in loads for x in (*load.vector, load.length, load.actuator))]
    )

    shares = wrench_distribution(parameters, [load.vector for load in loads], point, force, moment)
    return [
        load.length * (load.offset - share) + load.actuator for load, share in zip(loads, shares, strict=True)
    ]


def _platform_load(
    parameters: Parameters, inputs: PlatformInputs, rotation: Matrix, bending: Matrix, acceleration: Vector
) -> tuple[list[Scalar], list[Scalar]]:
    """External less inertial force and moment about the reference point, base frame."""
    first = parameters.first_moment
    lift = subtract(acceleration, parameters.gravity)
    local_lift = times(transpose(rotation), lift)
    # The wrench is given about the platform's origin; the moment is wanted about the reference point.
    torque = subtract(inputs.torque, cross_entries(parameters.reference_arm, inputs.force))
    spin = _axial(bending, parameters.second_moment)
    force = times(rotation, subtract(inputs.force, times(bending, first)))
    moment = times(rotation, subtract(subtract(torque, spin), cross_entries(first, local_lift)))
    return subtract(force, [parameters.mass * x for x in lift]), moment


def _leg_load(
    leg: LegParameters,
    gravity: Array,
    vector: Vector,
    rate: Vector,
    acceleration: Vector,
    angular_velocity: Vector,
) -> LegLoad:
    k, dd, e, tangent, along = _cylinder(leg, vector)
    radial_rate, a, e_rate = along(rate)
    radial_acc, tangential_acc, e_acc = along(acceleration)
    radial_g, tangential_g, g_k = along(leg.weight_direction)
    length, distance = sqrt(dd + e * e), sqrt(dd)
    per_dd, per_length = 1.0 / dd, 1.0 / length
    per_distance = distance * per_dd
    cosine, sine = distance * per_length, e * per_length
    tilt = cosine * per_length
    # Rates of the universal joint: a about k, b about t.
    b = tilt * (e * radial_rate - e_rate)
    b2 = b + b
    aa, bb, ab2 = a * a, b * b, a * b2
    coriolis = radial_rate * a
    a_acc = tangential_acc - (coriolis + coriolis)
    stretch = radial_acc + aa
    sliding = (dd * radial_rate + e * e_rate) * per_length
    b_acc = tilt * (e * stretch - e_acc) - sliding * per_length * b2
    # Moments of the leg's rotation about k and t: inertia about k, and half its derivative by the elevation.
    inertia = leg.inertia
    cc, cs = cosine * cosine, cosine * sine
    excess, mixed = inertia[2, 2] - inertia[0, 0], inertia[0, 2]
    i_kk = inertia[0, 0] + (cc * excess + cs * (2.0 * mixed))
    i_kk_half_rate = cs * excess - cc * (2.0 * mixed) + mixed
    i_kt = sine * inertia[0, 1] + cosine * inertia[1, 2]
    i_kt_rate = sine * inertia[1, 2] - cosine * inertia[0, 1]
    q_k = i_kk * a_acc + i_kt * b_acc + ab2 * i_kk_half_rate + bb * i_kt_rate
    q_t = inertia[1, 1] * b_acc + i_kt * a_acc - aa * i_kk_half_rate
    # Friction of the base joint and of the spherical joint.
    universal, prismatic, spherical = leg.friction
    rub = spherical * distance
    q_k = q_k + ((universal + spherical) * a - dot(spherical * k, angular_velocity))
    q_t = q_t + ((universal + spherical) * b - rub * dot(tangent, angular_velocity))
    moment = add([(rub * b) * x for x in tangent], [a * x for x in spherical * k])
    # First moments along r, t and k: of the upper part, and of both for gravity.
    h_r, h_t, h_k = _unturned(leg.moving_moment, cosine, sine)
    m_r, m_t, m_k = _unturned(leg.weight_moment, cosine, sine)
    # Inertial force of the upper part's first moment along r (one per D) and, negative, along k.
    force_r = per_distance * (b_acc * h_k - a_acc * h_t - (aa + bb) * h_r)
    force_k = b_acc * h_r + bb * h_k
    across = (
        h_r * (tangential_acc + a_acc) - h_t * stretch + ab2 * h_k - (m_r * tangential_g - m_t * radial_g)
    )
    along_t = distance * across + q_k
    lean = per_distance * (q_t - h_r * e_acc + m_r * g_k) + (h_k * radial_acc - m_k * radial_g)
    along_k = force_k + lean + e * force_r
    force = subtract([along_t * x for x in tangent], [along_k * x for x in k])
    if leg.tip_mass != 0.0:
        force = add(force, [leg.tip_mass * x for x in subtract(acceleration, gravity)])
    actuator = prismatic * sliding + sine * lean
    if leg.coulomb != 0.0:
        actuator = actuator + leg.coulomb * direction(sliding)
    if leg.reflected_mass != 0.0:
        lengthening = (dd * radial_acc + e * e_acc) * per_length + length * (bb + cc * aa)
        actuator = actuator + leg.reflected_mass * lengthening
    push, stiffness = leg.spring
    actuator = actuator + stiffness * length - push
    return LegLoad(vector, force, moment, length, force_r, actuator)


def _cylinder(
    leg: LegParameters, vector: Vector
) -> tuple[Array, Scalar, Scalar, list[Scalar], Callable[[Vector], list[Scalar]]]:
    """Cylindrical coordinates about k of the leg vector.

    Returns:
        k, D², e, the vector t/D in the base frame, and what takes a vector of the base frame to its radial
        and tangential components per D, and its component along k.
    """
    if np.all(leg.frame[2] != 0.0):
        k = leg.frame[2]
        e = dot(k, vector)
        radial = subtract(vector, [e * x for x in k])
        dd = dot(radial, radial)
        per_dd = 1.0 / dd
        radial = [x * per_dd for x in radial]
        tangent = cross_entries(k, radial)
        return k, dd, e, tangent, lambda v: times([radial, tangent, k], v)
    # With a zero in k, two more axes with zeros make a cheaper frame.
    e1, e2, k = leg.frame
    x1, x2, e = times(leg.frame, vector)
    dd = x1 * x1 + x2 * x2
    per_dd = 1.0 / dd
    u1, u2 = x1 * per_dd, x2 * per_dd

    def along(v: Vector) -> list[Scalar]:
        v1, v2, v3 = times(leg.frame, v)
        return [u1 * v1 + u2 * v2, u1 * v2 - u2 * v1, v3]

    return k, dd, e, subtract([u1 * x for x in e2], [u2 * x for x in e1]), along


def _unturned(moment: Array, cosine: Scalar, sine: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """A vector of leg axes along r, t and k."""
    x, y, z = moment
    return cosine * x - sine * z, y, sine * x + cosine * z


def _acceleration_matrix(w: Vector, alpha: Vector) -> list[list[Scalar]]:
    """The matrix that takes arms to accelerations: skew(alpha) + skew(w)²."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        [-(yy + zz), xy - alpha[2], xz + alpha[1]],
        [xy + alpha[2], -(xx + zz), yz - alpha[0]],
        [xz - alpha[1], yz + alpha[0], -(xx + yy)],
    ]


def _axial(bending: Matrix, second: Array) -> list[Scalar]:
    """∫ r × (bending·r) dm from the second moment ∫ r rᵀ dm."""
    x, y, z = (times(second, row) for row in bending)
    return [z[1] - y[2], x[2] - z[0], y[0] - x[1]]
