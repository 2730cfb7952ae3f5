"""The exact actuator forces with few operations, written once for any scalar.

With numbers, or arrays of numbers for many states at once, it computes; with expressions it is counted and
generated. It is another way to the forces of ``newton_euler``'s exact model, on regrouped parameters.

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
from typing import Any, TypeAlias

import numpy as np

from robot_dynamics.codegen.expression import sqrt
from robot_dynamics.spatial import Array, cross_entries, quaternion_rows
from robot_dynamics.stewart.regrouping import LegParameters, Parameters

Scalar: TypeAlias = Any
Vector: TypeAlias = Sequence[Any] | Array
Matrix: TypeAlias = Sequence[Sequence[Any]] | Array
Keep = Callable[[str, Sequence[Any]], None]


@dataclass(frozen=True)
class Inputs:
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
    """What a leg contributes: it pulls the platform by ``share``·S + ``force``, ``share`` being unknown.

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
    parameters: Parameters, inputs: Inputs, keep: Keep = lambda part, values: None
) -> list[Scalar]:
    """The six actuator forces, positive when the leg pushes [N].

    Args:
        parameters: of the machine.
        inputs: motion and load.
        keep: called with "platform" and "legs" and the scalars that this part hands on.
    """
    rotation = quaternion_rows(inputs.orientation)
    w, alpha = inputs.angular_velocity, inputs.angular_acceleration
    turned = _transpose(rotation)
    # What takes arms, in the platform frame, to accelerations: there, and in the base frame.
    local_bending = _acceleration_matrix(_times(turned, w), _times(turned, alpha))
    bending = _product(rotation, local_bending)
    # With the platform's origin as reference point the arm is zero and folds away.
    arm = _times(rotation, parameters.reference_arm)
    point = _add(inputs.position, arm)
    velocity = _add(inputs.linear_velocity, cross_entries(w, arm))
    acceleration = _add(inputs.linear_acceleration, _times(bending, parameters.reference_arm))
    force, moment = _platform_load(parameters, inputs, rotation, local_bending, acceleration)
    keep("platform", [*point, *velocity, *acceleration, *force, *moment, *_flat(rotation), *_flat(bending)])

    loads, arms = [], []
    for leg in parameters.legs:
        leg_arm = _times(rotation, leg.arm)
        load = _leg_load(
            leg,
            parameters.gravity,
            vector=_add(leg_arm, _subtract(point, leg.base_point)),
            rate=_add(velocity, cross_entries(w, leg_arm)),
            acceleration=_add(acceleration, _times(bending, leg.arm)),
            angular_velocity=w,
        )
        force = _subtract(force, load.force)
        moment = _add(_subtract(moment, cross_entries(leg_arm, load.force)), load.moment)
        loads.append(load)
        arms.append(leg_arm)
    rub = sum(leg.friction[2] for leg in parameters.legs)
    moment = _subtract(moment, [rub * x for x in w])
    keep(
        "legs", [*force, *moment, *(x for load in loads for x in (*load.vector, load.length, load.actuator))]
    )

    shares = leg_shares(parameters, [load.vector for load in loads], point, force, moment)
    return [
        load.length * (load.offset - share) + load.actuator for load, share in zip(loads, shares, strict=True)
    ]


def _platform_load(
    parameters: Parameters, inputs: Inputs, rotation: Matrix, bending: Matrix, acceleration: Vector
) -> tuple[list[Scalar], list[Scalar]]:
    """External less inertial force and moment about the reference point, base frame."""
    first = parameters.first_moment
    lift = _subtract(acceleration, parameters.gravity)
    local_lift = _times(_transpose(rotation), lift)
    # The wrench is given about the platform's origin; the moment is wanted about the reference point.
    torque = _subtract(inputs.torque, cross_entries(parameters.reference_arm, inputs.force))
    spin = _axial(bending, parameters.second_moment)
    force = _times(rotation, _subtract(inputs.force, _times(bending, first)))
    moment = _times(rotation, _subtract(_subtract(torque, spin), cross_entries(first, local_lift)))
    return _subtract(force, [parameters.mass * x for x in lift]), moment


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
    q_k = q_k + ((universal + spherical) * a - _dot(spherical * k, angular_velocity))
    q_t = q_t + ((universal + spherical) * b - rub * _dot(tangent, angular_velocity))
    moment = _add([(rub * b) * x for x in tangent], [a * x for x in spherical * k])
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
    force = _subtract([along_t * x for x in tangent], [along_k * x for x in k])
    if leg.tip_mass != 0.0:
        force = _add(force, [leg.tip_mass * x for x in _subtract(acceleration, gravity)])
    return LegLoad(vector, force, moment, length, force_r, prismatic * sliding + sine * lean)


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
        e = _dot(k, vector)
        radial = _subtract(vector, [e * x for x in k])
        dd = _dot(radial, radial)
        per_dd = 1.0 / dd
        radial = [x * per_dd for x in radial]
        tangent = cross_entries(k, radial)
        return k, dd, e, tangent, lambda v: _times([radial, tangent, k], v)
    # With a zero in k, two more axes with zeros make a cheaper frame.
    e1, e2, k = leg.frame
    x1, x2, e = _times(leg.frame, vector)
    dd = x1 * x1 + x2 * x2
    per_dd = 1.0 / dd
    u1, u2 = x1 * per_dd, x2 * per_dd

    def along(v: Vector) -> list[Scalar]:
        v1, v2, v3 = _times(leg.frame, v)
        return [u1 * v1 + u2 * v2, u1 * v2 - u2 * v1, v3]

    return k, dd, e, _subtract([u1 * x for x in e2], [u2 * x for x in e1]), along


