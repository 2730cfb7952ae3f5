"""Sines and cosines of sums of joint angles, with constant quarter turns folded into signs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robot_dynamics.codegen.expression import Expression, ExpressionGraph, cos, sin

_QUARTER = math.pi / 2.0


@dataclass(frozen=True)
class Angle:
    """Sum of joint angles, quarter turns and a constant remainder.

    Attributes:
        steps: every joint's angle with the constant that belongs to it [rad].
        quarters: quarter turns.
        remainder: constant that belongs to no joint [rad].
    """

    steps: tuple[tuple[Expression, float], ...] = ()
    quarters: int = 0
    remainder: float = 0.0

    def plus(self, joint: Expression | None, constant: float) -> Angle:
        """The angle further turned by a joint (if any) and a constant."""
        quarters = round(constant / _QUARTER)
        rest = constant - quarters * _QUARTER
        if abs(rest) < 1e-15:
            rest = 0.0
        if joint is None:
            return Angle(self.steps, self.quarters + quarters, self.remainder + rest)
        return Angle((*self.steps, (joint, rest)), self.quarters + quarters, self.remainder)


class Trigonometry:
    """Cosines and sines for one program.

    With ``composed`` only the joints' own angles have their sine and cosine computed, and those of sums,
    doubles and shifted angles are made from them by products.
    """

    def __init__(self, graph: ExpressionGraph, composed: bool) -> None:
        self.graph = graph
        self.composed = composed

    def cos_sin(self, angle: Angle) -> tuple[Expression, Expression]:
        """Cosine and sine of an angle."""
        if self.composed:
            c, s = self.graph.expression(1.0), self.graph.expression(0.0)
            for joint, constant in angle.steps:
                cj, sj = cos(joint + constant), sin(joint + constant)
                c, s = c * cj - s * sj, s * cj + c * sj
            if angle.remainder:
                cj, sj = math.cos(angle.remainder), math.sin(angle.remainder)
                c, s = c * cj - s * sj, s * cj + c * sj
        else:
            total = self._sum(angle)
            c, s = cos(total), sin(total)
        return _quarters(c, s, angle.quarters)

    def turned(self, angle: Angle, x: float, y: float) -> tuple[Expression, Expression]:
        """Components of the constant plane vector (x, y) after a turn by ``angle``."""
        if x == 0.0 and y == 0.0:
            return self.graph.expression(0.0), self.graph.expression(0.0)
        if self.composed or x == 0.0 or y == 0.0:
            c, s = self.cos_sin(angle)
            return x * c - y * s, x * s + y * c
        length = math.hypot(x, y)
        c, s = self.cos_sin(angle.plus(None, math.atan2(y, x)))
        return length * c, length * s

    def turned_twice(self, angle: Angle, x: float, y: float) -> tuple[Expression, Expression]:
        """Components of (x, y) after a turn by twice ``angle``."""
        if x == 0.0 and y == 0.0:
            return self.graph.expression(0.0), self.graph.expression(0.0)
        if self.composed:
            # x cos 2t - y sin 2t = (2x cos t - 2y sin t) cos t - x, and the like.
            c, s = self.cos_sin(angle)
            half = (2.0 * x) * c - (2.0 * y) * s
            return half * c - x, half * s + y
        total = self._sum(Angle(angle.steps))
        constant = 2.0 * angle.remainder
        doubled = Angle(((total + total, 0.0),), 2 * angle.quarters, constant)
        return self.turned(doubled, x, y)

    def _sum(self, angle: Angle) -> Expression:
        total = self.graph.expression(0.0)
        constant = angle.remainder
        for joint, own in angle.steps:
            total = total + joint
            constant += own
        return total + constant


def _quarters(c: Expression, s: Expression, quarters: int) -> tuple[Expression, Expression]:
    for _ in range(quarters % 4):
        c, s = -s, c
    return c, s
