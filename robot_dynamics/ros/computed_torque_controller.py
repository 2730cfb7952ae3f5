"""Node ``computed_torque_controller``: joint states and trajectories in, joint efforts out.

The maths is in ``robot_dynamics.control``; this module moves messages.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.effort_limits import unlimited
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Command, Phase
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.ros import follow_joint_trajectory
from robot_dynamics.ros.control import controller_state
from robot_dynamics.ros.control.control_node import ControlNode
from robot_dynamics.ros.control.controller_state import ControllerStatePublisher
from robot_dynamics.ros.follow_joint_trajectory import TrajectoryAction
from robot_dynamics.ros.models.arm_model import ArmModel, ModelLoader
from robot_dynamics.ros.models.description import NONE_YET
from robot_dynamics.ros.support import parameters, qos, spin
from robot_dynamics.ros.support.faults import explain
from robot_dynamics.ros.support.hot_loop import spin_on
from robot_dynamics.ros.support.messages import set_stamp, stamp_to_nanoseconds, to_array
from robot_dynamics.ros.support.trajectories import waypoints


class ComputedTorqueController(ControlNode):
    """Computed-torque control of a serial arm.

    Without ``autostart`` the lifecycle is the caller's: configure needs a robot description, activate starts
    the commands, deactivate halts with the declared safe output.
    """

    def __init__(self) -> None:
        super().__init__("computed_torque_controller", "effort_controller/commands", "joint_command")
        self._control_parameters = parameters.declare(self, ArmParameters)
        self._actuators = parameters.declare(self, ActuatorParameters)
        parameters.watch(self, self._control_parameters, self._on_parameters, check=self._check_parameters)
        parameters.watch(self, self._actuators, self._on_actuators, check=self._check_actuators)
        self._reference = self.create_publisher(JointState, "~/reference", qos.LOCKSTEP)
        self.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.TRAJECTORY)
        self._action = TrajectoryAction(self) if follow_joint_trajectory.AVAILABLE else None
        self._state = ControllerStatePublisher(self) if controller_state.AVAILABLE else None
        self.start()
        self._loader: ModelLoader | None = None
        self._loader = ModelLoader(self, self._on_model, self._on_change)
        self.start_if_due()

    # Model and parameters

    def ready(self) -> str:
        """Why the node cannot be configured yet; empty when it can."""
        return NONE_YET if self._loader is None else self._loader.missing

    def build(self) -> tuple[ArmController, Sequence[str]]:
        """A controller for the present model."""
        model = self._loader.model
        controller = ArmController(model.chain, self._drives(model), self._control_parameters)
        return controller, model.chain.joint_names

    def take_controller(self) -> None:
        """Use a new controller from now on; it begins with a hold where the arm is found."""
        super().take_controller()
        self._reference_message = self.order.message()
        self._worst = np.zeros(len(self.order.joint_names))

    @property
    def safety(self) -> ArmParameters:
        """Parameters in force."""
        return self._control_parameters

    def _drives(self, model: ArmModel) -> ActuatedArm:
        return ActuatedArm(model.dynamics, model.chain, self._actuators)

    def _on_model(self, _: ArmModel) -> None:
        old = self.controller
        if old is None:
            self.start_if_due()
            return
        self.take_controller()
        if self.active and old.chain.joint_names == self.controller.chain.joint_names:
            self.controller.take_over_from(old)

    def _on_change(self, model: ArmModel) -> None:
        """The same arm with another payload or gravity: whatever is being followed goes on."""
        if self.controller is not None:
            self.controller.change_model(self._drives(model))

    def _check_parameters(self, candidate: ArmParameters) -> None:
        if self.controller is not None:
            candidate.gains(self.controller.chain.joint_names)
            candidate.limits_of(self.controller.chain)

    def _on_parameters(self, accepted: ArmParameters) -> None:
        self._control_parameters = accepted
        if self.controller is not None:
            self.controller.parameters = accepted
        else:
            self.start_if_due()

    def _check_actuators(self, candidate: ActuatorParameters) -> None:
        if self.controller is not None:
            candidate.of(self.controller.chain)

    def _on_actuators(self, accepted: ActuatorParameters) -> None:
        self._actuators = accepted
        if self.controller is not None:
            self.controller.change_model(self._drives(self._loader.model))
        else:
            self.start_if_due()

    # Messages

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if self.controller is None or not self.active:
            self.get_logger().error("trajectory refused: the controller is not active")
            return
        if not message.points:
            self.controller.hold()
            self.get_logger().info("empty trajectory: holding where the arm is")
            return
        try:
            self.follow(message)
        except Exception as error:  # the loop that carries the arm must not end by it
            self.refused += 1
            self.get_logger().error(f"trajectory refused: {explain(error)}")
            return
        if self._action is not None:
            self._action.drop("a trajectory on the topic has taken over")

    def follow(self, message: JointTrajectory) -> Trajectory:
        """Follow a trajectory from now on, or from its stamp on.

        Raises:
            TrajectoryError: it cannot be followed; what was followed before goes on.
        """
        stamp = stamp_to_nanoseconds(message.header.stamp)
        start = None if stamp == 0 else self.seconds(stamp)
        trajectory = self.controller.follow(message.joint_names, waypoints(message), start)
        self.get_logger().info(
            f"following a trajectory of {len(message.points)} points for"
            f" {trajectory.end - trajectory.start:.3f} s"
        )
        return trajectory

    def figures(self) -> dict[str, object]:
        """Largest error of each joint while it followed a trajectory [rad or m]."""
        if self.controller is None:
            return {}
        names = self.controller.chain.joint_names
        return {"largest_tracking_error": dict(zip(names, self._worst.tolist(), strict=True))}

    def on_stop(self) -> None:
        """The process ends: so does a goal, and then the safe output is seen through."""
        if self._action is not None:
            self._action.drop("the controller ends")
        super().on_stop()

    def publish_reference(self, command: Command, nanoseconds: int) -> None:
        """What the controller did in this cycle, for those who listen."""
        if self._action is not None:
            self._action.observe(nanoseconds, *self.measured)
        if self._state is not None:
            self._state.publish(nanoseconds, command, *self.measured)
        if command.phase is Phase.TRACKING:
            np.maximum(self._worst, np.abs(command.reference.position - self.measured[0]), out=self._worst)
        if not self._reference.get_subscription_count():
            return
        message = self._reference_message
        set_stamp(message.header.stamp, nanoseconds)
        message.position = to_array(command.reference.position)
        message.velocity = to_array(command.reference.velocity)
        message.effort = to_array(command.unlimited)
        self._reference.publish(message)

    def doubts(self) -> list[str]:
        """What may be wrong with the model in use, and the joints that nothing limits."""
        controller = self.controller
        return list(
            filter(None, [*self._loader.doubts, unlimited(controller.chain, controller.effort_limits)])
        )

    def describe_model(self) -> dict[str, object]:
        """Mode and model, for the diagnostics."""
        chain = self.controller.chain
        return {
            "mode": self._control_parameters.mode,
            "model": f"{chain.name}: {chain.root} -> {chain.tip}, {chain.dof} joints",
            "backend": self._loader.model.dynamics.backend,
        }


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(ComputedTorqueController, args, loop=lambda node, stop: spin_on(node, stop, node.states))


if __name__ == "__main__":
    sys.exit(main())
