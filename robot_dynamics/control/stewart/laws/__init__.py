"""The control laws of a Stewart platform by the name that the parameter ``mode`` has for them.

A law is one module here and one line in ``LAWS``.
"""

from __future__ import annotations

from robot_dynamics.control.stewart.laws.base import StewartLaw
from robot_dynamics.control.stewart.laws.computed_force import ComputedForce
from robot_dynamics.control.stewart.laws.feedforward import ReferenceFeedforward

LAWS: dict[str, type[StewartLaw]] = {
    "computed_force": ComputedForce,
    "feedforward": ReferenceFeedforward,
}

DESCRIPTION = "; ".join(f"{name} {law.summary}" for name, law in LAWS.items())
"""What each law does, in a sentence."""
