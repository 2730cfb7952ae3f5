"""Tolerances under the names that they have at ``joint_trajectory_controller``.

``constraints.goal_time``, ``constraints.stopped_velocity_tolerance``, ``constraints.<joint>.trajectory`` and
``constraints.<joint>.goal`` win over this package's own parameters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.parameter import Parameter

from robot_dynamics.control.arm.tolerances import Tolerances
from robot_dynamics.errors import ParameterError, quoted

_OF_JOINT = re.compile(r"constraints\.(.+)\.(trajectory|goal)")
GOAL_TIME = "constraints.goal_time"
STOPPED = "constraints.stopped_velocity_tolerance"


class Constraints:
    """The constraints that a node was started with; they can be changed live.

    Args:
        node: whose parameters they are.

    Raises:
        ParameterError: one is no number, or negative.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        # Joints have no names before there is a model: what was given tells which there are.
        given = getattr(node, "_parameter_overrides", {})
        self._names = [name for name in given if _OF_JOINT.fullmatch(name) or name in (GOAL_TIME, STOPPED)]
        descriptor = ParameterDescriptor(description="See joint_trajectory_controller; 0: none")
        for name in self._names:
            try:
                node.declare_parameter(name, Parameter.Type.DOUBLE, descriptor)
            except InvalidParameterTypeException as error:
                raise ParameterError(f"parameter '{name}' must be a number such as 0.1") from error
            self._value(name)

    @property
    def given(self) -> list[str]:
        """Names of those that the node was started with."""
        return list(self._names)

    def over(self, tolerances: Tolerances, joint_names: Sequence[str]) -> Tolerances:
        """``tolerances`` with what the constraints say in place of them.

        Raises:
            ParameterError: a constraint is negative, or names a joint that the arm does not have.
        """
        path, goal, time = np.array(tolerances.path), np.array(tolerances.goal), tolerances.goal_time
        for name in self._names:
            value, match = self._value(name), _OF_JOINT.fullmatch(name)
            if match is None:
                if name == GOAL_TIME:
                    time = value
                else:
                    goal[1, :] = value
            elif match[1] not in joint_names:
                raise ParameterError(
                    f"parameter '{name}': there is no joint {quoted(match[1])}; the joints are"
                    f" {', '.join(joint_names)}"
                )
            else:
                (path if match[2] == "trajectory" else goal)[0, list(joint_names).index(match[1])] = value
        return replace(tolerances, path=path, goal=goal, goal_time=time)

    def _value(self, name: str) -> float:
        value = float(self._node.get_parameter(name).value)
        if not 0.0 <= value < np.inf:
            raise ParameterError(f"parameter '{name}' is {value}; it must be 0 (none) or positive")
        return value
