"""Labels in space that do not cover each other, wherever they are looked at from."""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array

STEEPEST = np.pi / 4
"""Largest angle between the line of sight and the horizontal at which labels of a column are apart [rad]."""
_ROOM = 1.2
"""Pitch of a column as a multiple of a label's height; perspective needs the margin."""


def label_column(foot: Array, count: int, height: float) -> Array:
    """Centres of labels that face the viewer, one above the other.

    Labels beside each other cover each other from some side, at whatever distance they are. Those on one
    vertical line do not: seen at an angle e from the horizontal their distance shrinks by cos e only.

    Args:
        foot: (3,) the lower end of the column, z up [m].
        count: of labels.
        height: of a label [m].

    Returns:
        (count, 3) from the lowest on [m].
    """
    pitch = _ROOM * height / np.cos(STEEPEST)
    centers = np.tile(np.asarray(foot, dtype=float), (count, 1))
    centers[:, 2] += pitch * (np.arange(count) + 0.5)
    return centers
