"""Node ``trajectory_feedforward``: gives a stock ``joint_trajectory_controller`` the efforts of the model.

The maths is in ``robot_dynamics.control.arm.feedforward``; this module moves messages.
"""

from __future__ import annotations

import sys

from rclpy.lifecycle import LifecycleNode
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.effort_limits import unlimited
from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import EffortPath, FeedforwardParameters
from robot_dynamics.control.arm.feeding import Plan
from robot_dynamics.errors import ModelError, TrajectoryError
from robot_dynamics.ros.actions import deferred_server
from robot_dynamics.ros.control.check_topic import Checked, CheckTopic
from robot_dynamics.ros.control.controller_node import Autostart
from robot_dynamics.ros.control.lifecycle import Lifecycle
from robot_dynamics.ros.control.measured_joints import MeasuredJointsTopic
from robot_dynamics.ros.control.native.raw_trajectory import RawTrajectory
from robot_dynamics.ros.control.planner import Head
from robot_dynamics.ros.control.retime_topic import RetimeTopic
from robot_dynamics.ros.control.trajectory_topic import SHORT
from robot_dynamics.ros.feedforward.effort_stream import EffortStream
from robot_dynamics.ros.feedforward.feeder import Feeder
from robot_dynamics.ros.feedforward.goal_relay import GoalRelay
from robot_dynamics.ros.feedforward.messages import FilledTrajectory
from robot_dynamics.ros.models.arm_model import ArmModel, ModelLoader
from robot_dynamics.ros.support import diagnostics, parameters, qos, spin

DOWNSTREAM = "joint_trajectory_controller"
HELD = "the controller is told to stop"
LAST_WORD = 3.0
"""Seconds that the controller has to end its goals when the process ends."""


