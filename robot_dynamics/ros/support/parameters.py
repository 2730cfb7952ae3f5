"""ROS parameters from frozen dataclasses (see :mod:`robot_dynamics.parameters`)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.parameters import Description, describe

T = TypeVar("T")

_TYPES = {
    (bool, False): Parameter.Type.BOOL,
    (int, False): Parameter.Type.INTEGER,
    (float, False): Parameter.Type.DOUBLE,
    (str, False): Parameter.Type.STRING,
    (bool, True): Parameter.Type.BOOL_ARRAY,
    (int, True): Parameter.Type.INTEGER_ARRAY,
    (float, True): Parameter.Type.DOUBLE_ARRAY,
    (str, True): Parameter.Type.STRING_ARRAY,
}
_TYPE_WORDS = {
    Parameter.Type.BOOL: "true or false",
    Parameter.Type.INTEGER: "a whole number",
    Parameter.Type.DOUBLE: "a number written with a decimal point, such as 1.0",
    Parameter.Type.STRING: "a text",
    Parameter.Type.BOOL_ARRAY: "a list of true and false",
    Parameter.Type.INTEGER_ARRAY: "a list of whole numbers, such as [1]",
    Parameter.Type.DOUBLE_ARRAY: "a list of numbers written with a decimal point, such as [1.0]",
    Parameter.Type.STRING_ARRAY: "a list of texts, such as ['a']",
}
_INT64_MAX = 2**63 - 1


def declare(node: Node, cls: type[T], prefix: str = "") -> T:
    """Declare every described field of ``cls`` on ``node`` and return the validated instance.

    An array parameter that is not set is the empty list: ROS 2 has no way to write a typed empty list.

    Args:
        node: the node that gets the parameters.
        cls: a frozen dataclass whose fields come from :func:`robot_dynamics.parameters.parameter`.
        prefix: put before every name, e.g. ``"payload."``.

    Raises:
        ParameterError: a value given by the user has the wrong type or is out of bounds.
    """
    values = {}
    for description in describe(cls):
        name = prefix + description.name
        kind = _TYPES[description.type, description.array]
        default = list(description.default) if description.array else description.default
        initial = kind if description.array and not default else default
        try:
            declared = node.declare_parameter(name, initial, _descriptor(description))
        except InvalidParameterTypeException as error:
            raise ParameterError(f"parameter '{name}' must be {_TYPE_WORDS[kind]}") from error
        except InvalidParameterValueException as error:
            raise ParameterError(f"parameter '{name}' must be {description.constraints}; {error}") from error
        values[description.name] = _value(declared, description)
    return cls(**values)


def as_parameters(values: object) -> list[Parameter]:
    """ROS parameters with the values of a described instance."""
    found = []
    for about in describe(type(values)):
        value = getattr(values, about.name)
        found.append(
            Parameter(about.name, _TYPES[about.type, about.array], list(value) if about.array else value)
        )
    return found


def watch(
    node: Node,
    current: T,
    on_change: Callable[[T], None],
    *,
    prefix: str = "",
    check: Callable[[T], None] | None = None,
) -> Watcher[T]:
    """Follow live changes of the parameters that ``declare`` put on ``node``.

    A change builds a new instance; where the class or ``check`` refuses it, the parameter keeps its value and
    the caller gets the reason.

    Args:
        node: the node that owns the parameters.
        current: the instance that :func:`declare` returned.
        on_change: called with the new instance once all parties have accepted the change; a ParameterError
            takes the change back.
        prefix: as given to :func:`declare`.
        check: further conditions, e.g. that a list fits the robot; raises RobotDynamicsError to refuse.
    """
    return Watcher(node, current, on_change, prefix, check)


class Watcher(Generic[T]):
    """Keeps the latest accepted instance of a parameter class in ``current``."""

    def __init__(
        self,
        node: Node,
        current: T,
        on_change: Callable[[T], None],
        prefix: str,
        check: Callable[[T], None] | None,
    ) -> None:
        self.current = current
        self._node = node
        self._on_change = on_change
        self._check = check
        self._taking_back = False
        self._fields = {prefix + d.name: d for d in describe(type(current))}
        node.add_on_set_parameters_callback(self._decide)
        node.add_post_set_parameters_callback(self._apply)

    def _changed(self, parameters: list[Parameter]) -> T | None:
        mine = [(self._fields[p.name], p) for p in parameters if p.name in self._fields]
        if not mine:
            return None
        values = {d.name: getattr(self.current, d.name) for d in self._fields.values()}
        values.update({d.name: _value(p, d) for d, p in mine})
        return type(self.current)(**values)

    def _decide(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            candidate = self._changed(parameters)
            if candidate is not None and self._check is not None and not self._taking_back:
                self._check(candidate)
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: list[Parameter]) -> None:
        candidate = self._changed(parameters)
        if candidate is None:
            return
        before, self.current = self.current, candidate
        try:
            self._on_change(candidate)
        except ParameterError as error:
            if self._taking_back:
                return  # what was in force before stays so, though it would be refused now
            # States that came after the decision may tell more, such as their period.
            self._node.get_logger().error(f"taken back: {error}")
            values = zip(as_parameters(before), as_parameters(candidate), self._fields, strict=True)
            self._taking_back = True
            try:
                self._node.set_parameters_atomically(
                    [
                        Parameter(name, old.type_, old.value)
                        for old, new, name in values
                        if old.value != new.value
                    ]
                )
            finally:
                self._taking_back = False


def _value(declared: Parameter, description: Description) -> Any:
    if description.array:
        return tuple(declared.value or ())
    return declared.value


def _descriptor(description: Description) -> ParameterDescriptor:
    text = f"{description.text} [{description.unit}]" if description.unit else description.text
    descriptor = ParameterDescriptor(
        description=text,
        additional_constraints=description.constraints,
        read_only=description.read_only,
    )
    low, high = description.minimum, description.maximum
    if description.array or (low is None and high is None):
        return descriptor  # rclpy applies a range to scalars only; the dataclass checks the elements
    if description.type is float:
        descriptor.floating_point_range = [
            FloatingPointRange(
                from_value=-sys.float_info.max if low is None else float(low),
                to_value=sys.float_info.max if high is None else float(high),
            )
        ]
    elif description.type is int:
        descriptor.integer_range = [
            IntegerRange(
                from_value=-_INT64_MAX if low is None else int(low),
                to_value=_INT64_MAX if high is None else int(high),
                step=1,
            )
        ]
    return descriptor
