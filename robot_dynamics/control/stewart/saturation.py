"""Forces beyond the legs' limits, cut so that the platform accelerates less, and not another way.

Forces depend on the acceleration a of the platform in a line, F = F0 + A a, with the forces F0 of no
acceleration. What lies between F0 and F accelerates the platform in the direction of a, however much less;
cutting each leg by itself would turn a brake into a heave.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array


def saturated(forces: Array, bearing: Array, limits: Array) -> Array:
    """The nearest to ``forces`` between them and ``bearing`` that the legs can give.

    Args:
        forces: (6,) wanted [N].
        bearing: (6,) forces of the same pose and twist without acceleration [N]; where they are beyond the
            limits themselves, the greatest share of them that is not counts; where they are not finite, none.
        limits: (6,) of their magnitudes, infinite where there is none [N].
    """
    if (np.abs(forces) <= limits).all():
        return forces
    start = (
        bearing * share_within(np.zeros(6), bearing, limits) if np.isfinite(bearing).all() else np.zeros(6)
    )
    step = forces - start
    cut = start + share_within(start, step, limits) * step
    return np.minimum(np.maximum(cut, -limits), limits)  # rounding must not pass a limit either


def share_within(start: Array, step: Array, limits: Array) -> float:
    """The greatest share (0 to 1) of ``step`` (6,) after which ``start`` (6,) keeps to ``limits`` (6,)."""
    beyond = np.abs(start + step) > limits
    if not beyond.any():
        return 1.0
    room = np.copysign(limits, step)[beyond] - start[beyond]
    return float(max(0.0, min(1.0, (room / step[beyond]).min())))
