"""Node ``web_view``: the live robot in a browser, where there is no rviz.

What is drawn is in ``robot_dynamics.view``; this module moves messages. It looks at the topics at its own
rate and never keeps up with the control loop.
"""

from __future__ import annotations

import math
import queue
import sys
import time
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import Log
from rclpy.logging import LoggingSeverity
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.ros.support import parameters, qos, spin
from robot_dynamics.ros.support.description import DescriptionSource
from robot_dynamics.ros.support.joint_stream import STALE, JointStream
from robot_dynamics.ros.support.paced import spin_at
from robot_dynamics.view.moves import Goal, check_goal
from robot_dynamics.view.parameters import WebViewParameters
from robot_dynamics.view.robot_geometry import RobotGeometry, read_robot
from robot_dynamics.view.samples import Sample

MEMORY = 10.0
"""Seconds for which the page shows an answer or another node's warning."""


ANSWER_TIME = 1.0
"""Seconds for which the page rests until a service has answered."""


VISITOR = "a browser shows the page"
"""Logged when one has connected."""


class WebView(Node):
    """Serves the page and passes its wishes on."""

    def __init__(self) -> None:
        super().__init__("web_view")
        self.settings = parameters.declare(self, WebViewParameters)
        settings = self.settings
        server, pages, address = _open(settings)
        self._server = server
        self._patience = 0.0
        self._wishes: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        actions = pages.Actions(
            send=lambda goal: self._wishes.put(lambda: self._send(goal)),
            hold=lambda: self._wishes.put(lambda: self._call(self._hold)),
            # The controller would pull a robot that has been put elsewhere back to its old place.
            reset=lambda: self._wishes.put(lambda: self._call(self._reset, then=self._hold)),
        )
        self._page = pages.Page(server, settings.gravity, settings.plot_window, settings.shadows, actions)
        self._geometry: RobotGeometry | None = None
        self._states = JointStream(self, "joint_states")
        self._commands = JointStream(self, "joint_command")
        self._references = JointStream(self, f"{settings.controller}/reference")
        self._trajectories = self.create_publisher(
            JointTrajectory, f"{settings.controller}/joint_trajectory", qos.TRAJECTORY
        )
        self._hold = self.create_client(Trigger, f"{settings.controller}/hold")
        self._reset = self.create_client(Trigger, f"{settings.simulator}/reset")
        self.create_subscription(Log, "/rosout", self._on_log, qos.TRAJECTORY)
        self._page.notices.say("description", f"waiting for {self.resolve_topic_name('robot_description')}")
        self._source = DescriptionSource(self, self._on_description, self._on_refusal)
        server.on_client_connect(lambda _: self.get_logger().info(VISITOR))
        self.get_logger().info(f"the robot is shown at {address}")

    # Model

    def _on_description(self, text: str) -> None:
        self._geometry = read_robot(text)
        self._page.show(self._geometry)
        self._page.notices.say("description", "")

    def _on_refusal(self, reason: str) -> None:
        text = f"the robot description is refused: {reason}"
        if self._geometry is not None:
            text += "; the robot before it is still shown"
        self._page.notices.say("description", text, "error")

    # What is shown

    def look(self) -> None:
        """Bring the page up to date and do what its users wish."""
        # A reference answers a state: read first, it has its state among those that are read next.
        for stream in (self._references, self._commands, self._states):
            stream.take()
        while not self._wishes.empty():
            self._wishes.get()()
        self._report()
        state = self._states.newest
        if self._geometry is None or state is None:
            return
        reference = self._references.newest if self._references.age < STALE else None
        command = self._commands.newest if self._commands.age < STALE else None
        errors = {}
        if reference is not None:
            then = self._states.at(reference.nanoseconds)
            if then is not None:
                errors = {
                    name: value - then.position[name]
                    for name, value in reference.position.items()
                    if name in then.position
                }
        self._page.update(
            Sample(
                time=1e-9 * state.nanoseconds,
                positions=state.position,
                efforts=(command or state).effort or state.effort,
                references=reference.position if reference is not None else {},
                errors=errors,
            )
        )

    def _report(self) -> None:
        say = self._page.notices.say
        states, references = self._states, self._references
        text = ""
        if states.age > STALE:
            text = f"no joint states on {states.topic}"
        elif states.fault:
            text = f"{states.topic}: {states.fault}"
        elif self._geometry is not None and states.newest is not None:
            joints = [joint.name for joint in self._geometry.independent_joints]
            missing = [name for name in joints if name not in states.newest.position]
            if missing:
                text = f"{states.topic} has no joint {', '.join(missing)}"
        say("states", text)
        text = ""
        if not self._trajectories.get_subscription_count():
            text = f"no controller takes trajectories on {self._trajectories.topic_name}"
        elif references.age > STALE:
            text = f"no reference on {references.topic}: the controller is not active"
        say("reference", text)
        self._page.notices.tidy()

    def _on_log(self, message: Log) -> None:
        """Warnings of the controller and the simulator are answers to what the user has done."""
        name = message.name.rpartition(".")[2]
        if (
            name in (self.settings.controller, self.settings.simulator)
            and message.level >= LoggingSeverity.WARN
        ):
            level = "error" if message.level >= LoggingSeverity.ERROR else "warning"
            self._page.notices.say("log", f"{name}: {message.msg}", level, MEMORY)

    # What the user wishes

    def _send(self, goal: Goal) -> None:
        self._page.notices.say("log", "")
        try:
            message = self._trajectory(goal)
        except RobotDynamicsError as error:
            self._page.notices.say("wish", f"not sent: {error}", "error", MEMORY)
            return
        self._trajectories.publish(message)
        self._page.notices.say("wish", f"sent: {goal.duration:.1f} s", "info", MEMORY)

    def _trajectory(self, goal: Goal) -> JointTrajectory:
        state, reference = self._states.newest, self._references.newest
        if self._geometry is None or state is None or self._states.age > STALE:
            raise TrajectoryError("it is not known where the robot is")
        if not self._trajectories.get_subscription_count():
            raise TrajectoryError(f"no controller takes trajectories on {self._trajectories.topic_name}")
        check_goal(self._geometry, state.position, goal)
        # The controller may move only some of the robot's joints; its reference tells which.
        names = [name for name in goal.positions if reference is None or name in reference.position]
        fraction, seconds = math.modf(goal.duration)
        point = JointTrajectoryPoint(positions=[goal.positions[name] for name in names])
        point.time_from_start.sec = int(seconds)
        point.time_from_start.nanosec = round(1e9 * fraction)
        return JointTrajectory(joint_names=names, points=[point])

    @property
    def waiting(self) -> bool:
        """Whether a service is about to answer."""
        return time.monotonic() < self._patience

    def _call(self, client: Any, then: Any = None) -> None:
        """Call a Trigger service and show its answer; after its success, call another."""
        say = self._page.notices.say
        say("log", "")
        name = self.resolve_service_name(client.srv_name)
        if not client.service_is_ready():
            say("wish", f"there is no service {name}", "error", MEMORY)
            return
        say("wish", f"{name} ...", "info", MEMORY)

        def answered(future: Any) -> None:
            answer = future.result()
            self._patience = 0.0
            text, level = f"{name}: {answer.message or 'done'}", "info" if answer.success else "error"
            say("wish", text, level, MEMORY)
            if answer.success and then is not None and then.service_is_ready():
                then.call_async(Trigger.Request())

        self._patience = time.monotonic() + ANSWER_TIME
        client.call_async(Trigger.Request()).add_done_callback(answered)

    def on_stop(self) -> None:
        """Close the page."""
        self._server.stop()


def _open(settings: WebViewParameters) -> tuple[Any, Any, str]:
    """The server, the module of its page, and its address."""
    try:
        from robot_dynamics.view.browser import page, server
    except ImportError as error:
        raise RobotDynamicsError(
            f"the web view needs viser, which cannot be imported ({error}); from PyPI:"
            " pip install 'robot_dynamics[view]'"
        ) from error
    opened = server.open_server(settings.host, settings.port, "robot_dynamics")
    return opened, page, server.url_of(settings.host, settings.port)


def run(node: WebView, stop: spin.StopEvent) -> None:
    """Look at the topics at the node's rate until the event."""
    spin_at(node.settings.update_rate, node, stop, node.look, lambda: node.waiting)


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(WebView, args, loop=run)


if __name__ == "__main__":
    sys.exit(main())
