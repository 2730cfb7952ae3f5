"""Node ``web_view``: the live machine in a browser, where there is no rviz.

What is drawn is in ``robot_dynamics.view``, what is read and sent in ``robot_dynamics.ros.viewing``; this
module serves the page and passes its wishes on. It looks at the topics at its own rate and never keeps up
with the control loop.
"""

from __future__ import annotations

import queue
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import Log
from rclpy.logging import LoggingSeverity
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import lacking
from robot_dynamics.ros.models.machines import load_machine
from robot_dynamics.ros.support import parameters, qos, spin
from robot_dynamics.ros.support.paced import spin_at
from robot_dynamics.ros.viewing.arm import ArmSource
from robot_dynamics.ros.viewing.controller_parameters import ControllerParameters
from robot_dynamics.ros.viewing.source import MachineSource
from robot_dynamics.ros.viewing.stewart import StewartSource
from robot_dynamics.view.machine import Geometry
from robot_dynamics.view.moves import MoveGoal
from robot_dynamics.view.parameters import WebViewParameters
from robot_dynamics.view.stewart_geometry import StewartGeometry

MEMORY = 10.0
"""Seconds for which the page shows an answer or another node's warning."""
ANSWER_TIME = 1.0
"""Seconds for which the page rests until a service has answered."""
VISITOR = "a browser shows the page"
"""Logged when one has drawn the page."""
SAID = 5
"""Lines in the log about what of a robot is not drawn, at most."""
THROTTLE = 2.0
"""Seconds between two log lines about the same fault."""


