"""Estimation of payloads while the arm moves or rests: a service, and the result on a topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.payload_estimate import (
    APPROACH,
    LEAST_MASS,
    PayloadEstimate,
    estimate_at_rest,
    estimate_payload,
    rests,
)
from robot_dynamics.errors import short
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.control.records import Cycles
from robot_dynamics.ros.models.arm_model import ArmModel
from robot_dynamics.ros.models.tip_payloads import PREFIX
from robot_dynamics.ros.support import parameters, qos
from robot_dynamics.ros.support.background import Background
from robot_dynamics.ros.support.messages import set_stamp
from robot_dynamics.spatial import Array

GAP = 0.1
"""Time between two states after which an estimation begins anew [s]."""
LOOK = 300_000_000
"""Time between two looks for rests [ns]."""
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
    payload_estimate_rests: int = parameter(
        0,
        "Number of rests of 0.3 s from which ~/estimate_payload takes its result instead of the motion, in"
        " poses that are approached from both sides; 0: it takes the motion",
        minimum=0,
        maximum=100,
    )
    apply_payload: bool = parameter(
        False, "Set mass and centre of the payload to the result of ~/estimate_payload, while the arm moves"
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
        self._rests: list[tuple[Array, Array, Array]] = []
        self._last = self._looked = 0
        self._used: ArmModel | None = None

    def _use(self, accepted: PayloadEstimationParameters) -> None:
        self._given = accepted

    def _on_request(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.message = self._obstacle()
        response.success = not response.message
        if response.success:
            self._parts, self._used, self._rests = [], self._model(), []
            needed = self._given.payload_estimate_rests
            what = (
                f"let the arm rest {needed} times, in poses that joints approach from both sides"
                if needed
                else f"let the arm move for {self._given.payload_estimate_time:g} s"
            )
            response.message = f"{what}; the result comes on {RESULT}"
            self._log.info(f"estimating the payload: {response.message}")
        return response

    def _obstacle(self) -> str:
        """Reason why no payload can be estimated now; empty where one can."""
        controller = self._controller()
        if controller is None or not controller.phase.controls:
            return "the controller does not control the arm"
        if self._parts is not None or self._solving:
            return "a payload is being estimated already"
        if controller.measured_joints:
            return "measured joints move the arm, too, and a payload is estimated without them"
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
        if self._given.payload_estimate_rests:
            self._look_for_rests(controller)
            return
        if 1e-9 * (self._last - first) < self._given.payload_estimate_time:
            return
        links, gain, seen = self._used.dynamics, controller.parameters.observer_gain, self._seen()
        self._background.submit(
            "payload", lambda: estimate_payload(links, gain, *seen), self._take, self._end
        )
        self._parts, self._solving = None, True

    def _seen(self) -> tuple[Array, ...]:
        """Times, positions, velocities and external efforts of every state so far."""
        assert self._parts
        whole = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        times, keep = np.unique(1e-9 * (whole[0] - int(whole[0][0])), return_index=True)
        return (times, *(part[keep] for part in whole[1:]))

    def _look_for_rests(self, controller: ArmController) -> None:
        """Take the rests when there are enough; of what was before the last one nothing else is kept."""
        if self._last - self._looked < LOOK:
            return
        self._looked = self._last
        times, position, velocity, external = self._seen()
        found = rests(times, position, velocity)
        if len(self._rests) + len(found) >= self._given.payload_estimate_rests or (
            found and np.abs(velocity[-1]).max() > APPROACH
        ):
            self._rests += [(position[k], came, external[k]) for k, came in found]
            self._parts = []
            if found:
                self._log.info(f"{len(self._rests)} of {self._given.payload_estimate_rests} rests")
        if len(self._rests) < self._given.payload_estimate_rests:
            return
        assert self._used is not None
        links = self._used.dynamics
        given = [np.array(part) for part in zip(*self._rests, strict=True)]
        self._background.submit("payload", lambda: estimate_at_rest(links, *given), self._take, self._end)
        self._parts, self._solving = None, True

    def _end(self, reason: str) -> None:
        self._parts, self._solving = None, False
        self._log.warning(f"no payload is estimated: {reason}")

    def _take(self, found: tuple[PayloadEstimate, ...]) -> None:
        self._solving = False
        model = self._used
        assert model is not None
        for one in found:
            message = InertiaStamped()
            message.header.frame_id = one.tip
            set_stamp(message.header.stamp, self._last)
            message.inertia.m = one.mass
            center = message.inertia.com
            center.x, center.y, center.z = one.center.tolist()
            self._result.publish(message)
            place = ", ".join(short(value) for value in one.center.tolist())
            self._log.info(
                f"payload beside the declared one: {short(one.mass)} kg at ({place}) m in {one.tip},"
                f" standard deviations {short(one.mass_deviation)} kg and"
                f" {short(float(one.center_deviation.max()))} m;"
                f" {100.0 * one.unexplained:.0f} % of the external efforts are not explained by it"
            )
        if self._given.apply_payload:
            self._apply([one for one in found if one.mass >= LEAST_MASS], model)

    def _apply(self, found: Sequence[PayloadEstimate], model: ArmModel) -> None:
        if model is not self._model():
            self._log.warning("the payload is not applied: the model has changed meanwhile")
            return
        wanted: list[Parameter] = []
        for one in found:
            several = bool(model.loads)
            load = one.added_to(model.loads[one.tip] if several else model.payload)
            prefix = f"{PREFIX}{one.tip}." if several else "payload_"
            wanted += [
                Parameter(f"{prefix}mass", value=load.payload_mass),
                Parameter(f"{prefix}center", value=list(load.payload_center)),
            ]
        result = self._node.set_parameters_atomically(wanted)
        if not result.successful:
            self._log.warning(f"the payload is not applied: {result.reason}")
