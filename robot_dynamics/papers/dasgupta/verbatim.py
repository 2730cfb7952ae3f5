"""The published equations as they stand, with every operation counted as Matlab's ``flops`` counted it.

Equations (1) to (37) without friction, which section 4.5 leaves out too. Two counts are kept: the scalar
operations that a product takes, and Matlab's rule of 2 m n k for the product of an m x k and a k x n matrix.
A square root and a division count 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Leg, Machine
from robot_dynamics.stewart.motion import Motion


@dataclass
class Flops:
    """Arithmetic on arrays that keeps an account.

    Attributes:
        operations: scalar additions, multiplications, divisions and square roots.
        matlab: the same by Matlab's rule.
    """

    operations: int = 0
    matlab: int = 0

    def _count(self, operations: int, matlab: int | None = None) -> None:
        self.operations += operations
        self.matlab += operations if matlab is None else matlab

    def add(self, *terms: Array | float) -> Array:
        """Sum of arrays, or with a minus sign of differences."""
        self._count((len(terms) - 1) * int(np.size(terms[0])))
        return np.asarray(sum(np.asarray(term) for term in terms))

    def scale(self, factor: float, value: Array | float) -> Array:
        """A number times an array, element by element."""
        self._count(int(np.size(value)))
        return np.asarray(factor * np.asarray(value))

    def product(self, a: Array, b: Array) -> Array:
        """Matrix product."""
        m, k = np.atleast_2d(a).shape if np.ndim(a) == 2 else (1, len(a))
        n = b.shape[1] if np.ndim(b) == 2 else 1
        self._count(m * n * (2 * k - 1), 2 * m * n * k)
        return np.asarray(a @ b)

    def cross(self, a: Array, b: Array) -> Array:
        """Cross product: six products and three differences."""
        self._count(9)
        return np.cross(a, b)

    def over(self, value: Array, divisor: float) -> Array:
        """Array over a number."""
        self._count(int(np.size(value)))
        return np.asarray(value / divisor)

    def norm(self, value: Array) -> float:
        """Square root of the sum of squares."""
        self._count(2 * len(value), 2 * len(value) + 1)
        return float(np.linalg.norm(value))

    def solve(self, matrix: Array, right: Array) -> Array:
        """Gaussian elimination with partial pivoting, and back substitution."""
        n = len(right)
        for k in range(n):
            rows = n - k - 1
            self._count(rows * (1 + 2 * rows))  # factors, and the rest of the matrix
        self._count(n * (n - 1) + n * n)  # forward and backward
        return np.asarray(np.linalg.solve(matrix, right))


@dataclass(frozen=True)
class Counted:
    """Forces and what they took.

    Attributes:
        forces: (6,) [N].
        leg, platform, system: of one leg (section 2), of the platform alone, of the final system.
    """

    forces: Array
    leg: Flops
    platform: Flops
    system: Flops

    def total(self, *, matlab: bool) -> int:
        """All of it: six legs, platform, system."""
        parts = (6, self.leg), (1, self.platform), (1, self.system)
        return sum(times * (part.matlab if matlab else part.operations) for times, part in parts)


@dataclass(frozen=True)
class _LegResult:
    s: Array
    q: Array
    k: Array
    d: float


def published_forces(machine: Machine, motion: Motion) -> Counted:
    """Actuator forces of a frictionless machine at one instant, by the equations as printed."""
    platform, system = Flops(), Flops()
    results, legs = [], []
    for leg in machine.legs:
        count = Flops()
        results.append(_leg(count, leg, machine.gravity, motion))
        legs.append(count)
    force, moment = _platform(platform, machine.platform, machine.gravity, motion)
    sum_k = system.add(*(r.k for r in results))
    turned = [system.cross(r.q, r.k) for r in results]
    right = np.concatenate([system.add(force, -sum_k), system.add(moment, -system.add(*turned))])
    h = np.array([[*r.s, *system.cross(r.q, r.s)] for r in results]).T
    x = system.solve(h, right)
    forces = system.add(np.array([r.d for r in results]), -x)  # (37)
    return Counted(forces, legs[0], platform, system)


def _leg(n: Flops, leg: Leg, g: Array, m: Motion) -> _LegResult:
    assert leg.universal_axis is not None
    q = n.product(m.rotation, leg.platform_point)
    vector = n.add(q, m.position, -leg.base_point)  # (1)
    length = n.norm(vector)  # (2)
    s = n.over(vector, length)  # (3)
    rate = n.add(n.cross(m.angular_velocity, q), m.linear_velocity)  # (4)
    sliding = float(n.product(s, rate))  # (5)
    w = n.over(n.cross(s, rate), length)  # (6)
    spin = n.cross(m.angular_velocity, n.cross(m.angular_velocity, q))
    second = n.add(n.cross(m.angular_acceleration, q), spin, m.linear_acceleration)  # (7)
    sliding_second = float(n.add(n.product(s, second), n.scale(length, n.product(w, w))))  # (8)
    twice = n.scale(float(n.scale(2.0, sliding)), w)
    a = n.over(n.add(n.cross(s, second), -twice), length)  # (9)
    across = n.cross(leg.universal_axis, s)
    y = n.over(across, n.norm(across))
    t = np.column_stack([s, y, n.cross(s, y)])  # (10)
    r_d = n.product(t, leg.lower.center_of_mass)  # (11)
    r_u = n.product(t, n.add(np.array([length, 0.0, 0.0]), leg.upper.center_of_mass))  # (12)
    a_d = n.add(n.cross(a, r_d), n.cross(w, n.cross(w, r_d)))  # (13)
    coriolis = n.scale(float(n.scale(2.0, sliding)), n.cross(w, s))
    a_u = n.add(n.scale(sliding_second, s), n.cross(a, r_u), n.cross(w, n.cross(w, r_u)), coriolis)  # (14)
    i_d = n.product(n.product(t, leg.lower.inertia), t.T)  # (15)
    steiner = n.scale(float(n.scale(leg.upper.mass, n.scale(length, length))), np.diag([0.0, 1.0, 1.0]))
    i_u = n.product(n.product(t, n.add(leg.upper.inertia, steiner)), t.T)  # (16)
    both = n.add(i_d, i_u)
    first = n.add(n.scale(leg.lower.mass, r_d), n.scale(leg.upper.mass, r_u))
    c = n.add(
        n.scale(leg.lower.mass, n.cross(r_d, a_d)),
        n.scale(leg.upper.mass, n.cross(r_u, a_u)),
        -n.cross(first, g),
        n.product(both, a),
        n.cross(w, n.product(both, w)),
    )  # (20)
    k = n.over(n.cross(c, s), length)  # (21)
    d = float(n.scale(leg.upper.mass, n.product(s, n.add(a_u, -g))))  # (24)
    return _LegResult(s, q, k, d)


def _platform(n: Flops, body: RigidBody, g: Array, m: Motion) -> tuple[Array, Array]:
    """Right-hand side of (35) without the legs' parts."""
    r = n.product(m.rotation, body.center_of_mass)  # (30)
    spin = n.cross(m.angular_velocity, n.cross(m.angular_velocity, r))
    a = n.add(n.cross(m.angular_acceleration, r), spin, m.linear_acceleration)  # (31)
    inertia = n.product(n.product(m.rotation, body.inertia), m.rotation.T)  # (32)
    weight = n.scale(body.mass, n.add(g, -a))
    force = n.add(n.product(m.rotation, m.force), weight)
    moment = n.add(
        n.scale(body.mass, n.cross(r, n.add(g, -a))),
        -n.product(inertia, m.angular_acceleration),
        -n.cross(m.angular_velocity, n.product(inertia, m.angular_velocity)),
        n.product(m.rotation, m.torque),
    )
    return force, moment
