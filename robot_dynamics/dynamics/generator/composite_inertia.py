"""Composite inertia beyond a joint: sums over the mass of a body that changes its shape, for derivatives.

With rho the position of a point from the origin of link i and rho' its rate, in axes that momentarily are
those of link i, summed over all links beyond joint i:

    m,    s = sum m rho,    J = sum m rho rho^T,    P = sum m rho',    D = sum m rho rho'^T

From the origin of a link to that of the link before, at d with the rate d',

    s + m d,   J + s d^T + d (s + m d)^T,   P + m d',   D + s d'^T + d (P + m d')^T.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.vectors import Tensor, Vector, add, from_entry, from_turned, scaled
from robot_dynamics.spatial import cross_entries

Turned = tuple[Expression, Expression]


@dataclass(frozen=True)
class CompositeInertia:
    """Moments of mass and of its motion; see above.

    Attributes:
        mass: m [kg].
        first: s [kg·m].
        second: J, symmetric [kg·m²].
        momentum: P [kg·m/s].
        spread: D [kg·m²/s].
    """

    mass: Expression
    first: Vector
    second: Tensor
    momentum: Vector
    spread: Tensor

    @staticmethod
    def of(pseudo: Tensor, angular: Vector) -> CompositeInertia:
        """A body with this pseudo-inertia that turns at ``angular``, about the origin."""
        first, second = pseudo[3][:3], [row[:3] for row in pseudo[:3]]
        return CompositeInertia(
            pseudo[3][3],
            first,
            second,
            cross_entries(angular, first),
            [cross_entries(angular, row) for row in second],
        )

    def plus(self, other: CompositeInertia) -> CompositeInertia:
        """Both together, about one origin."""
        return CompositeInertia(
            self.mass + other.mass,
            add(self.first, other.first),
            [add(u, v) for u, v in zip(self.second, other.second, strict=True)],
            add(self.momentum, other.momentum),
            [add(u, v) for u, v in zip(self.spread, other.spread, strict=True)],
        )

    def back(self, link: GeneratorLink, turn: Turned, arm: Vector, arm_rate: Vector) -> CompositeInertia:
        """The same from the origin and in the axes of the link before ``link``.

        ``turn`` is the cosine and sine of the joint's angle, ``arm`` and ``arm_rate`` are d and d' in the
        axes of the link before turned by alpha.
        """
        s, p = from_turned(*turn, self.first), from_turned(*turn, self.momentum)
        far, faster = add(s, scaled(self.mass, arm)), add(p, scaled(self.mass, arm_rate))
        j, d = _symmetric_turned(*turn, self.second), _tensor_turned(*turn, self.spread)
        j = [[j[i][k] + s[i] * arm[k] + arm[i] * far[k] for k in range(3)] for i in range(3)]
        d = [[d[i][k] + s[i] * arm_rate[k] + arm[i] * faster[k] for k in range(3)] for i in range(3)]
        for i, k in ((1, 0), (2, 0), (2, 1)):
            j[i][k] = j[k][i]
        return CompositeInertia(
            self.mass, from_entry(link, far), _at_entry(link, j), from_entry(link, faster), _at_entry(link, d)
        )

    @property
    def inertia(self) -> Tensor:
        """tr(J) 1 - J, the inertia about the origin."""
        j = self.second
        xx, yy, zz = (j[i][i] for i in range(3))
        return [[yy + zz, -j[0][1], -j[0][2]], [-j[1][0], xx + zz, -j[1][2]], [-j[2][0], -j[2][1], xx + yy]]

    def swept(self, e: Vector) -> Vector:
        """Sum of m rho x (e x rho') = e tr(D) - D^T e."""
        d = self.spread
        xx, yy, zz = (d[i][i] for i in range(3))
        return [
            (yy + zz) * e[0] - d[1][0] * e[1] - d[2][0] * e[2],
            (xx + zz) * e[1] - d[0][1] * e[0] - d[2][1] * e[2],
            (xx + yy) * e[2] - d[0][2] * e[0] - d[1][2] * e[1],
        ]


def applied(tensor: Tensor, v: Vector) -> Vector:
    """A tensor times a vector."""
    return [row[0] * v[0] + row[1] * v[1] + row[2] * v[2] for row in tensor]


def _tensor_turned(c: Expression, s: Expression, t: Tensor) -> Tensor:
    """A tensor's components before a turn about z; trace and skew part in the plane stay as they are."""
    u, v = c * t[0][0] - s * t[1][0], c * t[0][1] - s * t[1][1]
    xx, xy = c * u - s * v, s * u + c * v
    yx, yy = xy - (t[0][1] - t[1][0]), (t[0][0] + t[1][1]) - xx
    xz, yz, _ = from_turned(c, s, [t[0][2], t[1][2], t[2][2]])
    zx, zy, zz = from_turned(c, s, t[2])
    return [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]]


def _symmetric_turned(c: Expression, s: Expression, t: Tensor) -> Tensor:
    """The same for a symmetric tensor."""
    turned = _tensor_turned(c, s, t)
    for i, k in ((1, 0), (2, 0), (2, 1)):
        turned[i][k] = turned[k][i]
    return turned


def _at_entry(link: GeneratorLink, t: Tensor) -> Tensor:
    """A tensor's components before the turn by alpha."""
    columns = [from_entry(link, [t[i][k] for i in range(3)]) for k in range(3)]
    return [from_entry(link, [columns[k][i] for k in range(3)]) for i in range(3)]
