"""Parameters of the ``joint_trajectory_controller`` that decide how a trajectory has to be sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterEvent, ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import qos_profile_parameter_events

from robot_dynamics.spatial import Array

REPLACEMENT = "allow_trajectory_replacement"
DECELERATE = "constraints.decelerate_on_cancel"
PERIOD = 0.5
"""Steady seconds between two looks at whether the controller is there."""


class DownstreamParameters:
    """Parameters of the controller behind a topic, read from its node and followed while they change.

    Attributes:
        replaces: whether it blends a new trajectory into the active one, and takes past stamps as now.

    Args:
        node: asks.
        topic: resolved name of the controller's topic ``joint_trajectory``.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self.replaces = False
        self._decelerates = False
        self._decelerations: dict[str, float] = {}
        self._joints: tuple[str, ...] = ()
        self._asked = False
        self._log = node.get_logger()
        self._name = topic.removesuffix("/joint_trajectory")
        self._client = node.create_client(GetParameters, f"{self._name}/get_parameters")
        node.create_subscription(
            ParameterEvent, "/parameter_events", self._on_event, qos_profile_parameter_events
        )
        node.create_timer(PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def about(self, joints: Sequence[str]) -> None:
        """The model has these joints."""
        self._joints, self._asked = tuple(joints), False

    @property
    def deceleration(self) -> Array | None:
        """(n,) with which the controller brakes the joints after a cancellation; None: it stops at once."""
        values = [self._decelerations.get(joint, 0.0) for joint in self._joints]
        return np.array(values) if self._decelerates and values and min(values) > 0.0 else None

    def _look(self) -> None:
        if not self._client.service_is_ready():
            if self._asked:
                self._asked = self.replaces = self._decelerates = False
                self._decelerations = {}
        elif not self._asked:
            self._asked = True
            # One by one: a node that has not declared one of several answers none of them.
            names = [f"constraints.{joint}.max_deceleration_on_cancel" for joint in self._joints]
            for name in (REPLACEMENT, DECELERATE, *names):
                self._ask(name)

    def _ask(self, name: str) -> None:
        answer = self._client.call_async(GetParameters.Request(names=[name]))
        answer.add_done_callback(lambda future: self._take(name, (future.result() or _NONE).values))

    def _on_event(self, event: ParameterEvent) -> None:
        if event.node == self._name:
            for changed in (*event.new_parameters, *event.changed_parameters):
                self._take(changed.name, [changed.value])

    def _take(self, name: str, values: Any) -> None:
        value = values[0] if values else None
        if value is None or value.type not in (ParameterType.PARAMETER_BOOL, ParameterType.PARAMETER_DOUBLE):
            return
        if name == REPLACEMENT:
            self._replace(value.bool_value)
        elif name == DECELERATE:
            self._decelerates = value.bool_value
        elif name.endswith(".max_deceleration_on_cancel"):
            self._decelerations[name.split(".", 1)[1].rsplit(".", 1)[0]] = value.double_value

    def _replace(self, replaces: bool) -> None:
        if replaces and not self.replaces:
            self._log.warning(
                f"{self._name} has {REPLACEMENT}: true, and takes stamps in the past as now: a replacement"
                " begins when it arrives, and is followed that much later. For exact times set it to false"
            )
        self.replaces = replaces


_NONE = GetParameters.Response()
