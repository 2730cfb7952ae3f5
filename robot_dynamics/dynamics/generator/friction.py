"""Friction of the joints: viscous, and Coulomb's with a smooth way through standstill.

At the velocity v a joint with damping D and Coulomb friction F needs the effort

    D v + F c (3 - c²) / 2,    c = v / v_s between -1 and 1 and constant beyond,

whose slope D + 3 F (1 - c²) / (2 v_s) is continuous. c is had by square roots, (|x + 1| - |x - 1|) / 2 with
|y| = sqrt(y²), which is exact in IEEE arithmetic: so programs need no comparison, and can be differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.expression import Expression

STICTION_VELOCITY = 0.005
"""v_s, below which Coulomb friction goes through zero [rad/s or m/s]."""


def friction_efforts(qd: Sequence[Expression], friction: Sequence[Expression]) -> list[Expression]:
    """Efforts that overcome friction at velocities ``qd``; ``friction``: damping, then Coulomb's."""
    n = len(qd)
    slow = [_slow(rate) for rate in qd]
    return [
        d * v + f * (0.5 * c * (3.0 - c * c))
        for d, f, v, c in zip(friction[:n], friction[n:], qd, slow, strict=True)
    ]


def friction_slopes(qd: Sequence[Expression], friction: Sequence[Expression]) -> list[Expression]:
    """The derivatives of :func:`friction_efforts` by ``qd``."""
    n = len(qd)
    slow = [_slow(rate) for rate in qd]
    return [
        d + f * (1.5 / STICTION_VELOCITY * (1.0 - c * c))
        for d, f, c in zip(friction[:n], friction[n:], slow, strict=True)
    ]


def _slow(rate: Expression) -> Expression:
    x = (1.0 / STICTION_VELOCITY) * rate
    above, below = x + 1.0, x - 1.0
    return 0.5 * ((above * above).sqrt() - (below * below).sqrt())