class TrajectoryFeedforward(LifecycleNode):
    """Feeds a trajectory controller with trajectories whose points carry the efforts of the model.

    Without ``autostart`` the lifecycle is the caller's: configure needs a robot description, activate takes
    trajectories, deactivate takes none and lets efforts on the command topic fade.
    """

    def __init__(self) -> None:
        super().__init__("trajectory_feedforward")
        self._autostart = parameters.declare(self, Autostart).autostart
        settings = parameters.declare(self, FeedforwardParameters)
        self._actuators = parameters.declare(self, ActuatorParameters)
        parameters.watch(self, settings, self._on_parameters, check=self._check_parameters)
        parameters.watch(self, self._actuators, self._on_actuators, check=self._check_actuators)
        self._lifecycle = Lifecycle(self, self)
        self._feeder = Feeder(self, settings, DOWNSTREAM)
        self._feeder.stop = self._hold
        self._stream: EffortStream | None = None
        if settings.effort_path == EffortPath.COMMANDS.value:
            self._stream = EffortStream(self, self._feeder)
        self._relay: GoalRelay | None = None
        if deferred_server.AVAILABLE:
            self._relay = GoalRelay(self, self._feeder, DOWNSTREAM)
        topic, received = "~/joint_trajectory", self._on_trajectory
        qos.subscription(self, JointTrajectory, topic, received, qos.TRAJECTORY, raw=True)
        CheckTopic(self, self._checked)
        RetimeTopic(self, self._checked)
        self.create_service(Trigger, "~/hold", self._on_hold)
        self._diagnostics = diagnostics.DiagnosticsPublisher(self, self._status)
        self._measured = MeasuredJointsTopic(
            self, lambda: self._feeder.feedforward, lambda: self._feeder.settings.state_timeout
        )
        self._loader = ModelLoader(self, self._on_model, self._on_change, measured=self._measured.parameters)
        self._loader.moves = self._moves
        self._loader.start()

    def on_fault(self, error: Exception) -> None:
        """A callback has failed."""
        self._lifecycle.on_fault(error)

    def on_stop(self) -> None:
        """The process ends, but first the controller has ended its goals and holds, and the efforts fade."""
        if self._feeder.active:
            self._halt(f"{self.get_name()} ends")
        if self._relay is not None:
            self._relay.drain(LAST_WORD)
        spin.see_through(self, self._feeder.settle, LAST_WORD)
        self._feeder.flush()
        if self._stream is not None:
            self._stream.drain()

    # Model and parameters

    def _on_model(self, model: ArmModel) -> None:
        if self._feeder.feedforward is not None:
            self._take(model)
        else:
            self._start_if_due()

    def _on_change(self, model: ArmModel) -> None:
        if self._feeder.feedforward is not None:
            self._feeder.feedforward.change_model(self._drives(model))

    def _moves(self) -> bool:
        """True while the arm is fed: the node is active, and joint states have come."""
        fed = self._feeder.feedforward
        return self._feeder.active and fed is not None and fed.position is not None

    def _drives(self, model: ArmModel) -> ActuatedArm:
        return model.actuated(self._actuators)

    def _start_if_due(self) -> None:
        if self._autostart and not self._loader.missing:
            self._lifecycle.start_once()

    def _take(self, model: ArmModel) -> None:
        self._feeder.use(Feedforward(model.chain, self._drives(model), self._feeder.settings))
        if self._relay is not None:
            self._relay.serve()

    def _check_parameters(self, candidate: FeedforwardParameters) -> None:
        if self._feeder.feedforward is not None:
            self._feeder.feedforward.check(candidate)

    def _on_parameters(self, accepted: FeedforwardParameters) -> None:
        self._feeder.settings = accepted
        if self._feeder.feedforward is not None:
            self._feeder.feedforward.parameters = accepted
        else:
            self._start_if_due()

    def _check_actuators(self, candidate: ActuatorParameters) -> None:
        if self._feeder.feedforward is not None:
            candidate.of(self._feeder.feedforward.chain)

    def _on_actuators(self, accepted: ActuatorParameters) -> None:
        self._actuators = accepted
        if self._loader.model is not None and self._feeder.feedforward is not None:
            self._on_change(self._loader.model)
        else:
            self._start_if_due()

    # Stages of the lifecycle

    def configure(self) -> None:
        """Take the model.

        Raises:
            RobotDynamicsError: there is none, or a parameter does not fit it.
        """
        if self._loader.model is None:
            raise ModelError(self._loader.missing)
        self._take(self._loader.model)

    def activate(self) -> None:
        """Take trajectories from now on."""
        self._feeder.active = True
        if self._stream is not None:
            self._stream.begin()

    def halt(self) -> None:
        """Stop sending efforts, in the declared way."""
        self._halt(f"{self.get_name()} was deactivated")

    def _halt(self, reason: str) -> None:
        feeder = self._feeder
        if not feeder.active or feeder.feedforward is None:
            return
        try:
            under_way = feeder.feedforward.moving(feeder.now()) or (
                self._relay is not None and self._relay.busy
            )
            if under_way and (impossible := self._hold(reason)):
                self.get_logger().error(f"the controller is not told to hold: {impossible}")
        finally:
            if self._stream is not None:
                self._stream.halt()
            feeder.active = False

    def forget(self) -> None:
        """Forget what was planned; the model stays for the next configure."""
        self._feeder.forget()

    # Requests

    def _on_trajectory(self, data: bytes) -> None:
        short = self._short(data)
        if short is not None and self._feeder.active and not short.points:
            reason = self._hold("an empty trajectory has ended it")
            self.get_logger().info(f"empty trajectory: {reason or HELD}")
            return

        head = Head("~/joint_trajectory", frozenset(short.joint_names), short.stamp) if short else None

        def refused(reason: str) -> None:
            self._feeder.refuse(f"trajectory refused: {reason}")

        def follow() -> None:
            decode = lambda: RawTrajectory(JointTrajectory, data)  # noqa: E731
            self._feeder.follow(decode, lambda filled: filled.data, self._pass_on, refused, head=head)

        if self._relay is not None and self._relay.passing:
            follow()
        else:
            self._feeder.once_heard(follow, refused)

    def _short(self, data: bytes) -> RawTrajectory | None:
        """The head of a message; None where it is long, or none."""
        try:
            return RawTrajectory(JointTrajectory, data) if len(data) <= SHORT else None
        except TrajectoryError:
            return None

    def _pass_on(self, plan: Plan, filled: FilledTrajectory) -> None:
        if self._relay is not None and self._relay.passing:
            self._relay.take_over(plan, filled)
        else:
            self._feeder.send(filled)
            self._feeder.begin(plan, by_topic=True)

    def _checked(self) -> Checked:
        """Subject of ``~/check_trajectory``."""
        model, feeder = self._loader.model, self._feeder
        if model is None:
            raise ModelError(self._loader.missing)
        limits = (1.0 - feeder.rules.torque.torque_margin) * feeder.settings.limits_of(model.chain)
        origin = None
        if feeder.feedforward is not None and not feeder.blindness():
            origin = feeder.feedforward.plan_start(None, feeder.now()).origin
        return Checked(model.chain, self._drives(model), limits, feeder.rules, origin)

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        active = self._feeder.active
        reason = self._hold("a hold was asked for") if active else "the node is not active"
        response.success = not reason
        response.message = reason or HELD
        return response

    def _hold(self, why: str) -> str:
        """Stop the controller where the arm is; returns why that is impossible. Clients of goals get why."""
        if self._relay is not None:
            self._relay.cancel_all(why)
        return self._feeder.hold()

    # Diagnostics

    def _status(self) -> diagnostics.Status:
        lifecycle = {"lifecycle": self._lifecycle.state}
        if self._lifecycle.fault:
            return diagnostics.Status(diagnostics.ERROR, self._lifecycle.fault, lifecycle)
        feeder, feedforward = self._feeder, self._feeder.feedforward
        if feedforward is None:
            reason = self._loader.missing or "it can be"
            return diagnostics.Status(diagnostics.WARN, f"not configured: {reason}", lifecycle)
        chain, plan = feedforward.chain, feeder.last_plan
        values = {
            **lifecycle,
            "effort path": feeder.settings.effort_path,
            "age of the state [s]": f"{feeder.state_age:.3f}",
            "trajectories sent": feeder.sent,
            "refused messages": feeder.refused,
            **(self._loader.model.in_force() if self._loader.model is not None else {}),
            "model": f"{chain.name}: {chain.ends}, {chain.dof} joints",
            **self._measured.describe(feedforward),
            diagnostics.PREPARING: self._loader.preparing,
        }
        if plan is not None:
            values["points of the last trajectory"] = len(plan.samples.times)
            values["largest effort error [N m or N]"] = f"{plan.samples.error.max():.3g}"
            values["joints beyond their limit"] = ", ".join(plan.beyond) or "none"
        return diagnostics.Status(*self._judge(feedforward), values)

    def _judge(self, feedforward: Feedforward) -> tuple[bytes, str]:
        """Level and message of a configured node."""
        feeder = self._feeder
        reason = feeder.refusal()
        if reason:
            return (diagnostics.WARN if feeder.active else diagnostics.OK), reason
        if feeder.unheard:
            return diagnostics.WARN, f"nobody listens to {feeder.unheard}"
        measured = self._measured.warnings(feedforward)
        unbounded = unlimited(feedforward.chain, feedforward.effort_limits)
        warnings = [*self._loader.warnings, *measured, unbounded]
        if any(warnings):
            return diagnostics.WARN, "; ".join(filter(None, warnings))
        moving = feedforward.moving(feeder.now())
        return diagnostics.OK, "feeding a trajectory" if moving else "ready"


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(TrajectoryFeedforward, args)


if __name__ == "__main__":
    sys.exit(main())
