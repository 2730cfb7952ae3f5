"""Inverse dynamics, written once for each paper and for any kind of scalars."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from robot_dynamics.dynamics.formulations.augmented_body import augmented_body
from robot_dynamics.dynamics.formulations.common import Formulation
from robot_dynamics.dynamics.formulations.craig import craig
from robot_dynamics.dynamics.formulations.lagrange import lagrange
from robot_dynamics.dynamics.formulations.lagrange_direct import lagrange_direct
from robot_dynamics.dynamics.formulations.modified_newton_euler import modified_newton_euler
from robot_dynamics.dynamics.formulations.newton_euler import Acceleration, newton_euler

FORMULATIONS: Mapping[str, Formulation] = {
    "lagrange": lagrange,
    "lagrange-direct": lagrange_direct,
    "newton-euler": partial(newton_euler, acceleration=Acceleration.MATRIX),
    "newton-euler-lee": partial(newton_euler, acceleration=Acceleration.EXPANDED),
    "newton-euler-nested": partial(newton_euler, acceleration=Acceleration.NESTED),
    "modified-newton-euler": modified_newton_euler,
    "craig": craig,
    "augmented-body": augmented_body,
}

__all__ = [
    "FORMULATIONS",
    "Formulation",
    "augmented_body",
    "craig",
    "lagrange",
    "lagrange_direct",
    "modified_newton_euler",
    "newton_euler",
]
