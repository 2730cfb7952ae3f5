"""Labels in space that do not cover each other."""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array


def spread_labels(places: Array, width: float, height: float) -> Array:
    """Raise labels until each has room above those that are less than its width beside it.

    Args:
        places: (N, 3) wanted centres, z up; the later one gives way [m].
        width: of a label [m].
        height: of a label [m].

    Returns:
        (N, 3) centres, each at or above the wanted one [m].
    """
    found: list[Array] = []
    for place in np.asarray(places, dtype=float):
        beside = [other[2] for other in found if np.hypot(*(other - place)[:2]) < width]
        level = place[2]
        for taken in sorted(beside):
            if abs(level - taken) < height:
                level = taken + height
        found.append(np.array([place[0], place[1], level]))
    return np.array(found).reshape(-1, 3)
