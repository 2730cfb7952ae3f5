"""What every node has that closes a control loop over DDS: the loop, the watchdog, the halt, the lifecycle.

The control loop runs on the joint states: each one is answered at once by a command that carries its stamp.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.control.tracking import Command, Phase
from robot_dynamics.errors import RobotDynamicsError, StateError
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.support import diagnostics, parameters, qos
from robot_dynamics.ros.support.cycle import CycleMonitor, VelocityEstimator
from robot_dynamics.ros.support.halting import HaltingNode
from robot_dynamics.ros.support.messages import JointOrder, set_stamp, to_array

THROTTLE = 2.0
"""Seconds between two log lines about the same recurring fault."""
SAFE_PERIOD = 0.01
"""Seconds between two commands of the safe output, and between two looks at the age of the states."""


@dataclass(frozen=True)
class Autostart:
    """Who manages the node's lifecycle."""

    autostart: bool = parameter(True, "Configure and activate as soon as the model is there", read_only=True)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class NodeParameters(Autostart):
    """How the node takes part in the ROS graph."""

    lockstep: bool = parameter(
        False,
        "Receive joint states reliably and do not judge their age, for a simulator in lockstep",
        read_only=True,
    )


class Controller(Protocol):
    """What the node asks of a controller."""

    phase: Phase

    def update(self, time: float, position: np.ndarray, velocity: np.ndarray) -> Command:
        """One control cycle."""

    def observe(self, position: np.ndarray) -> None:
        """Keep the last known position fresh."""

    def lost_states(self) -> None:
        """Joint states have stopped."""

    def safe_command(self, since: float) -> Command:
        """The declared safe output."""

    def hold(self) -> None:
        """Stop following and hold where the machine is."""


