"""Section 4 of Turney, Mudge and Lee with symbols: both sets of equations, and their difference.

Everything is a polynomial with rational coefficients in the sines and cosines of the joint and twist angles,
the lengths, the inertial parameters, the motion and g. After s² -> 1 - c² the two sets must be the same
polynomial: no number is put in anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Symbol = Any
Matrix = Any

_NAMES = "c s ca sa a d m rx ry rz Ix Iy Iz v w"


@dataclass(frozen=True)
class SymbolicArm:
    """An arm of n revolute joints.

    Attributes:
        joints: the symbols of each joint and its link, by name; v and w are its velocity and acceleration.
        g: gravity's symbol.
        pairs: (sine, cosine) as generator numbers.
        ring: where the polynomials live.
    """

    joints: tuple[dict[str, Symbol], ...]
    g: Symbol
    pairs: tuple[tuple[int, int], ...]
    ring: Any

    @classmethod
    def of(cls, size: int) -> SymbolicArm:
        """An arm with ``size`` joints, every parameter a symbol."""
        from sympy import QQ
        from sympy.polys.rings import ring

        names = [f"{name}{i}" for i in range(1, size + 1) for name in _NAMES.split()]
        made = ring([*names, "g"], QQ)
        symbols = dict(zip([*names, "g"], made[1:], strict=True))
        joints = [{name: symbols[f"{name}{i}"] for name in _NAMES.split()} for i in range(1, size + 1)]
        order = {name: number for number, name in enumerate(names)}
        pairs = [
            (order[f"{s}{i}"], order[f"{c}{i}"]) for i in range(1, size + 1) for s, c in ("sc", ("sa", "ca"))
        ]
        return cls(tuple(joints), symbols["g"], tuple(pairs), made[0])

    def rotation(self, i: int) -> Matrix:
        """R_{i-1}^i (1.10)."""
        c, s, ca, sa = (self.joints[i - 1][name] for name in ("c", "s", "ca", "sa"))
        return np.array([[c, -ca * s, sa * s], [s, ca * c, -sa * c], [0, sa, ca]], dtype=object)

    def displacement(self, i: int) -> Matrix:
        """r_i (1.14)."""
        a, d, ca, sa = (self.joints[i - 1][name] for name in ("a", "d", "ca", "sa"))
        return np.array([a, d * sa, d * ca], dtype=object)

    def center(self, i: int) -> Matrix:
        """rbar_i."""
        return np.array([self.joints[i - 1][name] for name in ("rx", "ry", "rz")], dtype=object)

    def inertia(self, i: int) -> Matrix:
        """I_i, principal axes parallel to the link frame as in the paper."""
        return np.diag([self.joints[i - 1][name] for name in ("Ix", "Iy", "Iz")])

    def normal(self, polynomial: Symbol) -> Symbol:
        """The polynomial with every s² replaced by 1 - c²: zero only for the zero function."""
        terms: dict[tuple[int, ...], Any] = {}
        work = list(self.ring(polynomial).items())
        while work:
            monomial, coefficient = work.pop()
            for sine, cosine in self.pairs:
                if monomial[sine] >= 2:
                    lower = list(monomial)
                    lower[sine] -= 2
                    work.append((tuple(lower), coefficient))
                    lower[cosine] += 2
                    work.append((tuple(lower), -coefficient))
                    break
            else:
                terms[monomial] = terms.get(monomial, 0) + coefficient
        return self.ring.from_dict({monomial: value for monomial, value in terms.items() if value})


def newton_euler(arm: SymbolicArm, *, upper: bool = True) -> list[Symbol]:
    """Torques by (3.15) to (3.21); without the last two terms of (3.20) unless ``upper``."""
    size = len(arm.joints)
    z = np.array([0, 0, 1], dtype=object)
    w, al, a = np.zeros(3, dtype=object), np.zeros(3, dtype=object), z * arm.g
    states = []
    for i in range(1, size + 1):
        rt, r, rbar = arm.rotation(i).T, arm.displacement(i), arm.center(i)
        v, acceleration = arm.joints[i - 1]["v"], arm.joints[i - 1]["w"]
        al = rt @ (al + _cross(w, z * v) + z * acceleration)
        w = rt @ (w + z * v)
        a = _cross(w, _cross(w, r)) + _cross(al, r) + rt @ a
        abar = _cross(w, _cross(w, rbar)) + _cross(al, rbar) + a
        states.append((w, al, abar))
    f, n = np.zeros(3, dtype=object), np.zeros(3, dtype=object)
    tau = []
    for i in range(size, 0, -1):
        w, al, abar = states[i - 1]
        r, inertia, m = arm.displacement(i), arm.inertia(i), arm.joints[i - 1]["m"]
        beyond = arm.rotation(i + 1) if i < size else np.eye(3, dtype=int)
        rf = beyond @ f
        moment = inertia @ al + _cross(w, inertia @ w) + _cross((r + arm.center(i)) * m, abar)
        n = moment + _cross(r, rf) + beyond @ n if upper else moment
        f = abar * m + rf
        tau.append((arm.rotation(i).T @ z) @ n)
    return tau[::-1]


def lagrange(arm: SymbolicArm, *, upper: bool = True) -> list[Symbol]:
    """Torques by the equation before (2.11); only link i for torque i unless ``upper``."""
    size = len(arm.joints)
    tau = []
    for i in range(1, size + 1):
        total: Symbol = arm.ring(0)
        for q in range(i, size + 1 if upper else i + 1):
            inertia = _pseudo_inertia(arm, q)
            towards = _derivative(arm, q, (i,))
            kinetic = np.zeros((4, 4), dtype=object)
            for j in range(1, q + 1):
                kinetic = kinetic + _derivative(arm, q, (j,)) * arm.joints[j - 1]["w"]
                for k in range(1, q + 1):
                    rates = arm.joints[j - 1]["v"] * arm.joints[k - 1]["v"]
                    kinetic = kinetic + _derivative(arm, q, tuple(sorted((j, k)))) * rates
            total = total + ((kinetic @ inertia) * towards).sum()
            center = np.array([*arm.center(q), 1], dtype=object)
            total = total + arm.g * arm.joints[q - 1]["m"] * (towards[2] @ center)
        tau.append(total)
    return tau


def difference_terms(size: int, *, upper: bool = True) -> tuple[int, int]:
    """Terms of the Lagrange torques of ``size`` joints, and of their difference to the Newton-Euler ones."""
    arm = SymbolicArm.of(size)
    first = [arm.normal(tau) for tau in lagrange(arm, upper=upper)]
    second = [arm.normal(tau) for tau in newton_euler(arm, upper=upper)]
    return sum(map(len, first)), sum(len(a - b) for a, b in zip(first, second, strict=True))


def _derivative(arm: SymbolicArm, q: int, joints: tuple[int, ...]) -> Matrix:
    """T_0^q differentiated by ``joints`` (ascending), by inserting Q (1.11, 1.12)."""
    spin = np.zeros((4, 4), dtype=object)
    spin[0, 1], spin[1, 0] = -1, 1
    pose: Matrix = np.eye(4, dtype=int)
    for i in range(1, q + 1):
        for _ in range(joints.count(i)):
            pose = pose @ spin
        step = np.zeros((4, 4), dtype=object)
        step[:3, :3] = arm.rotation(i)
        step[:3, 3] = arm.rotation(i) @ arm.displacement(i)
        step[3, 3] = 1
        pose = np.array([[arm.normal(entry) for entry in row] for row in pose @ step], dtype=object)
    return pose


def _pseudo_inertia(arm: SymbolicArm, q: int) -> Matrix:
    """J_q^a (1.26, 1.28)."""
    from sympy import QQ

    m, moments = arm.joints[q - 1]["m"], np.diag(arm.inertia(q))
    d = np.array([*arm.center(q), 1], dtype=object)
    matrix = np.outer(d, d) * m
    for k in range(3):
        matrix[k, k] = matrix[k, k] + (moments.sum() - 2 * moments[k]) * QQ(1, 2)
    return matrix


def _cross(a: Matrix, b: Matrix) -> Matrix:
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], dtype=object
    )
