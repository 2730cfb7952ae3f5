"""Payload, gravity and friction set at one node and followed by the others.

The message is that of ``/parameter_events``, but latched: who comes late gets the last one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.ros.support import qos

SHARED = (
    "gravity",
    "robot_compensates_gravity",
    *(field.name for cls in (PayloadParameters, ActuatorParameters) for field in dataclasses.fields(cls)),
)
"""The parameters that are followed."""
TOPIC = "robot_model/live_parameters"
"""Where they are published, relative to the namespace of who follows."""


class LivePublisher:
    """Publishes the shared parameters of the node that owns them, on ``~/live_parameters``."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher = node.create_publisher(ParameterEvent, "~/live_parameters", qos.DESCRIPTION)

    def publish(self, changed: Mapping[str, Any]) -> None:
        """Tell every shared parameter that is set, with ``changed`` in place of the node's own values."""
        event = ParameterEvent(node=self._node.get_fully_qualified_name())
        event.stamp = self._node.get_clock().now().to_msg()
        for name in SHARED:
            own = self._node.get_parameter_or(name, Parameter(name))
            parameter = Parameter(name, value=changed[name]) if name in changed else own
            if parameter.type_ != Parameter.Type.NOT_SET:
                event.changed_parameters.append(parameter.to_parameter_msg())
        self._publisher.publish(event)


class LiveFollower:
    """Sets a node's parameters to those that ``robot_model`` publishes; what it refuses stays as it was."""

    def __init__(self, node: Node) -> None:
        self._node = node
        node.create_subscription(ParameterEvent, TOPIC, self._on_event, qos.DESCRIPTION)

    def _on_event(self, event: ParameterEvent) -> None:
        changed = [
            Parameter.from_parameter_msg(told)
            for told in event.changed_parameters
            if told.name in SHARED and self._differs(told.name, parameter_value_to_python(told.value))
        ]
        if not changed:
            return
        result = self._node.set_parameters_atomically(changed)
        names = ", ".join(parameter.name for parameter in changed)
        if result.successful:
            self._node.get_logger().info(f"{names}: as {event.node} says")
        else:
            self._node.get_logger().error(
                f"{names} of {event.node} are refused, the own values stay: {result.reason}"
            )

    def _differs(self, name: str, value: Any) -> bool:
        if not self._node.has_parameter(name):
            return False
        own = self._node.get_parameter_or(name, Parameter(name)).value
        return (list(own) if hasattr(own, "__iter__") else own) != (
            list(value) if hasattr(value, "__iter__") else value
        )
