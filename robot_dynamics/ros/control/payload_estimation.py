"""Estimation of a payload while the arm moves: a service, and the result on a topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.payload_estimate import PayloadEstimate, estimate_payload
from robot_dynamics.errors import short
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.control.records import Cycles
from robot_dynamics.ros.models.arm_model import ArmModel
from robot_dynamics.ros.support import parameters, qos
from robot_dynamics.ros.support.background import Background
from robot_dynamics.ros.support.messages import set_stamp
from robot_dynamics.spatial import Array

GAP = 0.1
"""Time between two states after which an estimation begins anew [s]."""
RESULT = "~/payload_estimate"


@dataclass(frozen=True)
class PayloadEstimationParameters:
    """Estimation of a payload."""

    payload_estimate_time: float = parameter(
        5.0,
        "Time of motion from which ~/estimate_payload takes its result",
        unit="s",
        minimum=1.0,
        maximum=60.0,
    )
    apply_payload: bool = parameter(
        False, "Set payload_mass and payload_center to the result of ~/estimate_payload, while the arm moves"
    )

    def __post_init__(self) -> None:
        validate(self)


class PayloadEstimation:
    """Collects states and external efforts after a request, and publishes the payload that explains them.

    Args:
        node: gets the service, the topic and the parameters.
        controller: gives the controller in force; None while there is none.
        model: gives its model.
    """

    def __init__(
        self,
        node: LifecycleNode,
        controller: Callable[[], ArmController | None],
        model: Callable[[], ArmModel],
    ) -> None:
        self._node, self._log = node, node.get_logger()
        self._controller, self._model = controller, model
        self._given = parameters.declare(node, PayloadEstimationParameters)
        parameters.watch(node, self._given, self._use)
        self._result = node.create_publisher(InertiaStamped, RESULT, qos.COMMAND)
        node.create_service(Trigger, "~/estimate_payload", self._on_request)
        self._background = Background(node)
        self._parts: list[tuple[Array, Array, Array, Array]] | None = None
        self._solving = False
        self._last = 0
        self._used: ArmModel | None = None

    def _use(self, accepted: PayloadEstimationParameters) -> None:
        self._given = accepted

    def _on_request(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.message = self._obstacle()
        response.success = not response.message
        if response.success:
            self._parts, self._used = [], self._model()
            response.message = (
                f"let the arm move for {self._given.payload_estimate_time:g} s; the result comes on {RESULT}"
            )
            self._log.info(f"estimating the payload: {response.message}")
        return response

    def _obstacle(self) -> str:
        """Reason why no payload can be estimated now; empty where one can."""
        controller = self._controller()
        if controller is None or not controller.phase.controls:
            return "the controller does not control the arm"
        if self._parts is not None or self._solving:
            return "a payload is being estimated already"
        if len(controller.chain.tips) > 1:
            return "the robot has several tips, and external efforts do not tell their payloads apart"
        if controller.parameters.observer_gain <= 0.0 or not np.isfinite(controller.external.threshold).any():
            return "external efforts are not observed: observer_gain must be positive and the model compiled"
        if self._model().compensated:
            return "the robot carries its weight by itself, so the efforts tell nothing of the payload's"
        return ""

    def observe(self, cycles: Cycles, controller: ArmController) -> None:
        """Take what the controller did since the last call."""
        if self._parts is None or not len(cycles):
            return
        if self._used is not self._model():
            self._end("the model has changed meanwhile")
            return
        stamps = cycles.nanoseconds
        if self._parts and not 0.0 < 1e-9 * (int(stamps[0]) - self._last) < GAP:
            self._parts = []
        position, velocity, telemetry = (cycles.array(name) for name in ("position", "velocity", "telemetry"))
        self._parts.append(
            (stamps.copy(), position.copy(), velocity.copy(), telemetry[:, : position.shape[1]].copy())
        )
        self._last = int(stamps[-1])
        first = int(self._parts[0][0][0])
        if 1e-9 * (self._last - first) < self._given.payload_estimate_time:
            return
        whole = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        times, links, gain = (
            1e-9 * (whole[0] - first),
            self._used.dynamics,
            controller.parameters.observer_gain,
        )
        _, keep = np.unique(times, return_index=True)
        seen = (times[keep], *(part[keep] for part in whole[1:]))
        self._background.submit(
            "payload", lambda: estimate_payload(links, gain, *seen), self._take, self._end
        )
        self._parts, self._solving = None, True

    def _end(self, reason: str) -> None:
        self._parts, self._solving = None, False
        self._log.warning(f"no payload is estimated: {reason}")

    def _take(self, found: PayloadEstimate) -> None:
        self._solving = False
        model = self._used
        assert model is not None
        message = InertiaStamped()
        message.header.frame_id = model.chain.tip
        set_stamp(message.header.stamp, self._last)
        message.inertia.m = found.mass
        center = message.inertia.com
        center.x, center.y, center.z = found.center.tolist()
        self._result.publish(message)
        place = ", ".join(short(value) for value in found.center.tolist())
        self._log.info(
            f"payload beside the declared one: {short(found.mass)} kg at ({place}) m in {model.chain.tip},"
            f" standard deviation {short(found.mass_deviation)} kg;"
            f" {100.0 * found.unexplained:.0f} % of the external efforts are not explained by it"
        )
        if self._given.apply_payload:
            self._apply(found, model)

    def _apply(self, found: PayloadEstimate, model: ArmModel) -> None:
        if model is not self._model():
            self._log.warning("the payload is not applied: the model has changed meanwhile")
            return
        wanted = found.added_to(model.payload)
        result = self._node.set_parameters_atomically(
            [
                Parameter("payload_mass", value=wanted.payload_mass),
                Parameter("payload_center", value=list(wanted.payload_center)),
            ]
        )
        if not result.successful:
            self._log.warning(f"the payload is not applied: {result.reason}")
