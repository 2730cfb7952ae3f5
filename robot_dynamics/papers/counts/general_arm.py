"""An arm in which nothing vanishes, as the general formulas of the papers assume."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.spatial import shift_inertia


def general_arm(size: int) -> SerialModel:
    """An arm of ``size`` revolute joints in which nothing vanishes but the products of inertia.

    The products about the center of mass are zero because the papers take the link frames parallel to the
    principal axes; gravity is along the first axis, as theirs is.
    """
    index = np.arange(1, size + 1)
    alpha, a, r = 0.3 + 0.1 * np.cos(index), 0.2 + 0.05 * np.sin(index), 0.1 + 0.03 * np.cos(2.0 * index)
    mass = 1.0 + 0.5 * np.sin(3.0 * index)
    centers = np.column_stack([0.11 + 0.01 * index, 0.07 + 0.02 * np.sin(index), 0.05 + 0.01 * np.cos(index)])
    # A sphere's inertia is the same in every frame, so it stays diagonal in the standard ones.
    inertia = [np.eye(3) + shift_inertia(m, c) for m, c in zip(mass, centers, strict=True)]
    alpha[0] = a[0] = 0.0
    return SerialModel.from_dh(
        list(alpha), list(a), list(r), list(mass), list(mass[:, None] * centers), inertia
    )
