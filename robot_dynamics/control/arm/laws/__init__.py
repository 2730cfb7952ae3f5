"""The control laws of an arm by the name that the parameter ``mode`` has for them.

A law is one module here and one line in ``LAWS``.
"""

from __future__ import annotations

from robot_dynamics.control.arm.laws.base import ArmLaw
from robot_dynamics.control.arm.laws.computed_torque import ComputedTorque
from robot_dynamics.control.arm.laws.feedforward import ReferenceFeedforward
from robot_dynamics.control.arm.laws.gravity_compensation import GravityCompensation
from robot_dynamics.control.arm.laws.proportional_derivative import ProportionalDerivative

LAWS: dict[str, type[ArmLaw]] = {
    "computed_torque": ComputedTorque,
    "feedforward": ReferenceFeedforward,
    "gravity_compensation": GravityCompensation,
    "pd": ProportionalDerivative,
}

DESCRIPTION = "; ".join(f"{name} {law.summary}" for name, law in LAWS.items())
"""What each law does, in a sentence."""
