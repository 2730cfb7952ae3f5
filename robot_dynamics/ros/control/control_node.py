"""What every node has that closes a control loop over DDS: the loop, the watchdog, the halt, the lifecycle.

The control loop runs on the joint states: each one is answered at once by a command that carries its stamp.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.control.protocol import Command, Controller, Phase
from robot_dynamics.errors import ParameterError, RobotDynamicsError, StateError
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.control.cycle import CycleMonitor, VelocityEstimator
from robot_dynamics.ros.control.halting import LAST_WORD, HaltingNode
from robot_dynamics.ros.control.safe_output import SafeOutput, Trouble, safe_effort
from robot_dynamics.ros.support import diagnostics, parameters, qos
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
        self._safe: SafeOutput | None = None
        self._trouble: Trouble | None = None
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

    def build(self) -> tuple[Controller[Any], Sequence[str]]:
        """A new controller and the names of its joints, in its order."""
        raise NotImplementedError

    def publish_reference(self, command: Command, nanoseconds: int) -> None:
        """Publish what is specific to the controller after each command."""

    def figures(self) -> dict[str, object]:
        """Figures of the run for the log, beside those of every controller."""
        return {}

    def fill_command(self, message: JointState, controller: Any) -> None:
        """Add what the controller that commands knows to the stamped command, beside the efforts."""

    def describe_model(self) -> dict[str, object]:
        """Identity of the model and more, for the diagnostics."""
        return {}

    def doubts(self) -> list[str]:
        """What is not as it should be, for a warning in the diagnostics."""
        return []

    @property
    def safety(self) -> Any:
        """Parameters in force that have ``state_timeout`` and ``safe_output``."""
        raise NotImplementedError

    # Lifecycle

    def start_if_due(self) -> None:
        """With ``autostart``: configure and activate once the model is there."""
        if self.node_parameters.autostart and not self.ready():
            self.start_once()

    def take_controller(self) -> None:
        """Use a new controller from now on; it begins with a hold where the machine is found."""
        self.controller, names = self.build()
        self.order = JointOrder(names)
        self.epoch = None
        self._velocity = VelocityEstimator()
        self._trouble = None
        self._command_message = Float64MultiArray()
        self._stamped_message = self.order.message()

    def configure(self) -> None:
        """Build the controller.

        Raises:
            RobotDynamicsError: there is no model, or a parameter does not fit it.
        """
        reason = self.ready()
        if reason:
            raise ParameterError(reason)
        self.take_controller()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build the controller."""
        result = self.attempt("configure", self.configure)
        return super().on_configure(state) if result == TransitionCallbackReturn.SUCCESS else result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Answer joint states with commands from now on."""
        result = self.attempt("activate", self.take_controller)
        if result != TransitionCallbackReturn.SUCCESS:
            return result
        self.active, self._safe = True, None
        return super().on_activate(state)

    def forget(self) -> None:
        """Drop the controller; the model stays for the next configure."""
        self.controller = None

    def halt(self) -> None:
        """Stop sending efforts, in the declared way."""
        if not self.active:
            return
        self.active = False
        if self._safe is None:
            self._begin_safe_output()

    def on_stop(self) -> None:
        """The process ends: leave the figures of the run, and see the safe output through."""
        figures = {"cycles": self.monitor.cycles, "refused_messages": self.refused, **self.figures()}
        self.get_logger().info(f"summary: {json.dumps(figures)}")
        if self.active and self.controller.phase is not Phase.WAITING:
            self.halt()
        self.active = False
        while self._safe is not None:
            self._watch()
            time.sleep(SAFE_PERIOD)
        # The last command is no effort; lost, the one before would stay in force.
        self._commands.wait_for_all_acked(LAST_WORD)

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
            self._answer_trouble(str(error), now, nanoseconds)
        else:
            self._trouble = None
            self._publish(command.effort, nanoseconds)
            self.publish_reference(command, nanoseconds)
            if controller.discontinuity:
                self.get_logger().warning(
                    f"{controller.discontinuity}: holding here, nothing is followed any more"
                )
            if self._safe is not None:
                self._safe = None
                self.get_logger().info("joint states are back: holding")
                self.diagnostics.publish()
            self._report_saturation(command)
        self.monitor.end(began)

    def _answer_trouble(self, reason: str, now: float, nanoseconds: int) -> None:
        """The controller has no effort for this state: the safe output, from the first such state on."""
        self.warn(f"safe output: {reason}")
        self.controller.lost_states()
        if self._trouble is None:
            self._trouble = Trouble(reason, now, now)
        self._trouble = Trouble(reason, self._trouble.began, now)
        if self._safe is None:
            self._publish(safe_effort(self.controller, self.order, self._trouble.lasted), nanoseconds)

    def _publish(self, effort: np.ndarray, nanoseconds: int) -> None:
        self._send(to_array(effort), self._stamped_message, self.controller, nanoseconds)

    def _send(self, effort: Any, stamped: JointState, controller: Controller[Any], nanoseconds: int) -> None:
        # The stamped command first: a plant in lockstep goes on as soon as it has it.
        set_stamp(stamped.header.stamp, nanoseconds)
        stamped.effort = effort
        self.fill_command(stamped, controller)
        self._stamped.publish(stamped)
        self._command_message.data = effort
        self._commands.publish(self._command_message)

    def _begin_safe_output(self) -> None:
        # Where it has been the answer to bad states already, it goes on from there.
        faded = self._trouble.lasted if self._trouble is not None else 0.0
        self._safe = SafeOutput(self.controller, self.order, time.monotonic() - faded)
        self.controller.lost_states()

    def _watch(self) -> None:
        """Send the safe output while joint states are missing, or while a halt fades."""
        controller = self.controller
        now = time.monotonic()
        if self._safe is None:
            if controller is None:
                return
            # In lockstep the simulator's clock stands still while it waits, however long that takes.
            waiting = self.node_parameters.lockstep or controller.phase is Phase.WAITING
            age = now - self.monitor.last
            if not self.active or waiting or age < self.safety.state_timeout:
                return
            self._begin_safe_output()
            self.get_logger().error(f"no joint state for {age:.3f} s: safe output {self.safety.safe_output}")
            self.diagnostics.publish()
        safe = self._safe
        effort = safe.effort(now)
        self._send(to_array(effort), safe.message, safe.controller, self.get_clock().now().nanoseconds)
        if not self.active and not effort.any():
            self._safe = None

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
        values = {
            "lifecycle": self.lifecycle_state,
            **self.monitor.values(),
            "saturated joints": ", ".join(self._saturated) or "none",
            "refused messages": self.refused,
            **(self.describe_model() if self.controller is not None else {}),
        }
        return diagnostics.Status(*self._judge(), values)

    def _judge(self) -> tuple[bytes, str]:
        """Level and message."""
        controller = self.controller
        if self.fault:
            return diagnostics.ERROR, self.fault
        if controller is None:
            return diagnostics.WARN, f"not configured: {self.ready() or 'it can be'}"
        if not self.active:
            return diagnostics.OK, "halting" if self._safe is not None else "inactive"
        if self._trouble is not None:
            return diagnostics.ERROR, f"safe output: {self._trouble.reason}"
        if controller.phase is Phase.WAITING:
            return diagnostics.STALE, controller.phase.value
        if not controller.phase.controls:
            return diagnostics.ERROR, controller.phase.value
        doubts = self.doubts()
        if not self.node_parameters.lockstep:
            doubts += self.monitor.doubts(self.safety.state_timeout)
        senders = self.count_publishers(self._commands.topic_name)
        if senders > 1:
            doubts.append(
                f"{senders} publishers on {self._commands.topic_name}: efforts of others get in between"
            )
        if self._saturated:
            doubts.append(f"effort limited at {', '.join(self._saturated)}")
        if doubts:
            return diagnostics.WARN, "; ".join([controller.phase.value, *doubts])
        return diagnostics.OK, controller.phase.value
