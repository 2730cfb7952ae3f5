"""Labels in space that do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.spatial import Array

STEEPEST = np.pi / 4
"""Largest angle between the line of sight and the horizontal at which labels of a column are apart [rad]."""
_ROOM = 1.2
"""Pitch of a column as a multiple of a label's height; perspective needs the margin."""


EM = 9.0
"""Font size of the numbers at the joints [pixels of the page]."""
_WIDTH, _HEIGHT = 0.47, 1.5
"""Mean width of a character, and height of a label, in font sizes."""


@dataclass(frozen=True)
class Viewpoint:
    """Camera of a browser.

    Attributes:
        pose: (4, 4) in the root frame: x to the right, y down, z forward [m].
        focal: distance between camera and picture [pixels of the page].
    """

    pose: Array
    focal: float

    def places(self, points: Array) -> Array:
        """Places (N, 2) of points (N, 3) in the picture, to the right and down; NaN behind the camera."""
        seen = (points - self.pose[:3, 3]) @ self.pose[:3, :3]
        depth = np.where(seen[:, 2:] > 0.0, seen[:, 2:], np.nan)
        return np.asarray(self.focal * seen[:, :2] / depth)


def apart(view: Viewpoint, points: Array, texts: Sequence[str], most: int) -> list[int]:
    """Indices of the first ``most`` labels that cover none of those before them.

    Args:
        view: from where they are seen.
        points: (N, 3) middle of the left edge of each [m].
        texts: of the labels.
    """
    places, kept = view.places(points), list[int]()

    def clear(one: int, other: int) -> bool:
        left, right = sorted((one, other), key=lambda k: places[k, 0])
        x, y = np.abs(places[right] - places[left])
        return bool(y >= _HEIGHT * EM or x >= _WIDTH * EM * len(texts[left]))

    for k in range(len(texts)):
        if len(kept) < most and all(clear(k, other) for other in kept):
            kept.append(k)
    return kept


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
