"""Rules of trajectories from parameters: joints that may be left out, limits under MoveIt's names, torque.

``joint_limits.<joint>.has_velocity_limits``, ``.max_velocity``, ``.has_acceleration_limits`` and
``.max_acceleration``, as in ``joint_limits.yaml`` of a MoveIt configuration.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from robot_dynamics.control.arm.path_rules import (
    IdentifiedRangeParameters,
    PartialGoalParameters,
    PathRules,
    TorqueCheckParameters,
)
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.ros.support import parameters

_LIMIT = re.compile(r"joint_limits\.(.+)\.(?:has_(velocity|acceleration)_limits|max_(velocity|acceleration))")


def declared_rules(node: Node) -> PathRules:
    """Declare what ``node`` was started with, and return the rules.

    A limit without ``has_..._limits`` counts. It is read at the start only.

    Raises:
        ParameterError: a value is no positive number, or is missing where a limit is said to be there.
    """
    partial = parameters.declare(node, PartialGoalParameters).allow_partial_joints_goal
    given = getattr(node, "_parameter_overrides", {})
    kinds = {
        (match[1], match[2] or match[3])
        for match in map(_LIMIT.fullmatch, sorted(given))
        if match is not None
    }
    limits: dict[str, dict[str, float]] = {"velocity": {}, "acceleration": {}}
    for joint, kind in sorted(kinds):
        limit = _limit(node, f"joint_limits.{joint}", kind)
        if limit is not None:
            limits[kind][joint] = limit
    torque = parameters.declare(node, TorqueCheckParameters)
    identified = parameters.declare(node, IdentifiedRangeParameters)
    return PathRules(partial, limits["velocity"], limits["acceleration"], torque, identified)


def without_joint(rules: PathRules, joint_names: Sequence[str]) -> str:
    """A warning that names the limits of joints that the arm does not have; empty when there are none."""
    unknown = sorted({*rules.velocity, *rules.acceleration} - set(joint_names))
    return f"joint_limits of {', '.join(unknown)}: the arm has no such joint" if unknown else ""


def _limit(node: Node, prefix: str, kind: str) -> float | None:
    descriptor = ParameterDescriptor(
        description="See joint_limits.yaml of MoveIt", dynamic_typing=True, read_only=True
    )
    there, value = (
        node.declare_parameter(f"{prefix}.{name}", None, descriptor).value
        for name in (f"has_{kind}_limits", f"max_{kind}")
    )
    if not isinstance(there, bool | None):
        raise ParameterError(
            f"parameter '{prefix}.has_{kind}_limits' is {quoted(there)}; it must be true or false"
        )
    if there is False:
        return None
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < math.inf
    if not usable:
        raise ParameterError(
            f"parameter '{prefix}.max_{kind}' is {quoted(value)}; it must be a positive number, or"
            f" '{prefix}.has_{kind}_limits' false"
        )
    return float(value)
