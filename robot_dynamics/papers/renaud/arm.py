"""Renaud's example, with made-up numbers in the places that he leaves free."""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.serial_model import SerialModel


def renaud_arm() -> SerialModel:
    """The 6R arm of Renaud 1987, figure 6: which parameters vanish is his, their values are not.

    alpha = 0, pi/2, 0, pi/2, -pi/2, pi/2; only a_2 and r_4 are not zero; every center of mass lies on an axis
    of its frame and every product of inertia is zero.
    """
    half = np.pi / 2
    a2, r4 = 0.43, 0.41
    mass = [2.1, 13.3, 5.7, 1.3, 0.7, 0.3]
    first_moment = np.zeros((6, 3))
    first_moment[0, 2], first_moment[1, 0], first_moment[2, 1] = 0.23, 2.9, 0.61
    first_moment[3, 2], first_moment[4, 1], first_moment[5, 2] = 0.17, 0.031, 0.019
    diagonal = [
        (0.31, 0.29, 0.35),
        (0.53, 1.71, 1.83),
        (0.47, 0.11, 0.43),
        (0.13, 0.12, 0.019),
        (0.017, 0.013, 0.011),
        (0.0031, 0.0029, 0.0013),
    ]
    return SerialModel.from_dh(
        alpha=[0.0, half, 0.0, half, -half, half],
        a=[0.0, 0.0, a2, 0.0, 0.0, 0.0],
        r=[0.0, 0.0, 0.0, r4, 0.0, 0.0],
        mass=mass,
        first_moment=list(first_moment),
        inertia=[np.diag(entries) for entries in diagonal],
    )
