"""A revolute and a prismatic axis without coupling, with limits and lines: retiming in closed form."""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
from arms import Masses

from robot_dynamics.control.retiming.limits import PathLimits
from robot_dynamics.control.retiming.model import DrivenModel
from robot_dynamics.dynamics.friction import DriveFriction


class Axes:
    """A revolute and a prismatic joint without coupling."""

    dof = 2
    joint_names = ("turn", "lift")

    def driving_joint(self, coordinate):
        return SimpleNamespace(kind=SimpleNamespace(value=("revolute", "prismatic")[coordinate]))


INERTIAS = Masses((2.0, 3.0))
NO_FRICTION = DriveFriction(*np.zeros((len(fields(DriveFriction)), 2)))
AXES = DrivenModel(Axes(), INERTIAS, np.zeros(2), NO_FRICTION.matrix)
LIMITS = PathLimits(velocity=[4.0, 2.0])
LINE = [[0.0, 0.0], [2.0, -1.0]]
LINES = np.zeros((2, 6, 2))
LINES[:, 1] = 1.0
"""Coefficients of two segments, along each of which both axes move by 1."""
