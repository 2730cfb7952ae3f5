"""Inertia of point masses."""

from __future__ import annotations

import numpy as np


def point_inertia(mass, place):
    """Inertia (3, 3) of a point mass about the origin."""
    return mass * (place @ place * np.eye(3) - np.outer(place, place))
