"""The law of friction in closed form, one case for each of its parameters: an oracle beside the library."""

from __future__ import annotations

import numpy as np


def no(v):
    return 0.0 * v


CASES = {
    "damping": ({"damping": 0.7}, lambda v: 0.7 * v, lambda v, load: no(v)),
    "friction": ({"friction": 0.4}, no, lambda v, load: 0.4 * np.sign(v)),
    "static_friction": (
        {"friction": 0.0, "static_friction": 0.5},
        no,
        lambda v, load: 0.5 * np.exp(-np.abs(v) / 0.1) * np.sign(v),
    ),
    "stribeck_velocity": (
        {"friction": 0.2, "static_friction": 0.5, "stribeck_velocity": 0.8},
        no,
        lambda v, load: (0.2 + 0.3 * np.exp(-np.abs(v) / 0.8)) * np.sign(v),
    ),
    "friction_offset": (
        {"friction": 0.4, "friction_offset": 0.15},
        no,
        lambda v, load: 0.4 * np.sign(v) + 0.15,
    ),
    "load_friction": ({"load_friction": 0.08}, no, lambda v, load: 0.08 * np.abs(load) * np.sign(v)),
    "presliding_friction": (
        {"friction": 0.4, "presliding_friction": 0.3},
        no,
        lambda v, load: 0.4 * np.sign(v),
    ),
    "presliding_travel": (
        {"friction": 0.4, "presliding_friction": 0.3, "presliding_travel": 0.05},
        no,
        lambda v, load: 0.4 * np.sign(v),
    ),
}
"""For each parameter: what is given, and the smooth and the dry effort far from standstill and reversals."""
SPEEDS = np.array([-2.0, -0.7, -0.1, 0.05, 0.3, 1.4])


def effort_of(name):
    """The whole effort by velocity and load."""
    smooth, dry = CASES[name][1:]
    return lambda v, load: smooth(v) + dry(v, load)
