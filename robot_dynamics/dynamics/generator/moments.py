"""Force and moment that move one link, from its pseudo-inertia.

With acceleration A + b r of the point r of the link,

    F = b s + m A,        N = s x A + axial vector of (b J - (b J)^T),

    N_x = b_zy J_yy - b_yz J_zz + b_zx J_xy - b_yx J_xz + (b_zz - b_yy) J_yz + s_y A_z - s_z A_y

and cyclic. The entries of b serve F, N and the next link alike. About z the symmetric form
N_z = (J_xx - J_yy) w_x w_y + (J_xx + J_yy) wd_z + ... needs only one of b_xy and b_yx.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.angles import Angle, Trigonometry
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.motion import AngularMotion, Entry, relative_tensor
from robot_dynamics.dynamics.generator.vectors import Tensor, Vector

# Rows of a pseudo-inertia: of a link as numbers, of a payload as expressions.
Pseudo: TypeAlias = list[list[float]] | Tensor


@dataclass(frozen=True)
class Units:
    """Units of length that accelerations and forces are expressed in, and of mass [m].

    Accelerations are divided by ``forward``, forces multiplied by ``backward``: lengths equal to the unit
    need no multiplication, and moments stay as they are.
    """

    forward: float
    backward: float


def own_moment(
    pseudo: Pseudo,
    motion: AngularMotion,
    origin: Vector,
    units: Units,
    *,
    spin: float = 0.0,
    square_x: bool = True,
    squares: bool = False,
) -> tuple[Vector, Vector]:
    """(N, F) about a link's origin, in its own frame; ``origin`` accelerates the origin.

    ``pseudo`` and ``spin`` are those of a link, or of a body that it carries; ``square_x`` as in the motion;
    ``squares`` takes b_yy - b_xx from squares.
    """
    j, b, w = pseudo, motion.b, motion.velocity
    x, y, z = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    # b_zz - b_yy = w_z² - w_y², and cyclic: differences that b's diagonal already contains are reused.
    zz_yy = b[2][2] - b[1][1] if square_x else z - y
    xx_zz = x - z if square_x else b[0][0] - b[2][2]
    yy_xx = y - x if squares else b[1][1] - b[0][0]
    n_x = j[1][1] * b[2][1] - j[2][2] * b[1][2] + j[0][1] * b[2][0] - j[0][2] * b[1][0] + j[1][2] * zz_yy
    n_y = j[2][2] * b[0][2] - j[0][0] * b[2][0] + j[1][2] * b[0][1] - j[0][1] * b[2][1] + j[0][2] * xx_zz
    n_z = (j[0][0] - j[1][1]) * (w[0] * w[1]) + (j[0][0] + j[1][1] + spin) * motion.acceleration[2]
    n_z = n_z + j[0][2] * b[1][2] - j[1][2] * b[0][2] + j[0][1] * yy_xx
    moment = _with_origin([n_x, n_y, n_z], [units.forward * row[3] for row in j[:3]], origin)
    s, m = [units.backward * row[3] for row in j[:3]], units.forward * units.backward * j[3][3]
    force = [s[0] * b[k][0] + s[1] * b[k][1] + s[2] * b[k][2] + m * origin[k] for k in range(3)]
    return moment, force


def entry_moment(
    link: GeneratorLink,
    entry: Entry,
    angle: Angle,
    rates: tuple[Expression, Expression],
    origin: Vector,
    units: Units,
    trigonometry: Trigonometry,
    *,
    squares: bool,
) -> tuple[Vector, Vector]:
    """(N, F) about the link's origin, in the entry frame of its run.

    There b is nearly that of the link before the run, and the pseudo-inertia turns instead: s and
    (J_xz, J_yz) with the angle, (J_xx - J_yy, 2 J_xy) with twice the angle, the rest not at all.
    """
    j = link.pseudo.tolist()
    rate, acceleration = rates
    b, w = relative_tensor(entry, rate, acceleration), entry.velocity
    before = entry.b
    assert before is not None
    mean, half = 0.5 * (j[0][0] + j[1][1]), 0.5 * (j[0][0] - j[1][1])
    half_c, xy = trigonometry.turned_twice(angle, half, j[0][1])
    xx, yy = mean + half_c, mean - half_c
    xz, yz = trigonometry.turned(angle, j[0][2], j[1][2])
    zz = j[2][2]
    n_x = yy * b[2][1] - zz * b[1][2] + xy * b[2][0] - xz * b[1][0] + yz * (b[2][2] - b[1][1])
    n_y = zz * b[0][2] - xx * b[2][0] + yz * b[0][1] - xy * b[2][1] + xz * (b[0][0] - b[2][2])
    h = w[0] * w[1]
    yy_xx = w[1] * w[1] - w[0] * w[0] if squares else before[1][1] - before[0][0]
    n_z = half_c * (h + h) + (2.0 * mean + link.spin) * (entry.acceleration[2] + acceleration)
    n_z = n_z + xz * b[1][2] - yz * b[0][2] + xy * yy_xx
    sx, sy = trigonometry.turned(angle, units.forward * j[0][3], units.forward * j[1][3])
    moment = _with_origin([n_x, n_y, n_z], [sx, sy, units.forward * j[2][3]], origin)
    sx, sy = trigonometry.turned(angle, units.backward * j[0][3], units.backward * j[1][3])
    sz, m = units.backward * j[2][3], units.forward * units.backward * j[3][3]
    force = [sx * b[k][0] + sy * b[k][1] + sz * b[k][2] + m * origin[k] for k in range(3)]
    return moment, force


def _with_origin(n: Vector, s: Sequence[Expression | float], a: Vector) -> Vector:
    """N + s x A."""
    return [
        n[0] + s[1] * a[2] - s[2] * a[1],
        n[1] + s[2] * a[0] - s[0] * a[2],
        n[2] + s[0] * a[1] - s[1] * a[0],
    ]
