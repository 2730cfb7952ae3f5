"""Angular motion of the links, carried by Renaud's acceleration tensor.

A point at r of a link accelerates by A + b r, with A the acceleration of the origin (less gravity) and
b = dw + ww the tensor made of the skew matrices of angular acceleration and velocity. In components

    b_xz = p + wd_y,  b_zx = p - wd_y,  p = w_x w_z          b_xx = -(w_y² + w_z²)
    b_yz = q - wd_x,  b_zy = q + wd_x,  q = w_y w_z          b_yy = -(w_x² + w_z²)
    b_xy = h - wd_z,  b_yx = h + wd_z,  h = w_x w_y          b_zz = -(w_x² + w_y²)

The third column b z_i is the acceleration of the unit vector of joint i, and that vector is fixed in link i-1
too: the column is had from link i-1 by a turn about z, b_zz with it for nothing. Then wd_y = b_xz - p and
wd_x = q - b_yz, so the angular acceleration is never turned; only wd_z is handed on. This takes five
operations less per link than building b from angular velocity and acceleration.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.vectors import (
    Tensor,
    Vector,
    tensor_at_entry,
    to_entry,
    to_turned,
)


@dataclass(frozen=True)
class AngularMotion:
    """Angular motion of a body in some frame.

    Attributes:
        velocity: angular velocity.
        acceleration: angular acceleration.
        b: the acceleration tensor, rows first.
    """

    velocity: Vector
    acceleration: Vector
    b: Tensor


@dataclass(frozen=True)
class Entry:
    """Motion that a run of parallel axes receives from the link before it, in the frame turned by alpha.

    Attributes:
        velocity, acceleration: of the link before.
        b: its tensor; None when alpha is no multiple of pi/2 and nothing needs it.
        column: its third column.
    """

    velocity: Vector
    acceleration: Vector
    b: Tensor | None
    column: Vector


def at_rest(graph: ExpressionGraph) -> AngularMotion:
    """The fixed frame."""
    zero = graph.expression(0.0)
    return AngularMotion([zero] * 3, [zero] * 3, [[zero] * 3 for _ in range(3)])


def tensor_of(w: Vector, wd: Vector) -> Tensor:
    """b from angular velocity and acceleration."""
    p, q, h = w[0] * w[2], w[1] * w[2], w[0] * w[1]
    x, y, z = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    return [
        [-(y + z), h - wd[2], p + wd[1]],
        [h + wd[2], -(x + z), q - wd[0]],
        [p - wd[1], q + wd[0], -(x + y)],
    ]


def enter(first: GeneratorLink, motion: AngularMotion, tensor: bool) -> Entry:
    """Motion of the previous link in the entry frame of a run; ``tensor`` asks for all of b."""
    velocity, acceleration = to_entry(first, motion.velocity), to_entry(first, motion.acceleration)
    if first.quarter_turn:
        b = tensor_at_entry(first, motion.b)
        return Entry(velocity, acceleration, b, [row[2] for row in b])
    across, along = -first.sin_alpha, first.cos_alpha
    if first.gamma:
        axis = (-across * first.sin_gamma, across * first.cos_gamma, along)
        column = to_entry(first, [row[0] * axis[0] + row[1] * axis[1] + row[2] * axis[2] for row in motion.b])
    else:
        column = to_entry(first, [row[1] * across + row[2] * along for row in motion.b])
    return Entry(velocity, acceleration, tensor_of(velocity, acceleration) if tensor else None, column)


def relative_tensor(entry: Entry, rate: Expression, acceleration: Expression) -> Tensor:
    """b of a link of the run, in the axes of the entry frame.

    To the tensor of the link before come 2 rate (w z^) + acceleration z^ + rate² z^ z^ with the skew matrix
    z^ of the axis; the third column stays.
    """
    w, b = entry.velocity, entry.b
    assert b is not None
    square = rate * rate if w[2].is_zero else rate * (w[2] + (w[2] + rate))
    twice = rate + rate
    return [
        [b[0][0] - square, b[0][1] - acceleration, b[0][2]],
        [b[1][0] + acceleration, b[1][1] - square, b[1][2]],
        [b[2][0] + twice * w[0], b[2][1] + twice * w[1], b[2][2]],
    ]


def own_motion(
    entry: Entry,
    c: Expression,
    s: Expression,
    rate: Expression,
    acceleration: Expression,
    *,
    column: bool,
    square_x: bool,
) -> AngularMotion:
    """Motion of a link in its own frame, turned by the angle (c, s) that changes at ``rate``."""
    turned = to_turned(c, s, entry.velocity)
    w = [turned[0], turned[1], entry.velocity[2] + rate]
    wd_z = entry.acceleration[2] + acceleration
    if not column:
        turned = to_turned(c, s, entry.acceleration)
        wd = [turned[0] + rate * w[1], turned[1] - rate * w[0], wd_z]
        return AngularMotion(w, wd, tensor_of(w, wd))
    xz, yz, zz = to_turned(c, s, entry.column)
    p, q, h = w[0] * w[2], w[1] * w[2], w[0] * w[1]
    wd_y, wd_x = xz - p, q - yz
    z = w[2] * w[2]
    if square_x:
        x = w[0] * w[0]
        xx, yy = zz + (x - z), -(x + z)
    else:
        y = w[1] * w[1]
        xx, yy = -(y + z), zz + (y - z)
    b = [[xx, h - wd_z, xz], [h + wd_z, yy, yz], [p - wd_y, q + wd_x, zz]]
    return AngularMotion(w, [wd_x, wd_y, wd_z], b)
