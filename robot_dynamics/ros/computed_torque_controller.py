"""Node ``computed_torque_controller``: joint states and trajectories in, joint efforts out.

The control loop runs on the joint states: each one is answered at once by a command that carries its stamp.
The maths is in ``robot_dynamics.control``; this module moves messages.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.controller import ArmController
from robot_dynamics.control.parameters import ControllerParameters
from robot_dynamics.control.tracking import Command, Phase
from robot_dynamics.errors import ParameterError, RobotDynamicsError, StateError
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.support import diagnostics, parameters, qos, spin
from robot_dynamics.ros.support.arm_model import ArmModel, ModelLoader
from robot_dynamics.ros.support.cycle import CycleMonitor, VelocityEstimator
from robot_dynamics.ros.support.hot_loop import spin_on
from robot_dynamics.ros.support.messages import JointOrder, set_stamp, stamp_to_nanoseconds, to_array
from robot_dynamics.ros.support.trajectories import waypoints

THROTTLE = 2.0
"""Seconds between two log lines about the same recurring fault."""
SAFE_PERIOD = 0.01
"""Seconds between two commands of the safe output, and between two looks at the age of the states."""


@dataclass(frozen=True)
class NodeParameters:
    """How the node takes part in the ROS graph."""

    autostart: bool = parameter(
        True, "Configure and activate as soon as a robot description is there", read_only=True
    )
    lockstep: bool = parameter(
        False,
        "Receive joint states reliably and judge their age by simulated time, for a simulator in lockstep",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)


class ComputedTorqueController(LifecycleNode):
    """Computed-torque control of a serial arm.

    Without ``autostart`` the lifecycle is the caller's: configure needs a robot description, activate starts
    the commands, deactivate halts with the declared safe output.
    """

    def __init__(self) -> None:
        super().__init__("computed_torque_controller")
        self._node_parameters = parameters.declare(self, NodeParameters)
        self._control_parameters = parameters.declare(self, ControllerParameters)
        self._actuators = parameters.declare(self, ActuatorParameters)
        parameters.watch(self, self._control_parameters, self._on_parameters, check=self._check_parameters)
        parameters.watch(self, self._actuators, self._on_actuators, check=self._check_actuators)
        self._controller: ArmController | None = None
        self._active = False
        self._lost_since: float | None = None
        self._refused = 0
        self._saturated: list[str] = []
        self._monitor = CycleMonitor()
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._commands = self.create_publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        self._stamped = self.create_publisher(JointState, "joint_command", qos.LOCKSTEP)
        self._reference = self.create_publisher(JointState, "~/reference", qos.LOCKSTEP)
        state_qos = qos.LOCKSTEP if self._node_parameters.lockstep else qos.STATE_SUBSCRIPTION
        self.states = self.create_subscription(JointState, "joint_states", self._on_state, state_qos)
        self.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.TRAJECTORY)
        self.create_service(Trigger, "~/hold", self._on_hold)
        self._diagnostics = diagnostics.DiagnosticsPublisher(self, self._status)
        self._watchdog = self.create_timer(SAFE_PERIOD, self._watch, clock=self._steady)
        self._loader = ModelLoader(self, self._on_model)
        self._start_if_due()

    # Model and parameters

    def _on_model(self, model: ArmModel) -> None:
        if self._controller is not None:
            self._control(model)
        elif hasattr(self, "_loader"):
            self._start_if_due()

    def _start_if_due(self) -> None:
        if self._node_parameters.autostart and self._loader.model is not None and self._controller is None:
            self.trigger_configure()
            self.trigger_activate()

    def _control(self, model: ArmModel) -> None:
        """Use ``model`` from now on, beginning with a hold where the arm is found."""
        drives = ActuatedArm(model.dynamics, model.chain, self._actuators)
        self._controller = ArmController(model.chain, drives, self._control_parameters)
        self._order = JointOrder(model.chain.joint_names)
        self._velocity = VelocityEstimator()
        self._command_message = Float64MultiArray()
        self._stamped_message = self._order.message()
        self._reference_message = self._order.message()
        self._epoch: int | None = None

    def _check_parameters(self, candidate: ControllerParameters) -> None:
        if self._controller is not None:
            candidate.gains(self._controller.chain.joint_names)

    def _on_parameters(self, accepted: ControllerParameters) -> None:
        self._control_parameters = accepted
        if self._controller is not None:
            self._controller.parameters = accepted

    def _check_actuators(self, candidate: ActuatorParameters) -> None:
        if self._controller is not None:
            candidate.of(self._controller.chain)

    def _on_actuators(self, accepted: ActuatorParameters) -> None:
        self._actuators = accepted
        if self._controller is not None and self._loader.model is not None:
            model = self._loader.model
            self._controller.dynamics = ActuatedArm(model.dynamics, model.chain, accepted)

    # Lifecycle

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build the controller from the robot's description."""
        if self._loader.model is None:
            self.get_logger().error("cannot configure: there is no robot description yet")
            return TransitionCallbackReturn.FAILURE
        try:
            self._control(self._loader.model)
        except ParameterError as error:
            self.get_logger().error(f"cannot configure: {error}")
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Answer joint states with commands from now on."""
        self._control(self._loader.model)
        self._active, self._lost_since = True, None
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Halt with the declared safe output."""
        self._halt()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the controller; the model stays for the next configure."""
        self._controller = None
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Halt with the declared safe output."""
        self._halt()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Halt with the declared safe output; the node can be configured again."""
        self._halt()
        self._controller = None
        return TransitionCallbackReturn.SUCCESS

    def _halt(self) -> None:
        self._active = False
        if self._controller is not None:
            self._controller.lost_states()
            self._lost_since = time.monotonic()

    def on_stop(self) -> None:
        """The process ends: see the safe output through before it does."""
        if not self._active or self._controller is None or self._controller.phase is Phase.WAITING:
            return
        self._halt()
        while self._lost_since is not None:
            self._watch()
            time.sleep(SAFE_PERIOD)

    # Control

    def _on_state(self, message: JointState) -> None:
        controller = self._controller
        if controller is None:
            return
        try:
            sample = self._order.read(message)
        except StateError as error:
            self._refused += 1
            self._warn(f"joint state refused: {error}")
            return
        began = self._monitor.begin()
        nanoseconds = sample.nanoseconds or self.get_clock().now().nanoseconds
        if self._epoch is None:
            self._epoch = nanoseconds
        now = 1e-9 * (nanoseconds - self._epoch)
        velocity = sample.velocity
        if velocity is None:
            velocity = self._velocity.update(now, sample.position)
        if not self._active:
            controller.observe(sample.position)
            return
        try:
            command = controller.update(now, sample.position, velocity)
        except RobotDynamicsError as error:
            self._warn(f"safe output: {error}")
            controller.lost_states()
            command = controller.safe_command(0.0)
        self._publish(command, nanoseconds)
        if self._lost_since is not None:
            self._lost_since = None
            self.get_logger().info("joint states are back: holding where the arm is")
            self._diagnostics.publish()
        self._report_saturation(command)
        self._monitor.end(began)

    def _publish(self, command: Command, nanoseconds: int) -> None:
        effort = to_array(command.effort)
        # The stamped command first: a plant in lockstep goes on as soon as it has it.
        stamped = self._stamped_message
        set_stamp(stamped.header.stamp, nanoseconds)
        stamped.effort = effort
        self._stamped.publish(stamped)
        self._command_message.data = effort
        self._commands.publish(self._command_message)
        if self._reference.get_subscription_count():
            reference = self._reference_message
            set_stamp(reference.header.stamp, nanoseconds)
            reference.position = to_array(command.reference.position)
            reference.velocity = to_array(command.reference.velocity)
            reference.effort = to_array(command.unlimited)
            self._reference.publish(reference)

    def _watch(self) -> None:
        """Send the safe output while joint states are missing, or while a halt fades."""
        controller = self._controller
        if controller is None:
            return
        now = time.monotonic()
        if self._lost_since is None:
            # In lockstep the simulator's clock stands still while it waits, however long that takes.
            waiting = self._node_parameters.lockstep or controller.phase is Phase.WAITING
            age = now - self._monitor.last
            if not self._active or waiting or age < self._control_parameters.state_timeout:
                return
            self._lost_since = now
            controller.lost_states()
            self.get_logger().error(
                f"no joint state for {age:.3f} s: safe output {self._control_parameters.safe_output}"
            )
            self._diagnostics.publish()
        since = now - self._lost_since
        command = controller.safe_command(since)
        self._publish(command, self.get_clock().now().nanoseconds)
        if not self._active and not command.effort.any():
            self._lost_since = None

    # Trajectories

    def _on_trajectory(self, message: JointTrajectory) -> None:
        controller = self._controller
        if controller is None or not self._active:
            self.get_logger().error("trajectory refused: the controller is not active")
            return
        if not message.points:
            controller.hold()
            self.get_logger().info("empty trajectory: holding where the arm is")
            return
        stamp = stamp_to_nanoseconds(message.header.stamp)
        start = None if stamp == 0 or self._epoch is None else 1e-9 * (stamp - self._epoch)
        try:
            trajectory = controller.follow(message.joint_names, waypoints(message), start)
        except RobotDynamicsError as error:
            self._refused += 1
            self.get_logger().error(f"trajectory refused: {error}")
            return
        self.get_logger().info(
            f"following a trajectory of {len(message.points)} points for"
            f" {trajectory.end - trajectory.start:.3f} s"
        )

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._controller is None or not self._active:
            response.message = "the controller is not active"
            return response
        self._controller.hold()
        response.success = True
        response.message = self._controller.phase.value
        return response

    # Reports

    def _report_saturation(self, command: Command) -> None:
        saturated = command.saturated
        self._saturated = (
            [name for name, cut in zip(self._order.joint_names, saturated, strict=True) if cut]
            if saturated.any()
            else []
        )
        if self._saturated:
            self._warn(f"effort limited at {', '.join(self._saturated)}")

    def _warn(self, text: str) -> None:
        self.get_logger().warning(text, throttle_duration_sec=THROTTLE)

    def _status(self) -> diagnostics.Status:
        controller = self._controller
        if controller is None:
            return diagnostics.Status(diagnostics.WARN, "not configured", {})
        level = {
            Phase.HOLDING: diagnostics.OK,
            Phase.TRACKING: diagnostics.OK,
            Phase.WAITING: diagnostics.WARN,
        }.get(controller.phase, diagnostics.ERROR)
        if level == diagnostics.OK and self._saturated:
            level = diagnostics.WARN
        chain = controller.chain
        values = {
            "mode": self._control_parameters.mode,
            "active": self._active,
            **self._monitor.values(),
            "saturated joints": ", ".join(self._saturated) or "none",
            "refused messages": self._refused,
            "model": f"{chain.name}: {chain.root} -> {chain.tip}, {chain.dof} joints",
        }
        return diagnostics.Status(level, controller.phase.value, values)


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(ComputedTorqueController, args, loop=lambda node, stop: spin_on(node, stop, node.states))


if __name__ == "__main__":
    sys.exit(main())
