"""Services that stop, park and release a robot, and the command to its brakes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Generic

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from robot_dynamics.control.brakes import SLIPPING
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.control.controller_node import ControllerNode
from robot_dynamics.ros.control.host import C
from robot_dynamics.ros.control.remembered_stops import RememberedStops
from robot_dynamics.ros.support import qos

LOOK = 0.01
"""Longest time between two looks at brakes [s]."""
REPORT_TIMEOUT = 1.0
"""Age from which on the driver's last state of the brakes does not count [s]."""
REPORT_PATIENCE = 1.0
"""Time for which the driver's state may differ from the command [s]."""


class StopServices(Generic[C]):
    """Services of a robot's node that stop it, and its brakes.

    Args:
        node: gets them.
        controller_node: of the node.
        stops: of the node.
        machine: name of the robot; it may raise RobotDynamicsError where nothing tells it.
        robot: what it is, for the log.
        brakes: whether it has brakes.
        more: further services, by name.
    """

    def __init__(
        self,
        node: Node,
        controller_node: ControllerNode[C],
        stops: RememberedStops,
        machine: Callable[[], str],
        robot: str,
        brakes: bool,
        more: Mapping[str, Callable[[Any], str]] | None = None,
    ) -> None:
        self._node, self._controller_node = node, controller_node
        self._stops, self._machine = stops, machine
        self._robot, self._brakes = robot, brakes
        self._state = ""
        self._report: bool | None = None
        self._reported_at = self._agreed_at = time.monotonic()
        self._told = False
        if brakes:
            node.create_subscription(Bool, "~/brake_state", self._on_report, qos.NEWEST)
            controller_node.ownership.on_braked = self._protect
            controller_node.ownership.on_released = self._support
        # Of their own: while one waits until a stop is written, the node's other callbacks go on.
        group = MutuallyExclusiveCallbackGroup()
        services: dict[str, Callable[[Any], str]] = {
            "park": lambda controller: controller.park(),
            "emergency_stop": lambda controller: controller.emergency_stop(),
            **({"unpark": lambda controller: controller.unpark()} if brakes else {}),
            **(more or {}),
        }
        for name, ask in services.items():
            inactive = self._stop_inactive if name == "emergency_stop" else _refuse
            node.create_service(Trigger, f"~/{name}", self._service(ask, inactive), callback_group=group)
        controller_node.loop.looks.append(self.look)

    def look(self) -> float:
        """Tell the brakes and the log what has changed; returns how long the next look may wait [s]."""
        controller: Any = self._controller_node.loop.controller
        acting = controller is not None and self._controller_node.loop.active
        if self._brakes:
            if controller is not None:
                self._compare(controller, acting)
            self._controller_node.loop.brake(controller is None or not acting or controller.brake)
        if controller is not None and acting:
            self._stops.look(controller)
        state = controller.state if self._brakes and controller is not None and acting else ""
        if state != self._state:
            self._state = state
            log = self._node.get_logger()
            if state == SLIPPING:
                log.error(f"the {self._robot} moves on its brakes: {state}")
            elif state:
                log.info(f"the {self._robot}: {state}")
        return LOOK if self._brakes else math.inf

    def _on_report(self, message: Bool) -> None:
        """The driver knows the state of its brakes."""
        self._report, self._reported_at = bool(message.data), time.monotonic()
        self.look()

    def _compare(self, controller: Any, acting: bool) -> None:
        """Believe the driver, and say where its brakes do not follow their command."""
        now, log = time.monotonic(), self._node.get_logger()
        if self._report is not None and now - self._reported_at > REPORT_TIMEOUT:
            self._report = None
            log.warning(
                "the driver reports its brakes no more: brake_engage_time and brake_release_time count"
            )
        controller.report_brakes(self._report)
        if not acting or self._report in (None, controller.brake):
            self._agreed_at, self._told = now, False
        elif now - self._agreed_at > REPORT_PATIENCE and not self._told:
            self._told = True
            if self._report:
                self._protect("the driver reports engaged brakes, which this node has released")
            else:
                log.error(
                    "the driver reports released brakes, which this node has engaged: efforts carry the"
                    f" {self._robot}"
                )

    def _protect(self, reason: str) -> None:
        """Others interfere with a moving robot: stop it until somebody calls ``~/unpark``."""
        controller = self._acting
        if controller is not None:
            controller.emergency_stop()
            self.look()
        remedy = (
            "~/reset_fault, then ~/unpark" if controller is not None and controller.latched else "~/unpark"
        )
        self._node.get_logger().error(
            f"{reason}: emergency stop{self._controller_node.active_trajectory.dropped()}; call {remedy}"
        )

    def _support(self, reason: str) -> None:
        """Others have released brakes on which the robot rests: carry it until they hold again."""
        controller = self._acting
        if controller is not None:
            controller.support()
        self._node.get_logger().error(
            f"{reason}: engaged again, and efforts carry the {self._robot} until the brakes hold"
        )

    @property
    def _acting(self) -> Any | None:
        """The controller, where it is active."""
        loop = self._controller_node.loop
        return loop.controller if loop.active else None

    def _service(
        self, ask: Callable[[Any], str], inactive: Callable[[], tuple[bool, str]]
    ) -> Callable[[Trigger.Request, Trigger.Response], Coroutine[Any, Any, Trigger.Response]]:
        async def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            controller: Any = self._controller_node.loop.controller
            if controller is None or not self._controller_node.loop.active:
                response.success, response.message = inactive()
            else:
                reason = ask(controller)
                self.look()
                response.success, response.message = not reason, reason or controller.state
            if failure := await self._stops.written():
                response.message += f"; {failure}"
            return response

        return answer

    def _stop_inactive(self) -> tuple[bool, str]:
        """An emergency stop while no controller is active counts when one is activated."""
        try:
            self._stops.stop(self._machine())
        except RobotDynamicsError as error:
            return False, f"the controller is not active, and the stop cannot be remembered: {error}"
        rest = "keeps the brakes engaged" if self._brakes else f"holds the {self._robot}"
        remedy = "~/unpark" if self._brakes else "~/reset_fault"
        self._node.get_logger().warning(f"emergency stop while inactive: activation {rest}")
        return True, f"the controller is not active: activation {rest} until {remedy}"


def _refuse() -> tuple[bool, str]:
    return False, "the controller is not active"
