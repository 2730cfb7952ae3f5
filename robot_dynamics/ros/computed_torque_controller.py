"""Node ``computed_torque_controller``: joint states and trajectories in, joint efforts out.

The maths is in ``robot_dynamics.control``; this module moves messages.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rclpy.lifecycle import LifecycleNode
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.arm import guiding
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.effort_limits import unlimited
from robot_dynamics.control.arm.laws import LawModules, import_laws, python_law
from robot_dynamics.control.arm.parameters import ArmParameters, arm_accelerations
from robot_dynamics.control.arm.path_rules import IdentifiedRangeParameters, TorqueCheckParameters
from robot_dynamics.control.arm.spring_energy import TOLD
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import BackendError, ParameterError
from robot_dynamics.native import cache
from robot_dynamics.native.build_process import BUILDS
from robot_dynamics.ros.actions import deferred_server
from robot_dynamics.ros.actions.constraints import Constraints
from robot_dynamics.ros.actions.goal_trajectory import GoalTrajectory
from robot_dynamics.ros.actions.trajectory_action import GoalAnswer, TrajectoryAction
from robot_dynamics.ros.control import controller_state
from robot_dynamics.ros.control.check_topic import Checked, CheckTopic
from robot_dynamics.ros.control.controller_node import ControllerNode
from robot_dynamics.ros.control.controller_state import ControllerStatePublisher
from robot_dynamics.ros.control.external_efforts import ExternalEfforts
from robot_dynamics.ros.control.guide_topic import GuideTopic
from robot_dynamics.ros.control.measured_joints import MeasuredJointsTopic
from robot_dynamics.ros.control.native.raw_trajectory import RawTrajectory
from robot_dynamics.ros.control.payload_estimation import PayloadEstimation
from robot_dynamics.ros.control.planner import PlanRequest
from robot_dynamics.ros.control.records import CALM, WATCHED, Cycles
from robot_dynamics.ros.control.remembered_stops import RememberedStops
from robot_dynamics.ros.control.retime_topic import RetimeTopic
from robot_dynamics.ros.control.stop_services import StopServices
from robot_dynamics.ros.control.supervision_report import log_change
from robot_dynamics.ros.control.target_pose_topic import TargetPoseTopic
from robot_dynamics.ros.control.tracking import JointReferencePublisher, TrackingErrors
from robot_dynamics.ros.control.trajectory_topic import TrajectoryTopic
from robot_dynamics.ros.models.arm_model import NEEDED, ArmModel, ModelLoader, prepare_model
from robot_dynamics.ros.models.live_memory import LiveMemory
from robot_dynamics.ros.models.live_parameters import SHARED
from robot_dynamics.ros.support import parameters, spin
from robot_dynamics.ros.support.background import Background
from robot_dynamics.ros.support.crisp_files import take_crisp
from robot_dynamics.ros.support.diagnostics import PREPARING
from robot_dynamics.ros.support.joint_limits import declared_rules, without_joint

_QUANTITIES = (*NEEDED, "momentum")
MOST_MODELS = 128
"""Models of the same arm whose values are known when one of them is in force again."""


class ComputedTorqueController(LifecycleNode):
    """Computed-torque control of an arm, or of a tree of several arms.

    Without ``autostart`` the lifecycle is the caller's: configure needs a robot description, activate starts
    the commands, deactivate halts with the declared safe output.
    """

    def __init__(self) -> None:
        super().__init__("computed_torque_controller")
        self._crisp_joints = take_crisp(self)
        import_laws(parameters.declare(self, LawModules).law_modules)
        self._control_parameters = parameters.declare(self, ArmParameters)
        brakes = self._control_parameters.brakes
        self._controller_node: ControllerNode[ArmController] = ControllerNode(
            self, self, "effort_controller/commands", "joint_command", "~/brake" if brakes else ""
        )
        self._loop = self._controller_node.loop
        self._barely_stable = ""
        self._actuators = parameters.declare(self, ActuatorParameters)
        self._used: deque[tuple[ActuatedArm, ArmModel, ActuatorParameters]] = deque(maxlen=MOST_MODELS)
        parameters.watch(self, self._control_parameters, self._on_parameters, check=self._check_parameters)
        parameters.watch(self, self._actuators, self._on_actuators, check=self._check_actuators)
        self._reference = JointReferencePublisher(self)
        self._errors = TrackingErrors()
        self._rules = declared_rules(self)
        parameters.watch(self, self._rules.torque, self._on_torque_check)
        parameters.watch(self, self._rules.identified, self._on_identified)
        self._topic = TrajectoryTopic(
            self,
            self._controller_node,
            JointTrajectory,
            "~/joint_trajectory",
            "arm",
            self._wanted,
            self._on_taken_over,
        )
        TargetPoseTopic(self, self._controller_node, lambda: self._rules, self._on_taken_over)
        self._guide = GuideTopic(self, self._controller_node)
        CheckTopic(self, self._checked)
        RetimeTopic(self, self._checked)
        self._action: TrajectoryAction | None = None
        if deferred_server.AVAILABLE:
            self._action = TrajectoryAction(
                self,
                self._loop,
                self._on_goal,
                self._controller_node.events.refuse_request,
                self._controller_node.hold,
                self._rules,
            )
        elif constraints := Constraints(self).given:
            self.get_logger().warning(
                f"{', '.join(constraints)}: no effect, because without control_msgs there are no goals"
            )
        self._state: ControllerStatePublisher | None = None
        if controller_state.AVAILABLE:
            self._state = ControllerStatePublisher(self)
        self._external = ExternalEfforts(self)
        self._payload = PayloadEstimation(self, lambda: self._loop.controller, lambda: self._model)
        self._measured = MeasuredJointsTopic(
            self, lambda: self._loop.controller, lambda: self._control_parameters.state_timeout
        )
        self._loader = ModelLoader(
            self, self._on_model, self._on_change, quantities=_QUANTITIES, measured=self._measured.parameters
        )
        self._loader.moves = self._moves
        self._loader.law = self._needs_programs(self._control_parameters)
        self._background = Background(self)
        if self._loader.driver is not None:
            self._loader.driver.check_mode(self._control_parameters.mode)
        remedy = "the brakes stay engaged; call ~/unpark" if brakes else "the arm is held; call ~/reset_fault"
        self._stops = RememberedStops(self, "arm", remedy)
        self._rest_services = StopServices(
            self, self._controller_node, self._stops, lambda: self._model.chain.name, "arm", brakes
        )
        self._live = LiveMemory(self, (*SHARED, "kp", "kv"), not self.get_parameter("lockstep").value)
        self._loader.on_declared = self._live.add
        self._controller_node.events.on_stop = self._live.forget
        self._loader.start()

    def run(self, stop: spin.StopEvent) -> None:
        """Run until the event."""
        self._loop.spin(stop)

    def on_fault(self, error: Exception) -> None:
        """A callback has failed."""
        self._controller_node.lifecycle.on_fault(error)

    def on_stop(self) -> None:
        """The process ends: so does a goal, the arm comes to rest, and the safe output is seen through."""
        if self._action is not None:
            self._action.end("the controller ends")
        self._controller_node.stop()
        self._stops.close()

    # Model and parameters

    def missing(self) -> str:
        """Reason why no controller can be built now; empty when one can."""
        return self._loader.missing

    def build(self) -> tuple[ArmController, Sequence[str]]:
        """A controller for the present model."""
        model = self._model
        if self._crisp_joints and self._crisp_joints != model.chain.joint_names:
            raise ParameterError(
                f"the file of CRISP has the joints {', '.join(self._crisp_joints)}; the arm has"
                f" {', '.join(model.chain.joint_names)}"
            )
        controller = ArmController(model.chain, self._drives(model), self._in_force())
        if controller.python_parts and not self._loop.runs_python:
            raise BackendError(
                f"{controller.python_parts}: the real-time loop runs no Python; start the node with"
                " native_loop: 'off'"
            )
        self._rest_services.look()
        self._stops.take_over(controller, model.chain.name)
        names = model.chain.joint_names
        self._external.begin(model.chain, model.dynamics)
        self._reference.begin(names)
        self._errors.begin(names)
        if self._state is not None:
            self._state.begin(names)
        return controller, names

    def forget(self) -> None:
        """The model stays for the next configure."""

    @property
    def _model(self) -> ArmModel:
        if self._loader.model is None:
            raise ParameterError(self._loader.missing)
        return self._loader.model

    def _moves(self) -> bool:
        """True while commands carry the robot."""
        loop = self._loop
        return loop.active and loop.controller is not None and loop.controller.phase.controls

    def _drives(self, model: ArmModel) -> ActuatedArm:
        drives = model.actuated(self._actuators)
        self._used.append((drives, model, self._actuators))
        return drives

    def _return_to(self, dynamics: object) -> None:
        """Show the values of a model that a trip has put in force again."""
        for drives, model, actuators in reversed(self._used):
            if drives is dynamics:
                self.get_logger().error(
                    "payload, gravity or friction that were set last are taken back; the parameters show what"
                    " is in force"
                )
                self._loader.return_to(model)
                if actuators != self._actuators:
                    self.set_parameters(parameters.as_parameters(actuators))
                return

    def _in_force(self) -> ArmParameters:
        """The parameters; where the drives have a loop of their own without gains, for every law."""
        driver, parameters = self._loader.driver, self._control_parameters
        if driver is None or not driver.command.drive_loop:
            return parameters
        return replace(parameters, kp=(0.0,), kv=(0.0,), ki=0.0)

    def _on_model(self, model: ArmModel) -> None:
        if unknown := without_joint(self._rules, model.chain.joint_names):
            self.get_logger().warning(unknown)
        if self._loop.controller is None:
            self._controller_node.start_if_due()
        else:
            lost = self._controller_node.active_trajectory.dropped()
            self._controller_node.renew()
            if lost:
                self.get_logger().warning(f"a new model is in use: the arm is held where it is{lost}")

    def _on_change(self, model: ArmModel) -> None:
        """The same arm with another payload or gravity: whatever is being followed goes on."""
        if self._loop.controller is not None:
            self._loop.controller.change_model(self._drives(model))

    def _check_parameters(self, candidate: ArmParameters) -> None:
        if self._loader.driver is not None:
            self._loader.driver.check_mode(candidate.mode)
        if not self._loop.runs_python and python_law(candidate.mode) is not None:
            raise ParameterError(
                f"the control law {candidate.mode!r} is in Python, which the real-time loop does not run;"
                " start the node with native_loop: 'off'"
            )
        if self._loader.model is not None and (law := self._needs_programs(candidate)):
            self._compile(law, self._loader.model.dynamics)
        if self._loop.controller is not None:
            self._barely_stable = self._loop.controller.check_parameters(candidate)

    @staticmethod
    def _needs_programs(candidate: ArmParameters) -> ArmParameters | None:
        """The parameters, where their law evaluates more than other laws."""
        return candidate if candidate.frame_law else None

    def _compile(self, law: ArmParameters, dynamics: CompiledDynamics) -> None:
        """Refuse a law whose programs are not compiled yet, and compile them where nothing waits for them."""
        prepare = partial(prepare_model, dynamics, _QUANTITIES, law)
        try:
            with cache.finished_entries():
                prepare()
        except cache.NotBuilt:
            log = self.get_logger()
            self._background.submit(
                "control law",
                lambda: BUILDS.made(prepare, prepare),
                lambda _: log.info(f"mode {law.mode} is compiled: it can be set now"),
                lambda reason: log.error(f"mode {law.mode} cannot be compiled: {reason}"),
            )
            raise ParameterError(
                f"mode '{law.mode}' is being compiled for this arm: set it again in some seconds"
            ) from None

    def _on_parameters(self, accepted: ArmParameters) -> None:
        log_change(self, self._control_parameters, accepted)
        self._control_parameters = accepted
        self._loader.law = self._needs_programs(accepted)
        if self._barely_stable:
            self.get_logger().warning(self._barely_stable)
            self._barely_stable = ""
        if self._loop.controller is not None:
            controller = self._loop.controller
            controller.parameters = self._in_force()
            if controller.energy_added > TOLD:
                self.get_logger().info(
                    f"stiffer springs: the change adds {controller.energy_added:.3g} J to their energy here"
                )
        else:
            self._controller_node.start_if_due()

    def _on_torque_check(self, accepted: TorqueCheckParameters) -> None:
        self._rules = replace(self._rules, torque=accepted)

    def _on_identified(self, accepted: IdentifiedRangeParameters) -> None:
        self._rules = replace(self._rules, identified=accepted)

    def _check_actuators(self, candidate: ActuatorParameters) -> None:
        if self._loop.controller is not None:
            candidate.of(self._loop.controller.chain)

    def _on_actuators(self, accepted: ActuatorParameters) -> None:
        self._actuators = accepted
        if self._loop.controller is not None:
            self._on_change(self._model)
        else:
            self._controller_node.start_if_due()

    # Trajectories

    def _on_taken_over(self, trajectory: Any) -> None:
        if self._action is not None:
            self._action.drop("a trajectory on the topic has taken over", trajectory)

    def _on_goal(self, trajectory: GoalTrajectory, answer: GoalAnswer) -> None:
        """Follow the trajectory of a goal."""
        controller = self._loop.controller
        assert controller is not None  # no goal is accepted by a node that is not active

        def tell(followed: Any) -> None:
            duration = followed.arrival - followed.start
            self.get_logger().info(f"following a goal of {trajectory.points} points for {duration:.3f} s")
            self._controller_node.active_trajectory.began(f"a goal of {trajectory.points} points", followed)
            answer.followed(followed)

        self._controller_node.planner.follow(
            lambda: self._wanted(controller, trajectory), tell, answer.refused, answer.wanted
        )

    def _wanted(self, controller: ArmController, trajectory: RawTrajectory | GoalTrajectory) -> PlanRequest:
        """Plan request of a trajectory; TrajectoryError for points that are not usable."""
        names, table, rules = trajectory.joint_names, trajectory.table(), self._rules
        streamed = isinstance(trajectory, RawTrajectory)
        return PlanRequest(
            trajectory.stamp,
            trajectory.points,
            lambda plan_start: controller.plan(names, table, plan_start, rules, streamed),
        )

    def _checked(self) -> Checked:
        """Subject of ``~/check_trajectory``."""
        model, controller, rules = self._model, self._loop.controller, self._rules
        limits = (1.0 - rules.torque.torque_margin) * self._control_parameters.limits_of(model.chain)
        accelerations = arm_accelerations(model.chain, self._control_parameters)
        rules = rules.accelerated(model.chain.joint_names, accelerations)
        origin = None
        if controller is not None and controller.phase.controls:
            origin = controller.reference(controller.time)
        return Checked(model.chain, self._drives(model), limits, rules, origin)

    # Reports

    def on_cycles(self, cycles: Cycles, controller: ArmController) -> float:
        """Report of what the controller did since the last call, for those who listen."""
        if controller.went_back():
            self._return_to(controller.dynamics)
        if self._control_parameters.mode == guiding.MODE:
            self._guide.look(controller.phase)
        if self._action is not None:
            self._action.serve()
        judged = self._action is not None and self._action.running
        if self._action is not None and judged:
            for cycle in cycles:
                self._action.observe(cycle, controller)
        if self._state is not None:
            self._state.publish_due(cycles)
        self._errors.add_all(cycles)
        self._payload.observe(cycles, controller)
        listened_to = self._reference.publish_all(cycles) | self._external.publish_all(cycles)
        return WATCHED if judged or listened_to else CALM

    def summary(self) -> Mapping[str, object]:
        """Largest error of each joint while it followed a trajectory [rad or m]."""
        return {"largest_tracking_error": self._errors.largest()} if self._loop.controller else {}

    def warnings(self, controller: ArmController) -> list[str]:
        """Possible faults of the model in use, and the joints that nothing limits."""
        unbounded = unlimited(controller.chain, controller.effort_limits)
        measured = self._measured.warnings(controller)
        found = [*self._loader.warnings, *measured, unbounded, self._stops.failure, controller.unobserved]
        return list(filter(None, found))

    def describe(self, controller: ArmController) -> Mapping[str, object]:
        """Mode and model, for the diagnostics."""
        chain = controller.chain
        return {
            "mode": self._control_parameters.mode,
            "model": f"{chain.name}: {chain.ends}, {chain.dof} joints",
            "backend": self._model.dynamics.backend,
            PREPARING: self._loader.preparing,
            **self._measured.describe(controller),
            **self._external.describe(controller.external),
            **self._model.in_force(),
        }


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(ComputedTorqueController, args, loop=ComputedTorqueController.run)


if __name__ == "__main__":
    sys.exit(main())
