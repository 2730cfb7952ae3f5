"""Customised straight-line models: the fewest operations for one robot.

`generate` is the entry point. The order of the modules from the robot to the program:

    links         the robot as numbers, pseudo-inertias
    choices       what may be chosen freely, and sensible defaults
    regrouping    which link carries which parameter
    angles, vectors, motion, moments   the parts of the recursion
    recursion     inverse dynamics over runs of parallel axes
    gravity, mass_matrix, forward_dynamics, articulated_body, jacobian, runs   the other quantities
    search        coordinate descent over the choices
    api           `generate`
"""

from robot_dynamics.dynamics.generator.api import QUANTITIES, find_choices, generate
from robot_dynamics.dynamics.generator.search import EFFORTS, Objective

__all__ = ["EFFORTS", "QUANTITIES", "Objective", "find_choices", "generate"]
