"""Payload, gravity and friction set at one node and followed by the others.

The message is that of ``/parameter_events``, but latched and repeated: who comes late gets the last one, and
who follows knows that the sender lives. A second sender is refused: of those that live the eldest counts.
"""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Mapping
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterEvent, ParameterValue
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.errors import shown
from robot_dynamics.ros.support import qos

SHARED = (
    "gravity",
    "robot_compensates_gravity",
    *(field.name for cls in (PayloadParameters, ActuatorParameters) for field in dataclasses.fields(cls)),
)
"""The parameters that are followed."""
TOPIC = "robot_model/live_parameters"
"""Topic on which they are published, relative to the namespace of who follows."""
REPEAT = 1.0
"""Time between two messages of a sender [s]."""
ALIVE = 10.0
"""Silence of a sender after which another one may take its place [s]."""
ANSWER = 5.0
"""Time that the owner has to answer a follower [s]."""
_SENDER = "sender"
"""Name in ``new_parameters`` under which a message carries the identity of its sender."""


class Senders:
    """Decides between several senders: of those that live the one that began first counts.

    Attributes:
        owner: identity of the sender that counts; None before the first.
    """

    def __init__(self) -> None:
        self.owner: str | None = None
        self._heard = 0.0

    def admits(self, sender: str) -> bool:
        """Check whether a message of this sender counts; identities sort by their beginnings."""
        now = time.monotonic()
        if self.owner is not None and sender > self.owner and now - self._heard < ALIVE:
            return False
        self.owner, self._heard = sender, now
        return True

    def elder(self, own: str) -> bool:
        """Check whether a sender lives that began before this one."""
        return self.owner is not None and self.owner < own and time.monotonic() - self._heard < ALIVE


class LivePublisher:
    """Publishes the shared parameters of the node that owns them, on ``~/live_parameters``.

    While an elder sender lives there, nothing is published.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._identity = f"{time.time_ns():020d} {uuid.uuid4().hex}"
        self._others = Senders()
        self._event: ParameterEvent | None = None
        self._silent = False
        self._publisher = node.create_publisher(ParameterEvent, "~/live_parameters", qos.DESCRIPTION)
        node.create_subscription(ParameterEvent, "~/live_parameters", self._on_event, qos.STREAM)
        node.create_timer(REPEAT, self._repeat, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def publish(self, changed: Mapping[str, Any]) -> None:
        """Tell every shared parameter that is set, with ``changed`` in place of the node's own values."""
        event = ParameterEvent(node=self._node.get_fully_qualified_name())
        event.stamp = self._node.get_clock().now().to_msg()
        value = ParameterValue(type=4, string_value=self._identity)
        event.new_parameters.append(ParameterMessage(name=_SENDER, value=value))
        of_tips = [f"payload.{name}" for name in self._node.get_parameters_by_prefix("payload")]
        for name in (*SHARED, *of_tips):
            own = self._node.get_parameter_or(name, Parameter(name))
            parameter = Parameter(name, value=changed[name]) if name in changed else own
            if parameter.type_ != Parameter.Type.NOT_SET:
                event.changed_parameters.append(parameter.to_parameter_msg())
        self._event = event
        self._repeat()

    def _repeat(self) -> None:
        if self._event is None:
            return
        if self._others.elder(self._identity):
            if not self._silent:
                self._node.get_logger().warning(
                    f"another node publishes {self._publisher.topic_name}: this one is silent there, and its"
                    " payload, gravity and friction count nowhere else"
                )
            self._silent = True
            return
        self._silent = False
        self._publisher.publish(self._event)

    def _on_event(self, event: ParameterEvent) -> None:
        sender = _sender_of(event)
        if sender != self._identity:
            self._others.admits(sender)


class LiveFollower:
    """Sets a node's parameters to those that ``robot_model`` publishes; what it refuses stays as it was.

    What is set at the node itself is passed on to the owner.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._senders = Senders()
        self._refused: set[str] = set()
        self._owner = ""
        self._applies = False
        self._passed: dict[str, float] = {}
        node.create_subscription(ParameterEvent, TOPIC, self._on_event, qos.DESCRIPTION)
        node.add_post_set_parameters_callback(self._on_set)

    def _on_event(self, event: ParameterEvent) -> None:
        sender = _sender_of(event)
        if not self._senders.admits(sender):
            if sender not in self._refused:
                self._refused.add(sender)
                self._node.get_logger().error(
                    f"a second sender of {self._node.resolve_topic_name(TOPIC)}, {shown(event.node)}, is"
                    " refused: the first one counts while it lives"
                )
            return
        self._owner = event.node
        now = time.monotonic()
        changed = [
            Parameter.from_parameter_msg(reported)
            for reported in event.changed_parameters
            if _is_shared(reported.name)
            and self._passed.get(reported.name, 0.0) < now
            and self._differs(reported.name, parameter_value_to_python(reported.value))
        ]
        if not changed:
            return
        self._applies = True
        try:
            result = self._node.set_parameters_atomically(changed)
        finally:
            self._applies = False
        names = ", ".join(parameter.name for parameter in changed)
        if result.successful:
            self._node.get_logger().info(f"{names}: as {event.node} says")
        else:
            self._complain(names, event.node, result.reason)

    def _complain(self, names: str, owner: str, reason: str) -> None:
        text = f"{names} of {owner} are refused, the own values stay: {reason}"
        if text not in self._refused:  # the owner repeats them
            self._refused.add(text)
            self._node.get_logger().error(text)

    def _on_set(self, parameters: list[Parameter]) -> None:
        """Pass what was set here on to the owner, from which it comes back."""
        given = [parameter for parameter in parameters if _is_shared(parameter.name)]
        if self._applies or not given or not self._owner:
            return
        names, owner = ", ".join(parameter.name for parameter in given), self._owner
        client = self._node.create_client(SetParametersAtomically, f"{owner}/set_parameters_atomically")
        request = SetParametersAtomically.Request(parameters=[one.to_parameter_msg() for one in given])
        self._passed |= {parameter.name: time.monotonic() + ANSWER for parameter in given}

        def answered(future: Any) -> None:
            for parameter in given:
                self._passed.pop(parameter.name, None)
            self._node.destroy_client(client)
            result = future.result().result
            if result.successful:
                self._node.get_logger().info(f"{names}: passed on to {owner}")
            else:
                self._node.get_logger().error(
                    f"{names}: {owner} refuses it, its values count: {result.reason}"
                )

        client.call_async(request).add_done_callback(answered)

    def _differs(self, name: str, value: Any) -> bool:
        if not self._node.has_parameter(name):
            return False
        own = self._node.get_parameter_or(name, Parameter(name)).value
        return (list(own) if hasattr(own, "__iter__") else own) != (
            list(value) if hasattr(value, "__iter__") else value
        )


def _is_shared(name: str) -> bool:
    """True of a parameter that is followed; the payloads of several tips have their names from the robot."""
    return name in SHARED or name.startswith("payload.")


def _sender_of(event: ParameterEvent) -> str:
    """Identity of a message's sender; empty where it has none."""
    return next(
        (str(reported.value.string_value) for reported in event.new_parameters if reported.name == _SENDER),
        "",
    )