class WebView(Node):
    """Serves the page and passes its wishes on."""

    def __init__(self) -> None:
        super().__init__("web_view")
        self.settings = parameters.declare(self, WebViewParameters)
        settings = self.settings
        platform = self._platform() if settings.machine else None
        self._server, pages, address = _open(settings, self._on_stranger)
        server = self._server
        self._patience = 0.0
        self._wishes: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        actions = pages.Actions(
            send=lambda goal: self._wishes.put(lambda: self._send(goal)),
            hold=lambda: self._wishes.put(lambda: self._call(self._hold)),
            # The controller would pull a machine that has been put elsewhere back to its old place.
            reset=lambda: self._wishes.put(self._begin_anew),
            reset_fault=lambda: self._wishes.put(lambda: self._call(self._reset_fault)),
            set=lambda values: self._wishes.put(lambda: self._tuning.set(values)),
            push=lambda link, wrench: self._wish(lambda: self._source.push(link, wrench)),
            target=lambda pose: self._wish(lambda: self._source.target(pose)),
        )
        gravity = settings.gravity if platform is None else tuple(platform.machine.gravity)
        self._page = pages.Page(server, settings, gravity, actions)
        controller = settings.controlled_by
        self._source: MachineSource
        if platform is None:
            self._source = ArmSource(
                self,
                controller,
                self._show,
                lambda text, level: self._page.notices.say("description", text, level),
                Path(settings.description_folder) if settings.description_folder else None,
                settings.simulator,
            )
        else:
            self._source = StewartSource(self, controller, platform, settings.zero_lengths)
            self._page.show(platform)
        self._hold = self.create_client(Trigger, f"{controller}/hold")
        self._reset = self.create_client(Trigger, f"{settings.simulator}/reset")
        self._reset_fault = self.create_client(Trigger, f"{controller}/reset_fault")
        self._tuning = ControllerParameters(
            self,
            controller,
            self._page.controller.show,
            lambda text: self._page.notices.refuse("wish", text),
            lambda text: self._page.notices.say("wish", text, "info", MEMORY),
        )
        self.create_subscription(Log, "/rosout", self._on_log, qos.TRAJECTORY)
        server.on_client_connect(self._on_visitor)
        what = "robot" if platform is None else f"platform {platform.name}"
        self.get_logger().info(f"the {what} is shown at {address}")

    def _platform(self) -> StewartGeometry:
        machine, notes = load_machine(self.settings.machine)
        for note in notes:
            self.get_logger().warning(note)
        return StewartGeometry(machine)

    def _show(self, geometry: Geometry) -> None:
        """Show another robot, and say once in the log what of it cannot be drawn."""
        self._page.show(geometry)
        for line in geometry.skipped[:SAID]:
            self.get_logger().warning(line)

    def _on_visitor(self, client: Any) -> None:
        self._page.welcome(client)
        self.get_logger().info(VISITOR)

    def _on_stranger(self, reason: str) -> None:
        self.get_logger().warning(
            f"a browser's request is refused: {reason}; see the parameter 'allowed_origins'",
            throttle_duration_sec=THROTTLE,
        )

    # What is shown

    def look(self) -> None:
        """Bring the page up to date and do what its users wish."""
        try:
            self._look()
        except RuntimeError as error:
            # viser wakes its sender from this thread, which fails where the sender goes to sleep just then.
            # The message is queued by then; the next look sends the rest.
            if "mutated during iteration" not in str(error):
                raise

    def _look(self) -> None:
        self._source.take()
        while not self._wishes.empty():
            self._wishes.get()()
        sample = self._source.sample()
        for subject, text in self._source.complaints().items():
            self._page.notices.say(subject, text)
        self._page.notices.tidy()
        self._page.lock(self._source.locked())
        self._tuning.look()
        if sample is not None:
            self._page.update(sample)

    def _on_log(self, message: Log) -> None:
        """Warnings of the controller and the simulator are answers to what the user has done."""
        name = message.name.rpartition(".")[2]
        if (
            name in (self.settings.controlled_by, self.settings.simulator)
            and message.level >= LoggingSeverity.WARN
        ):
            text = f"{name}: {message.msg}"
            if message.level >= LoggingSeverity.ERROR or "refused" in message.msg:
                self._page.notices.refuse("log", text)
            else:
                self._page.notices.say("log", text, "warning", MEMORY)

    # What the user wishes

    def _wish(self, wish: Callable[[], None]) -> None:
        """Do what a user wishes, in the node's own thread."""

        def tried() -> None:
            try:
                wish()
            except RobotDynamicsError as error:
                self._page.notices.refuse("wish", str(error))

        self._wishes.put(tried)

    def _send(self, goal: MoveGoal) -> None:
        self._page.notices.say("log", "")
        try:
            self._source.send(goal)
        except RobotDynamicsError as error:
            self._page.notices.refuse("wish", f"not sent: {error}")
            return
        self._page.notices.say("wish", f"sent: {goal.duration:.1f} s", "info", MEMORY)

    def _begin_anew(self) -> None:
        self._page.release()
        self._call(self._reset, then=self._hold)

    @property
    def waiting(self) -> bool:
        """Return whether a service is about to answer."""
        return time.monotonic() < self._patience

    def _call(self, client: Any, then: Any = None) -> None:
        """Call a Trigger service and show its answer; after its success, call another."""
        say = self._page.notices.say
        say("log", "")
        name = self.resolve_service_name(client.srv_name)
        if not client.service_is_ready():
            self._page.notices.refuse("wish", f"there is no service {name}")
            return
        say("wish", f"{name} ...", "info", MEMORY)

        def answered(future: Any) -> None:
            answer = future.result()
            self._patience = 0.0
            text = f"{name}: {answer.message or 'done'}"
            if answer.success:
                say("wish", text, "info", MEMORY)
            else:
                self._page.notices.refuse("wish", text)
            if answer.success and then is not None and then.service_is_ready():
                then.call_async(Trigger.Request())

        self._patience = time.monotonic() + ANSWER_TIME
        client.call_async(Trigger.Request()).add_done_callback(answered)

    def on_stop(self) -> None:
        """Close the page."""
        self._server.stop()


def _open(settings: WebViewParameters, on_stranger: Callable[[str], None]) -> tuple[Any, Any, str]:
    """The server, the module of the page, and its address."""
    try:
        from robot_dynamics.view.browser import page, server
    except ImportError as error:
        raise RobotDynamicsError(lacking("the web view needs", "viser", reason=str(error))) from error
    opened = server.open_server(
        settings.host, settings.port, "robot_dynamics", settings.allowed_origins, on_stranger
    )
    return opened, page, server.url_of(settings.host, settings.port)


def run(node: WebView, stop: spin.StopEvent) -> None:
    """Look at the topics at the node's rate until the event."""
    spin_at(node.settings.update_rate, node, stop, node.look, lambda: node.waiting)


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(WebView, args, loop=run)


if __name__ == "__main__":
    sys.exit(main())
