"""Node ``simulator``: joint efforts in, joint states of an arm or a Stewart platform simulated by MuJoCo out.

By the wall clock the arm moves on at its rate, whatever arrives. In lockstep it moves on only when the state
it has published is answered, so that a run does not depend on how busy the machine is:

1. The simulator publishes ``joint_states`` with the stamp t of simulated time (never zero).
2. The controller answers on ``joint_command`` with efforts and the same stamp t.
3. The simulator moves on by one period under these efforts and publishes the next state.

A state that nobody answers is published again, unchanged, every REPEAT seconds.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.errors import StateError, quoted, shown
from robot_dynamics.ros.models.plants import kind_of
from robot_dynamics.ros.models.plants.source import PlantSource, initial_position
from robot_dynamics.ros.simulation.motion import SimulatedMotion
from robot_dynamics.ros.simulation.state_output import StateOutput
from robot_dynamics.ros.simulation.wall_clock import WallClock
from robot_dynamics.ros.support import diagnostics, parameters, qos, spin
from robot_dynamics.ros.support.hot_loop import AT_REST, spin_on
from robot_dynamics.ros.support.messages import JointOrder, stamp_to_nanoseconds
from robot_dynamics.simulation.parameters import COMMANDS, JOINT_STATE, SimulatorParameters
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.spatial import Array

PUSH_TIME = 300_000_000
"""Simulated time for which a push on ~/push acts [ns]."""
REPEAT = 0.2
"""Steady seconds after which an unanswered state is published again in lockstep."""
UNANSWERED = 1.0
"""Steady seconds in lockstep without an answer after which the status is stale."""
HARDWARE_COMMANDS = "robot_joint_commands"
"""Topic of efforts by name, called as the package ``joint_state_topic_hardware_interface`` calls it."""
THROTTLE = 2.0
"""Seconds between two log lines about the same fault."""


class Simulator(Node):
    """Runs one arm, or one Stewart platform."""

    def __init__(self) -> None:
        super().__init__("simulator")
        settings = self._settings = parameters.declare(self, SimulatorParameters)
        parameters.watch(self, settings, self._on_parameters, check=self._check_parameters)
        self._period = round(1e9 / settings.rate)
        self._motion: SimulatedMotion | None = None
        self._order = JointOrder(())
        self._parts = np.zeros(0)
        self._refused = 0
        self._braked = False
        self._brake_heard = math.inf
        kind = kind_of(settings)
        self._output = StateOutput(self, kind, settings)
        self._wall_clock: WallClock | None = None
        if not settings.lockstep:
            self._wall_clock = WallClock(
                self, self._period, settings.real_time_factor, settings.measure_latency
            )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._repeat = self.create_timer(REPEAT, self._publish_again, clock=steady)
        if not settings.lockstep:
            self._repeat.cancel()
        self._commands = self._subscribe(kind.command_topic(settings))
        if kind.brake_topic:
            self.create_subscription(Bool, kind.brake_topic, self._on_brake, qos.DESCRIPTION)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self._pushed, self._pushed_until = "", math.inf
        self.create_subscription(WrenchStamped, "~/push", self._on_push, qos.COMMAND)
        self._diagnostics = diagnostics.DiagnosticsPublisher(self, self._status)
        self._source = PlantSource(self, kind, settings, self._period, self._use)
        self._source.start()

    def _subscribe(self, command_topic: str) -> Subscription:
        if self._settings.lockstep:
            return self.create_subscription(JointState, "joint_command", self._on_answer, qos.LOCKSTEP)
        if self._settings.command_message == JOINT_STATE:
            on_command = self._on_hardware_command
            return self.create_subscription(JointState, HARDWARE_COMMANDS, on_command, qos.COMMAND)
        return self.create_subscription(Float64MultiArray, command_topic, self._on_command, qos.COMMAND)

    def run(self, stop: spin.StopEvent) -> None:
        """Run until the event: in lockstep at every answer, else by the wall clock."""
        if self._wall_clock is None:
            spin_on(self, stop, self._commands, AT_REST)
        else:
            self._start_pacing(self._wall_clock)
            self._wall_clock.run(stop, self._commands, self._cycle)

    def on_stop(self) -> None:
        """Leave the results of the run in the log, as JSON."""
        simulated = 1e-9 * self._motion.now if self._motion is not None else 0.0
        results: dict[str, object] = {"simulated_s": simulated, "refused_commands": self._refused}
        if self._wall_clock is not None:
            results = {**self._wall_clock.summary(), **results, **self._wall_clock.latency_summary()}
        self.get_logger().info(f"summary: {json.dumps(results)}")

    # Plant and parameters

    def _use(self, plant: Plant) -> None:
        """Simulate ``plant`` from its initial state; simulated time goes on."""
        settings = self._settings
        now = self._motion.now if self._motion is not None else 0
        self._motion = motion = SimulatedMotion(plant, settings, self._period, now)
        if self._braked:
            motion.brake(True, settings)
        self._order = JointOrder(plant.joint_names)
        self._parts = np.full(plant.dof, np.nan)
        self._output.begin(plant)
        steps = round(1e-9 * self._period / plant.parameters.physics_timestep)
        self.get_logger().info(
            f"simulating {shown(plant.name)} with joints {shown(*plant.joint_names)}"
            f" at {settings.rate:g} Hz, {steps} steps of {plant.integrator} a period"
            f"{', in lockstep' if settings.lockstep else ''}"
        )
        if self._wall_clock is None:
            motion.step(motion.effort)
            self._output.publish(motion)
        else:
            self._start_pacing(self._wall_clock)

    def _start_pacing(self, wall_clock: WallClock) -> None:
        self._output.restart_clock()
        wall_clock.begin()

    def _check_parameters(self, candidate: SimulatorParameters) -> None:
        if self._motion is not None:
            initial_position(self._motion.plant, candidate)

    def _on_parameters(self, accepted: SimulatorParameters) -> None:
        self._settings = self._output.settings = accepted
        if self._motion is not None and not self._motion.commanded:
            self._motion.halt(accepted)

    # Motion

    def _cycle(self) -> None:
        """One period by the wall clock."""
        motion, settings = self._motion, self._settings
        if motion is None:
            return
        self._watch_brakes()
        age = motion.command_age
        if age > settings.command_timeout:
            motion.halt(settings)
            self.get_logger().warning(
                f"no command for {age:.3f} s: {settings.on_timeout}", throttle_duration_sec=THROTTLE
            )
        self._advance(motion)

    def _watch_brakes(self) -> None:
        """Engage the brakes where the node that commanded them has fallen silent."""
        silent = time.monotonic() - self._brake_heard
        if silent <= self._settings.brake_timeout:
            return
        self._brake_heard = math.inf
        if not self._braked:
            self.get_logger().error(f"no command to the brakes for {silent:.3f} s: they engage")
        self._engage_brakes(True)

    def _engage_brakes(self, engaged: bool) -> None:
        self._braked = engaged
        if self._motion is not None:
            self._motion.brake(engaged, self._settings)

    def _advance(self, motion: SimulatedMotion) -> None:
        if motion.now >= self._pushed_until:
            self._end_push(motion)
        trouble = motion.advance(self._settings)
        if trouble:
            self.get_logger().error(trouble)
        self._output.publish(motion)

    def _publish_again(self) -> None:
        if self._motion is not None:
            self._output.publish(self._motion)

    def _accept(self, motion: SimulatedMotion, effort: Array) -> None:
        if not motion.commanded and self._wall_clock is not None:
            self.get_logger().info("commanded from now on", once=True)
            self._wall_clock.count_from_now()
        motion.accept(effort)

    def _on_command(self, message: Float64MultiArray) -> None:
        """Efforts for all joints, in chain order, until the next command."""
        motion = self._motion
        if motion is None:
            return
        effort, plant = np.array(message.data), motion.plant
        if effort.shape != (plant.dof,) or not np.isfinite(effort).all():
            what = "efforts" if self._settings.drives == COMMANDS[0] else "setpoints"
            self._refuse(
                f"it must have {plant.dof} finite {what}, of {shown(*plant.joint_names)}; it has"
                f" {quoted(effort[: plant.dof + 1].tolist())}, {len(effort)} in all"
            )
            return
        self._accept(motion, effort)

    def _on_brake(self, message: Bool) -> None:
        if self._settings.lockstep:
            return  # nothing may depend on when a message comes, unless it is answered
        self._brake_heard = time.monotonic()
        self.get_logger().info("brakes follow their commands from now on", once=True)
        self._engage_brakes(message.data)

    def _on_hardware_command(self, message: JointState) -> None:
        """Efforts by joint name until the next command; ros2_control has numbers once somebody commands."""
        motion = self._motion
        if motion is None or (message.effort and np.isnan(message.effort).all()):
            return
        try:
            effort = self._read(message, "effort")
        except StateError as error:
            self._refuse(str(error))
            return
        if effort is not None:
            self._accept(motion, effort)

    def _read(self, message: JointState, field: str) -> Array | None:
        """(n,) values of a command; where several controllers send, each for its joints, once all have.

        Raises:
            StateError: see :class:`JointOrder`.
        """
        names = set(message.name)
        partial = bool(names) and names < set(self._order.joint_names)
        if not partial or self.count_publishers(self._commands.topic_name) < 2:
            return self._order.read_command(message, field)
        self._order.read_part(message, field, self._parts)
        if np.isnan(self._parts).any():
            return None
        values, self._parts = self._parts, np.full(len(self._parts), np.nan)
        return values

    def _on_push(self, message: WrenchStamped) -> None:
        """Push a link for a moment."""
        motion, force, torque = self._motion, message.wrench.force, message.wrench.torque
        push = getattr(motion.plant, "push", None) if motion is not None else None
        if motion is None or push is None:
            self._refuse("nothing can be pushed here")
            return
        try:
            push(message.header.frame_id, [force.x, force.y, force.z, torque.x, torque.y, torque.z])
        except StateError as error:
            self._refuse(str(error))
            return
        self._pushed, self._pushed_until = message.header.frame_id, motion.now + PUSH_TIME

    def _end_push(self, motion: SimulatedMotion) -> None:
        push = getattr(motion.plant, "push", None)
        self._pushed_until = math.inf
        if push is not None:
            with contextlib.suppress(StateError):  # another robot since
                push(self._pushed, np.zeros(6))

    def _on_answer(self, message: JointState) -> None:
        """Efforts that answer a state, in lockstep."""
        motion = self._motion
        if motion is None:
            return
        stamp = stamp_to_nanoseconds(message.header.stamp)
        try:
            effort = self._read(message, self._settings.drives) if stamp == motion.now else None
        except StateError as error:
            self._refuse(str(error))
            return
        if effort is None:
            # An answer to a repeated state comes twice; one to a state that never was is a fault.
            if stamp > motion.now:
                self._refuse(f"its stamp {stamp} ns is not that of the state, {motion.now} ns")
            return
        self._repeat.reset()
        self._accept(motion, effort)
        self._advance(motion)

    def _refuse(self, reason: str) -> None:
        self._refused += 1
        self.get_logger().warning(f"command refused: {reason}", throttle_duration_sec=THROTTLE)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Back to the initial state."""
        motion = self._motion
        if motion is None:
            response.message = "there is no robot description yet"
            return response
        motion.reset(self._settings)
        self._parts[:] = np.nan
        if self._wall_clock is None:
            motion.step(motion.effort)
            self._output.publish(motion)
        response.success = True
        response.message = f"{motion.plant.name} is in its initial state"
        return response

    # Diagnostics

    def _status(self) -> diagnostics.Status:
        motion = self._motion
        if motion is None:
            return diagnostics.Status(diagnostics.WARN, self._source.missing, {})
        values: dict[str, object] = {
            "mode": "wall clock" if self._wall_clock is not None else "lockstep",
            "model": f"{motion.plant.name}, {motion.plant.dof} joints",
            "simulated time [s]": f"{1e-9 * motion.now:.3f}",
            "saturated joints": ", ".join(motion.saturated) or "none",
            "refused commands": self._refused,
        }
        if motion.commanded:
            values["command age [s]"] = f"{motion.command_age:.3f}"
        if self._wall_clock is not None:
            values.update(self._wall_clock.values())
        return diagnostics.Status(*self._judge(motion), values)

    def _judge(self, motion: SimulatedMotion) -> tuple[bytes, str]:
        """Level and message."""
        wall_clock = self._wall_clock
        if wall_clock is None:
            waits = time.monotonic() - motion.moved_at
            if waits > UNANSWERED:
                return diagnostics.STALE, f"in lockstep, without an answer for {waits:.1f} s"
        elif not motion.commanded:
            return diagnostics.WARN, f"no command: {self._settings.on_timeout}"
        warnings = [f"effort limited at {', '.join(motion.saturated)}"] if motion.saturated else []
        if wall_clock is not None:
            warnings += wall_clock.warnings()
        if warnings:
            return diagnostics.WARN, "; ".join(warnings)
        return diagnostics.OK, "in lockstep" if wall_clock is None else "commanded"


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(Simulator, args, loop=Simulator.run)


if __name__ == "__main__":
    sys.exit(main())