class ControlNode(HaltingNode):
    """Base of the controllers.

    A subclass declares its parameters, then calls :meth:`start`; it says whether its model is there
    (:meth:`ready`), builds its controller (:meth:`build`), and may publish its reference.

    Args:
        name: of the node.
        command_topic: unstamped efforts out.
        stamped_topic: the same with names and stamps.
    """

    def __init__(self, name: str, command_topic: str, stamped_topic: str) -> None:
        super().__init__(name)
        self.node_parameters = parameters.declare(self, NodeParameters)
        self.controller: Any = None
        self.active = False
        self.refused = 0
        self.epoch: int | None = None
        self.measured = (np.zeros(0), np.zeros(0))
        self.monitor = CycleMonitor()
        self._lost_since: float | None = None
        self._saturated: list[str] = []
        self._commands = self.create_publisher(Float64MultiArray, command_topic, qos.COMMAND)
        self._stamped = self.create_publisher(JointState, stamped_topic, qos.LOCKSTEP)

    def start(self) -> None:
        """Take part in the graph; called once by the subclass when its parameters are declared."""
        state_qos = qos.LOCKSTEP if self.node_parameters.lockstep else qos.STATE_SUBSCRIPTION
        self.states = self.create_subscription(JointState, "joint_states", self._on_state, state_qos)
        self.create_service(Trigger, "~/hold", self._on_hold)
        self.diagnostics = diagnostics.DiagnosticsPublisher(self, self._status)
        self._watchdog = self.create_timer(
            SAFE_PERIOD, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    # For the subclass

    def ready(self) -> str:
        """Why the node cannot be configured yet; empty when it can."""
        raise NotImplementedError

    def build(self) -> tuple[Controller, Sequence[str]]:
        """A new controller and the names of its joints, in its order."""
        raise NotImplementedError

    def publish_reference(self, command: Command, nanoseconds: int) -> None:
        """Publish what is specific to the controller after each command."""

    def figures(self) -> dict[str, object]:
        """Figures of the run for the log, beside those of every controller."""
        return {}

    def fill_command(self, message: JointState) -> None:
        """Add what the controller knows to the stamped command, beside the efforts."""

    def describe_model(self) -> dict[str, object]:
        """Identity of the model and more, for the diagnostics."""
        return {}

    @property
    def safety(self) -> Any:
        """Parameters in force that have ``state_timeout`` and ``safe_output``."""
        raise NotImplementedError

    # Lifecycle

    def start_if_due(self) -> None:
        """With ``autostart``: configure and activate once the model is there."""
        if self.node_parameters.autostart and self.controller is None and not self.ready():
            self.trigger_configure()
            self.trigger_activate()

    def take_controller(self) -> None:
        """Use a new controller from now on; it begins with a hold where the machine is found."""
        self.controller, names = self.build()
        self.order = JointOrder(names)
        self.epoch = None
        self._velocity = VelocityEstimator()
        self._command_message = Float64MultiArray()
        self._stamped_message = self.order.message()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build the controller."""
        reason = self.ready()
        try:
            if not reason:
                self.take_controller()
        except RobotDynamicsError as error:
            reason = str(error)
        if reason:
            self.get_logger().error(f"cannot configure: {reason}")
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Answer joint states with commands from now on."""
        self.take_controller()
        self.active, self._lost_since = True, None
        return super().on_activate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the controller; the model stays for the next configure."""
        self.controller = None
        return super().on_cleanup(state)

    def halt(self) -> None:
        """Stop sending efforts, in the declared way."""
        self.active = False
        if self.controller is not None:
            self.controller.lost_states()
            self._lost_since = time.monotonic()

    def on_stop(self) -> None:
        """The process ends: leave the figures of the run, and see the safe output through."""
        figures = {"cycles": self.monitor.cycles, "refused_messages": self.refused, **self.figures()}
        self.get_logger().info(f"summary: {json.dumps(figures)}")
        if not self.active or self.controller is None or self.controller.phase is Phase.WAITING:
            return
        self.halt()
        while self._lost_since is not None:
            self._watch()
            time.sleep(SAFE_PERIOD)

    # The loop

    def seconds(self, nanoseconds: int) -> float:
        """A stamp on the controller's clock [s]."""
        if self.epoch is None:
            self.epoch = nanoseconds
        return 1e-9 * (nanoseconds - self.epoch)

    def nanoseconds(self, seconds: float) -> int:
        """The stamp of a time on the controller's clock; inverse of :meth:`seconds`."""
        return (self.epoch or 0) + round(1e9 * seconds)

    def _on_state(self, message: JointState) -> None:
        controller = self.controller
        if controller is None:
            return
        try:
            sample = self.order.read(message)
        except StateError as error:
            self.refuse(f"joint state refused: {error}")
            return
        began = self.monitor.begin()
        nanoseconds = sample.nanoseconds or self.get_clock().now().nanoseconds
        now = self.seconds(nanoseconds)
        velocity = sample.velocity
        if velocity is None:
            velocity = self._velocity.update(now, sample.position)
        self.measured = (sample.position, velocity)
        if not self.active:
            controller.observe(sample.position)
            return
        try:
            command = controller.update(now, sample.position, velocity)
        except RobotDynamicsError as error:
            self.warn(f"safe output: {error}")
            controller.lost_states()
            command = controller.safe_command(0.0)
        self._publish(command, nanoseconds)
        self.publish_reference(command, nanoseconds)
        if self._lost_since is not None:
            self._lost_since = None
            self.get_logger().info("joint states are back: holding")
            self.diagnostics.publish()
        self._report_saturation(command)
        self.monitor.end(began)

    def _publish(self, command: Command, nanoseconds: int) -> None:
        effort = to_array(command.effort)
        # The stamped command first: a plant in lockstep goes on as soon as it has it.
        stamped = self._stamped_message
        set_stamp(stamped.header.stamp, nanoseconds)
        stamped.effort = effort
        self.fill_command(stamped)
        self._stamped.publish(stamped)
        self._command_message.data = effort
        self._commands.publish(self._command_message)

    def _watch(self) -> None:
        """Send the safe output while joint states are missing, or while a halt fades."""
        controller = self.controller
        if controller is None:
            return
        now = time.monotonic()
        if self._lost_since is None:
            # In lockstep the simulator's clock stands still while it waits, however long that takes.
            waiting = self.node_parameters.lockstep or controller.phase is Phase.WAITING
            age = now - self.monitor.last
            if not self.active or waiting or age < self.safety.state_timeout:
                return
            self._lost_since = now
            controller.lost_states()
            self.get_logger().error(f"no joint state for {age:.3f} s: safe output {self.safety.safe_output}")
            self.diagnostics.publish()
        command = controller.safe_command(now - self._lost_since)
        self._publish(command, self.get_clock().now().nanoseconds)
        if not self.active and not command.effort.any():
            self._lost_since = None

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.controller is None or not self.active:
            response.message = "the controller is not active"
            return response
        self.controller.hold()
        response.success = True
        response.message = self.controller.phase.value
        return response

    # Reports

    def refuse(self, text: str) -> None:
        """Count and log, throttled, a message that is not used."""
        self.refused += 1
        self.warn(text)

    def warn(self, text: str) -> None:
        """Log a recurring fault, throttled."""
        self.get_logger().warning(text, throttle_duration_sec=THROTTLE)

    def _report_saturation(self, command: Command) -> None:
        saturated = command.saturated
        self._saturated = (
            [name for name, cut in zip(self.order.joint_names, saturated, strict=True) if cut]
            if saturated.any()
            else []
        )
        if self._saturated:
            self.warn(f"effort limited at {', '.join(self._saturated)}")

    def _status(self) -> diagnostics.Status:
        controller = self.controller
        if controller is None:
            return diagnostics.Status(diagnostics.WARN, "not configured", {})
        level = diagnostics.OK if controller.phase.controls else diagnostics.ERROR
        if controller.phase is Phase.WAITING or (level == diagnostics.OK and self._saturated):
            level = diagnostics.WARN
        values = {
            "active": self.active,
            **self.monitor.values(),
            "saturated joints": ", ".join(self._saturated) or "none",
            "refused messages": self.refused,
            **self.describe_model(),
        }
        return diagnostics.Status(level, controller.phase.value, values)
