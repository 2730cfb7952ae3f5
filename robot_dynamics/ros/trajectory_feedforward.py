"""Node ``trajectory_feedforward``: gives a stock ``joint_trajectory_controller`` the efforts of the model.

The maths is in ``robot_dynamics.control.arm.feedforward``; this module moves messages.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.effort_limits import unlimited
from robot_dynamics.control.arm.feedforward import EffortPath, Feedforward, FeedforwardParameters, Plan
from robot_dynamics.control.arm.sampling import evaluate
from robot_dynamics.control.cross_fade import ramp_down
from robot_dynamics.errors import ModelError, RobotDynamicsError, StateError, TrajectoryError
from robot_dynamics.ros import follow_joint_trajectory
from robot_dynamics.ros.control.control_node import THROTTLE, Autostart
from robot_dynamics.ros.control.halting import LAST_WORD, HaltingNode
from robot_dynamics.ros.goal_relay import GoalRelay
from robot_dynamics.ros.models.arm_model import ArmModel, ModelLoader
from robot_dynamics.ros.support import diagnostics, parameters, qos, spin
from robot_dynamics.ros.support.messages import JointOrder, set_stamp, stamp_to_nanoseconds, to_array
from robot_dynamics.ros.support.trajectories import waypoints

DOWNSTREAM = "joint_trajectory_controller"


class TrajectoryFeedforward(HaltingNode):
    """Feeds a trajectory controller with trajectories whose points carry the efforts of the model.

    Without ``autostart`` the lifecycle is the caller's: configure needs a robot description, activate takes
    trajectories, deactivate takes none and lets efforts on the command topic fade.
    """

    def __init__(self) -> None:
        super().__init__("trajectory_feedforward")
        self._autostart = parameters.declare(self, Autostart).autostart
        self._settings = parameters.declare(self, FeedforwardParameters)
        self._actuators = parameters.declare(self, ActuatorParameters)
        parameters.watch(self, self._settings, self._on_parameters, check=self._check_parameters)
        parameters.watch(self, self._actuators, self._on_actuators, check=self._check_actuators)
        self.active = False
        self.feedforward: Feedforward | None = None
        self._counts = {"trajectories sent": 0, "refused messages": 0}
        self._last_plan: Plan | None = None
        self._state_at: float | None = None
        self._halted_at: float | None = None
        self._halting: Feedforward | None = None
        self._epoch = self.get_clock().now().nanoseconds
        self._out = self.create_publisher(JointTrajectory, f"{DOWNSTREAM}/joint_trajectory", qos.TRAJECTORY)
        self._commands = None
        if self._settings.effort_path == EffortPath.COMMANDS.value:
            self._commands = self.create_publisher(
                Float64MultiArray, "effort_controller/commands", qos.COMMAND
            )
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self.create_timer(1.0 / self._settings.command_rate, self._stream, clock=steady)
        self.create_subscription(JointState, "joint_states", self._on_state, qos.STATE_SUBSCRIPTION)
        self.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.TRAJECTORY)
        self.create_service(Trigger, "~/hold", self._on_hold)
        self._relay = GoalRelay(self, DOWNSTREAM) if follow_joint_trajectory.AVAILABLE else None
        self._diagnostics = diagnostics.DiagnosticsPublisher(self, self._status)
        self._loader: ModelLoader | None = None
        self._loader = ModelLoader(self, self._on_model, self._on_change)
        self._start_if_due()

    # Model and parameters

    def _on_model(self, _: ArmModel) -> None:
        if self.feedforward is not None:
            self._take_model()
        else:
            self._start_if_due()

    def _on_change(self, model: ArmModel) -> None:
        if self.feedforward is not None:
            self.feedforward.change_model(self._drives(model))

    def _drives(self, model: ArmModel) -> ActuatedArm:
        return ActuatedArm(model.dynamics, model.chain, self._actuators)

    def _start_if_due(self) -> None:
        if self._autostart and self._loader is not None and not self._loader.missing:
            self.start_once()

    def _take_model(self) -> None:
        model = self._loader.model
        self.feedforward = Feedforward(model.chain, self._drives(model), self._settings)
        self._order = JointOrder(model.chain.joint_names)
        self._state_at = None

    def _check_parameters(self, candidate: FeedforwardParameters) -> None:
        if self.feedforward is not None:
            self.feedforward.check(candidate)

    def _on_parameters(self, accepted: FeedforwardParameters) -> None:
        self._settings = accepted
        if self.feedforward is not None:
            self.feedforward.parameters = accepted
        else:
            self._start_if_due()

    def _check_actuators(self, candidate: ActuatorParameters) -> None:
        if self.feedforward is not None:
            candidate.of(self.feedforward.chain)

    def _on_actuators(self, accepted: ActuatorParameters) -> None:
        self._actuators = accepted
        if self.feedforward is not None:
            self._on_change(self._loader.model)
        else:
            self._start_if_due()

    # Lifecycle

    def _configure(self) -> None:
        if self._loader.missing:
            raise ModelError(self._loader.missing)
        self._take_model()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take the model."""
        result = self.attempt("configure", self._configure)
        return super().on_configure(state) if result == TransitionCallbackReturn.SUCCESS else result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take trajectories from now on."""
        self.active, self._halted_at = True, None
        return super().on_activate(state)

    def forget(self) -> None:
        """Forget what was planned; the model stays for the next configure."""
        self.feedforward = None

    def halt(self) -> None:
        """Stop sending efforts, in the declared way."""
        if not self.active or self.feedforward is None:
            return
        try:
            if self.feedforward.moving(self.now()):
                self.hold()
        finally:
            if self._commands is not None and self.feedforward.position is not None:
                self._halting, self._halted_at = self.feedforward, time.monotonic()
            self.active = False

    def on_stop(self) -> None:
        """The process ends, but first the controller is told to hold and the efforts fade."""
        if self.active:
            self.halt()
            if self._relay is not None:
                self._relay.stop()
            self._out.wait_for_all_acked(LAST_WORD)
        while self._halted_at is not None:
            self._stream()
            time.sleep(0.01)
        if self._commands is not None:
            self._commands.wait_for_all_acked(LAST_WORD)

    # Trajectories

    def now(self) -> float:
        """ROS time on the node's clock [s]."""
        return 1e-9 * (self.get_clock().now().nanoseconds - self._epoch)

    def refusal(self) -> str:
        """Why no trajectory is taken now; empty when one is."""
        if not self.active or self.feedforward is None:
            return "the node is not active"
        if self._state_at is None:
            return "there is no joint state yet"
        if self._state_age() > self._settings.state_timeout:
            return f"no joint state for {self._settings.state_timeout:g} s"
        return ""

    def plan(self, message: JointTrajectory) -> tuple[Plan, JointTrajectory]:
        """What to send on for a trajectory, and the plan behind it.

        Raises:
            TrajectoryError: it cannot be followed, or there is no joint state to begin from.
        """
        reason = self.refusal()
        if reason:
            raise TrajectoryError(reason)
        stamp = stamp_to_nanoseconds(message.header.stamp)
        start = None if stamp == 0 else 1e-9 * (stamp - self._epoch)
        plan = self.feedforward.plan(message.joint_names, waypoints(message), start, self.now())
        if plan.beyond:
            self.get_logger().warning(f"the trajectory needs more than the limit of {', '.join(plan.beyond)}")
        return plan, self._message(plan, message)

    def begin(self, plan: Plan) -> None:
        """``plan`` is on its way to the controller."""
        self.feedforward.follow(plan)
        self._last_plan = plan
        self._counts["trajectories sent"] += 1
        trajectory = plan.trajectory
        self.get_logger().info(
            f"sent {len(plan.samples.times)} points for {trajectory.end - trajectory.start:.3f} s;"
            f" interpolated efforts are within {plan.samples.error.max():.3g} of the model's"
        )

    def refuse(self, text: str) -> None:
        """Count and log a message that is not used."""
        self._counts["refused messages"] += 1
        self.get_logger().error(text)

    def hold(self) -> str:
        """Stop the controller where the arm is, its weight carried; returns why that is impossible.

        The controller refuses an empty trajectory, and when it stops by itself it drops the efforts.
        """
        if self._relay is not None:
            self._relay.cancel_all()
        self.feedforward.drop()
        reason = self.refusal()
        if reason:
            return reason
        position = self.feedforward.position
        point = JointTrajectoryPoint(positions=to_array(position), velocities=to_array(0.0 * position))
        if self._commands is None:
            point.effort = to_array(self.feedforward.effort(self.now()))
        names = list(self.feedforward.chain.joint_names)
        self._out.publish(JointTrajectory(joint_names=names, points=[point]))
        return ""

    def _message(self, plan: Plan, given: JointTrajectory) -> JointTrajectory:
        message = JointTrajectory(joint_names=list(self.feedforward.chain.joint_names))
        message.header.frame_id = given.header.frame_id
        message.header.stamp = given.header.stamp
        samples, spline = plan.samples, plan.trajectory.spline
        begin = plan.trajectory.start
        if plan.moving or self._commands is not None:
            # The controller must begin at the moment that the path was planned for.
            set_stamp(message.header.stamp, self._epoch + round(1e9 * begin))
        times = samples.times
        states = (samples.positions, samples.velocities, samples.accelerations)
        if self._commands is not None:
            # Quintics between the knots are the path itself; nothing else needs points.
            times, states = spline.times, evaluate(spline, spline.times)
        # The controller takes no trajectory whose end moves, not even by a rounding error.
        states[1][-1] = 0.0
        offset = self._offset(begin, message)
        for k, moment in enumerate(times):
            point = JointTrajectoryPoint(
                positions=to_array(states[0][k]),
                velocities=to_array(states[1][k]),
                accelerations=to_array(states[2][k]),
            )
            set_stamp(point.time_from_start, offset + round(1e9 * (moment - begin)))
            if self._commands is None:
                point.effort = to_array(samples.efforts[k])
            message.points.append(point)
        return message

    def _offset(self, begin: float, message: JointTrajectory) -> int:
        """Nanoseconds between the message's stamp and the path's begin."""
        stamp = stamp_to_nanoseconds(message.header.stamp)
        return 0 if stamp == 0 else self._epoch + round(1e9 * begin) - stamp

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if not message.points and self.feedforward is not None:
            reason = self.hold()
            self.get_logger().info(f"empty trajectory: {reason or 'the controller is told to hold'}")
            return
        try:
            plan, filled = self.plan(message)
        except RobotDynamicsError as error:
            self.refuse(f"trajectory refused: {error}")
            return
        self._out.publish(filled)
        self.begin(plan)

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        reason = self.hold() if self.active else "the node is not active"
        response.success = not reason
        response.message = reason or "the controller is told to hold"
        return response

    # States and efforts

    def _on_state(self, message: JointState) -> None:
        if self.feedforward is None:
            return
        try:
            sample = self._order.read(message)
        except StateError as error:
            self._counts["refused messages"] += 1
            self.get_logger().warning(f"joint state refused: {error}", throttle_duration_sec=THROTTLE)
            return
        self.feedforward.observe(sample.position)
        self._state_at = self.now()

    def _state_age(self) -> float:
        # By ROS time: a simulation that pauses pauses the states with it.
        return np.inf if self._state_at is None else self.now() - self._state_at

    def _stream(self) -> None:
        """Efforts of the moment on the command topic; they fade when states stop or the node halts."""
        # A halt goes on to its end, whatever becomes of what was configured.
        feedforward = self.feedforward if self._halted_at is None else self._halting
        if self._commands is None or feedforward is None or feedforward.position is None:
            return
        if not self.active and self._halted_at is None:
            return
        ahead = 0.5 / self._settings.command_rate  # the effort is held for a period
        share = 1.0
        late = self._state_age() - self._settings.state_timeout
        if self._halted_at is not None:
            share = ramp_down(time.monotonic() - self._halted_at, self._settings.safe_fade_time)
        elif late > 0.0:
            share = ramp_down(late, self._settings.safe_fade_time)
            self.get_logger().error(
                "no joint state: the efforts fade to zero", throttle_duration_sec=THROTTLE
            )
        try:
            effort = share * feedforward.effort(self.now() + ahead)
        except Exception:
            if self._halted_at is None:
                raise
            # No effort is the safe output where the halt itself fails.
            effort, share = np.zeros(feedforward.chain.dof), 0.0
        self._commands.publish(Float64MultiArray(data=to_array(effort)))
        if share == 0.0:
            self._halted_at = None

    def _status(self) -> diagnostics.Status:
        lifecycle = {"lifecycle": self.lifecycle_state}
        if self.fault:
            return diagnostics.Status(diagnostics.ERROR, self.fault, lifecycle)
        if self.feedforward is None:
            reason = self._loader.missing or "it can be"
            return diagnostics.Status(diagnostics.WARN, f"not configured: {reason}", lifecycle)
        chain = self.feedforward.chain
        reason = self.refusal()
        moving = self.feedforward.moving(self.now())
        level = diagnostics.WARN if reason and self.active else diagnostics.OK
        if not reason and not self._out.get_subscription_count():
            level, reason = diagnostics.WARN, f"nobody listens to {self._out.topic_name}"
        doubts = [*self._loader.doubts, unlimited(chain, self.feedforward.effort_limits)]
        if not reason and any(doubts):
            level, reason = diagnostics.WARN, "; ".join(filter(None, doubts))
        values = {
            **lifecycle,
            "effort path": self._settings.effort_path,
            "age of the state [s]": f"{self._state_age():.3f}",
            **self._counts,
            "model": f"{chain.name}: {chain.root} -> {chain.tip}, {chain.dof} joints",
        }
        if self._last_plan is not None:
            values["points of the last trajectory"] = len(self._last_plan.samples.times)
            values["largest effort error [N m or N]"] = f"{self._last_plan.samples.error.max():.3g}"
            values["joints beyond their limit"] = ", ".join(self._last_plan.beyond) or "none"
        return diagnostics.Status(level, reason or ("feeding a trajectory" if moving else "ready"), values)


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(TrajectoryFeedforward, args)


if __name__ == "__main__":
    sys.exit(main())