def leg_shares(
    parameters: Parameters, vectors: Sequence[Vector], point: Vector, force: Vector, moment: Vector
) -> list[Scalar]:
    """The multiples of the leg vectors that balance a wrench.

    Args:
        parameters: of the machine; the triangle and the base points are used.
        vectors: the six leg vectors S.
        point: where ``moment`` is counted from.
        force: that the platform exerts on the legs.
        moment: the same about ``point``.
    """
    a, b, c = parameters.triangle
    others = [leg for leg in range(len(vectors)) if leg not in parameters.triangle]
    origin = parameters.legs[a].base_point
    base = [leg.base_point - origin for leg in parameters.legs]
    area = np.cross(base[b], base[c])
    size = float(np.linalg.norm(area))
    normal = area / size
    # The edge opposite a, b and c: its direction, and one of its points.
    edges = [((base[c] - base[b]) / size, base[b]), (-base[c] / size, base[a]), (base[b] / size, base[a])]
    moment = _add(moment, cross_entries(_subtract(point, origin), force))
    # X = (normal·S)·share of a, b, c by the moment about the opposite edge.
    # The three edges close: what holds about the first follows from the others and from the forces along the
    # normal, which is cheaper where the normal has more zeros than the lever.
    about_b, about_c = (_dot(direction, moment) for direction, _ in edges[1:])
    known = [_dot(normal, force) - about_b - about_c, about_b, about_c]
    linked = []
    for j in others:
        levers = [np.cross(direction, base[j] - start) for direction, start in edges]
        rest_b, rest_c = _dot(levers[1], vectors[j]), _dot(levers[2], vectors[j])
        direct = np.count_nonzero(levers[0]) <= np.count_nonzero(normal)
        rest_a = _dot(levers[0], vectors[j]) if direct else _dot(normal, vectors[j]) - rest_b - rest_c
        linked.append([rest_a, rest_b, rest_c])
    linked = _transpose(linked)
    per_height = [1.0 / _dot(normal, vectors[leg]) for leg in (a, b, c)]
    # The axis nearest to the normal, and the two forces across it.
    z = int(np.argmax(np.abs(normal)))
    x, y = (z + 1) % 3, (z + 2) % 3

    def column(leg: int, f_x: Scalar, f_y: Scalar) -> list[Scalar]:
        return [f_x, f_y, base[leg][x] * f_y - base[leg][y] * f_x]

    unit = [
        column(leg, vectors[leg][x] * per, vectors[leg][y] * per)
        for leg, per in zip((a, b, c), per_height, strict=True)
    ]
    columns = [column(j, vectors[j][x], vectors[j][y]) for j in others]
    right = [force[x], force[y], moment[z]]
    for u, value, row in zip(unit, known, linked, strict=True):
        columns = [
            [entry - coefficient * u_i for entry, u_i in zip(col, u, strict=True)]
            for col, coefficient in zip(columns, row, strict=True)
        ]
        right = [entry - value * u_i for entry, u_i in zip(right, u, strict=True)]
    solved = _solve3(columns, right)
    shares: list[Scalar] = [None] * len(vectors)
    for j, share in zip(others, solved, strict=True):
        shares[j] = share
    for leg, value, row, per in zip((a, b, c), known, linked, per_height, strict=True):
        shares[leg] = (value - _dot(row, solved)) * per
    return shares


def _solve3(columns: Sequence[Vector], right: Vector) -> list[Scalar]:
    """Three unknowns by minors of the first two rows: nothing but the determinant is divided by."""
    u, v, w = columns

    def minor(p: Vector, q: Vector) -> Scalar:
        return p[0] * q[1] - p[1] * q[0]

    uv, uw, vw = minor(u, v), minor(u, w), minor(v, w)
    ur, vr, wr = minor(u, right), minor(v, right), minor(w, right)
    per_determinant = 1.0 / (u[2] * vw - v[2] * uw + w[2] * uv)
    return [
        (right[2] * vw + v[2] * wr - w[2] * vr) * per_determinant,
        (w[2] * ur - u[2] * wr - right[2] * uw) * per_determinant,
        (right[2] * uv + u[2] * vr - v[2] * ur) * per_determinant,
    ]


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
    x, y, z = (_times(second, row) for row in bending)
    return [z[1] - y[2], x[2] - z[0], y[0] - x[1]]


def _dot(a: Vector, b: Vector) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _add(a: Vector, b: Vector) -> list[Scalar]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _subtract(a: Vector, b: Vector) -> list[Scalar]:
    return [x - y for x, y in zip(a, b, strict=True)]


def _times(matrix: Matrix, vector: Vector) -> list[Scalar]:
    return [_dot(row, vector) for row in matrix]


def _product(a: Matrix, b: Matrix) -> list[list[Scalar]]:
    columns = _transpose(b)
    return [_times(columns, row) for row in a]


def _transpose(matrix: Matrix) -> list[list[Scalar]]:
    return [list(row) for row in zip(*matrix, strict=True)]


def _flat(matrix: Matrix) -> list[Scalar]:
    return [x for row in matrix for x in row]
