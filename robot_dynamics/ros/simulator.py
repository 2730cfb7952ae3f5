"""Node ``simulator``: joint efforts in, joint states of an arm or a Stewart platform simulated by MuJoCo out.

By the wall clock the arm moves on at its rate, whatever arrives. In lockstep it moves on only when the state
it has published is answered, so that a run does not depend on how busy the machine is:

1. The simulator publishes ``joint_states`` with the stamp t of simulated time (never zero).
2. The controller answers on ``joint_command`` with efforts and the same stamp t.
3. The simulator moves on by one period under these efforts and publishes the next state.

A state that nobody answers is published again, unchanged, every REPEAT seconds.
"""

from __future__ import annotations

import gc
import json
import sys
import time

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.errors import StateError
from robot_dynamics.ros.models.plants import kind_of
from robot_dynamics.ros.models.plants.source import PlantSource, initial_position
from robot_dynamics.ros.support import diagnostics, parameters, qos, spin
from robot_dynamics.ros.support.hot_loop import run_ready, spin_on, take_all
from robot_dynamics.ros.support.messages import JointOrder, set_stamp, stamp_to_nanoseconds, to_array
from robot_dynamics.ros.support.pacing import GIVE_UP, Lateness, Pacer
from robot_dynamics.simulation.parameters import SimulatorParameters
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.stewart.orientation import quaternion_from_rotation

REPEAT = 0.2
"""Steady seconds after which an unanswered state is published again in lockstep."""
UNANSWERED = 1.0
"""Steady seconds in lockstep without an answer after which the status is stale."""
THROTTLE = 2.0
"""Seconds between two log lines about the same fault."""
HOUSEKEEPING = 0.02
"""Steady seconds between two looks at services and timers, by the wall clock."""
# Time that these need before the next deadline, and how long they wait for such a pause at most [ns].
SPARE = 500_000
PATIENCE = 200_000_000


class Simulator(Node):
    """Runs one arm, or one Stewart platform."""

    def __init__(self) -> None:
        super().__init__("simulator")
        self._settings = parameters.declare(self, SimulatorParameters)
        parameters.watch(self, self._settings, self._on_parameters, check=self._check_parameters)
        self._kind = kind_of(self._settings)
        self.period = round(1e9 / self._settings.rate)
        self._plant: Plant | None = None
        self._now = 0
        self._epoch: int | None = None
        self._command_time: int | None = None
        self._refused = 0
        self._moved = time.monotonic()
        self._states = self.create_publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        self._clock_publisher = None
        self._clock_message = ClockMessage()
        if self._settings.publish_clock:
            self._clock_publisher = self.create_publisher(ClockMessage, "/clock", qos.CLOCK)
        if self.lockstep:
            self.commands = self.create_subscription(
                JointState, "joint_command", self._on_answer, qos.LOCKSTEP
            )
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._repeat = self.create_timer(REPEAT, self._publish_state, clock=steady)
        else:
            self.commands = self.create_subscription(
                Float64MultiArray,
                self._kind.command_topic,
                self._on_command,
                qos.COMMAND,
            )
        self.answers = None
        if self._settings.measure_latency and not self.lockstep:
            self.answers = self.create_subscription(
                JointState, "joint_command", self._on_timed_answer, qos.LOCKSTEP
            )
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.pacer: Pacer | None = None
        self._latency = Lateness(self.period)
        self._diagnostics = diagnostics.DiagnosticsPublisher(self, self._status)
        self._pose: Publisher | None = None
        if self._kind.pose_topic:
            self._pose = self.create_publisher(PoseStamped, self._kind.pose_topic, qos.LOCKSTEP)
        self._source = PlantSource(self, self._kind, self._settings, self.period, self._use)

    # Model and parameters

    def _use(self, plant: Plant) -> None:
        """Simulate ``plant`` from its initial state."""
        plant.reset(initial_position(plant, self._settings))
        self._plant = plant
        self._order = JointOrder(plant.joint_names)
        self._message = self._order.message()
        # Who looks at the whole robot needs the joints too that do not take part.
        self._message.name = [*plant.joint_names, *plant.held_joints]
        self._held = to_array(np.array([*plant.held_joints.values()]))
        self._still = to_array(np.zeros(len(self._held)))
        self._halt()
        steps = round(1e-9 * self.period / plant.parameters.physics_timestep)
        self.get_logger().info(
            f"simulating {plant.name} with joints {', '.join(plant.joint_names)}"
            f" at {self._settings.rate:g} Hz, {steps} steps of {plant.integrator} a period"
            f"{', in lockstep' if self.lockstep else ''}"
        )
        if self.lockstep:
            self._next_state(self._effort)
        elif self.pacer is not None:
            self.start_pacing()

    @property
    def lockstep(self) -> bool:
        """Whether the arm moves on only when its state is answered."""
        return self._settings.lockstep

    def _check_parameters(self, candidate: SimulatorParameters) -> None:
        if self._plant is not None:
            initial_position(self._plant, candidate)

    def _on_parameters(self, accepted: SimulatorParameters) -> None:
        self._settings = accepted
        if self._plant is not None and self._command_time is None:
            self._halt()

    # Motion

    def _halt(self) -> None:
        """No command is in force: until one comes, the arm does what ``on_timeout`` says."""
        plant = self._plant
        self._effort = np.zeros(plant.dof)
        self._applied = self._effort
        self._command_time = None
        if not self.lockstep:
            plant.set_brakes(self._settings.on_timeout == "brake")

    def _accept(self, effort: np.ndarray) -> None:
        if self._command_time is None:
            self._plant.set_brakes(False)
            if self.pacer is not None:
                # The start of the node that commands is not the loop's doing.
                self.pacer.restart_figures()
                self._latency = Lateness(self.period)
        self._effort = effort
        self._command_time = self._now

    def _next_state(self, effort: np.ndarray) -> None:
        """Publish the state at the next instant of simulated time."""
        self._applied = effort
        self._moved = time.monotonic()
        self._now += self.period
        self._publish_state()

    def _wall_stamp(self) -> int:
        """When by the wall clock the present instant of simulated time is due [ns].

        Not when it is published: a cycle that begins late computes the state of its deadline.
        """
        elapsed = round(self._now / self._settings.real_time_factor)
        now = self.get_clock().now().nanoseconds
        # No instant is published before it is due, so an epoch that says so is too late.
        if self._epoch is None or not 0 <= now - self._epoch - elapsed <= GIVE_UP:
            self._epoch = now - elapsed
        return self._epoch + elapsed

    def _publish_state(self) -> None:
        plant = self._plant
        if plant is None:
            return
        simulated = self.lockstep or self._clock_publisher is not None
        if self._clock_publisher is not None:
            set_stamp(self._clock_message.clock, self._now)
            self._clock_publisher.publish(self._clock_message)
        message = self._message
        stamp = self._now if simulated else self._wall_stamp()
        set_stamp(message.header.stamp, stamp)
        message.position = to_array(plant.position) + self._held
        message.velocity = to_array(plant.velocity) + self._still
        message.effort = to_array(self._applied) + self._still
        true_pose = self._kind.pose
        if self._pose is not None and true_pose is not None and self._pose.get_subscription_count():
            self._pose.publish(_pose_message(stamp, *true_pose(plant)))
        self._states.publish(message)

    def _advance(self, effort: np.ndarray) -> None:
        try:
            applied = self._plant.advance(1e-9 * self.period, effort)
        except StateError as error:
            self.get_logger().error(f"{error}; back to the initial state")
            self._plant.reset(initial_position(self._plant, self._settings))
            self._halt()
            applied = self._effort
        self._next_state(applied)

    def cycle(self) -> None:
        """One period by the wall clock."""
        if self._plant is None:
            return
        if self._command_time is not None:
            age = 1e-9 * (self._now - self._command_time)
            if age > self._settings.command_timeout:
                self._halt()
                self.get_logger().warning(
                    f"no command for {age:.3f} s: {self._settings.on_timeout}",
                    throttle_duration_sec=THROTTLE,
                )
        self._advance(self._effort)

    def _on_command(self, message: Float64MultiArray) -> None:
        """Efforts for all joints, in chain order, until the next command."""
        if self._plant is None:
            return
        effort = np.array(message.data)
        if effort.shape != (self._plant.dof,) or not np.isfinite(effort).all():
            names = ", ".join(self._plant.joint_names)
            self._refuse(
                f"it must have {self._plant.dof} finite efforts, of {names}; it has {effort.tolist()}"
            )
            return
        self._accept(effort)

    def _on_answer(self, message: JointState) -> None:
        """Efforts that answer a state, in lockstep."""
        if self._plant is None:
            return
        try:
            sample = self._order.read(message, required=("effort",))
        except StateError as error:
            self._refuse(str(error))
            return
        if sample.nanoseconds != self._now:
            # An answer to a repeated state comes twice; one to a state that never was is a fault.
            if sample.nanoseconds > self._now:
                self._refuse(f"its stamp {sample.nanoseconds} ns is not that of the state, {self._now} ns")
            return
        self._repeat.reset()
        self._accept(sample.effort)
        self._advance(sample.effort)

    def _on_timed_answer(self, message: JointState, info: dict[str, int]) -> None:
        """Note the time from a state's stamp to the arrival of its answer, as DDS saw it."""
        self._latency.add(info["received_timestamp"] - stamp_to_nanoseconds(message.header.stamp))

    def _refuse(self, reason: str) -> None:
        self._refused += 1
        self.get_logger().warning(f"command refused: {reason}", throttle_duration_sec=THROTTLE)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Back to the initial state; simulated time goes on, so that no stamp comes twice."""
        if self._plant is None:
            response.message = "there is no robot description yet"
            return response
        self._plant.reset(initial_position(self._plant, self._settings))
        self._halt()
        if self.lockstep:
            self._next_state(self._effort)
        response.success = True
        response.message = f"{self._plant.name} is in its initial state"
        return response

    # Reports

    def _status(self) -> diagnostics.Status:
        plant = self._plant
        if plant is None:
            return diagnostics.Status(diagnostics.WARN, self._source.missing, {})
        joints = zip(plant.joint_names, self._applied != self._effort, strict=True)
        saturated = [name for name, cut in joints if cut]
        values: dict[str, object] = {
            "mode": "lockstep" if self.lockstep else "wall clock",
            "model": f"{plant.name}, {plant.dof} joints",
            "simulated time [s]": f"{1e-9 * self._now:.3f}",
            "saturated joints": ", ".join(saturated) or "none",
            "refused commands": self._refused,
        }
        if self._command_time is not None:
            values["command age [s]"] = f"{1e-9 * (self._now - self._command_time):.3f}"
        if self.pacer is not None:
            values["rate [Hz]"] = f"{self.pacer.rate:.2f}"
            values.update(self.pacer.lateness.summary())
        return diagnostics.Status(*self._judge(saturated), values)

    def _judge(self, saturated: list[str]) -> tuple[bytes, str]:
        """Level and message."""
        if self.lockstep:
            waits = time.monotonic() - self._moved
            if waits > UNANSWERED:
                return diagnostics.STALE, f"in lockstep, without an answer for {waits:.1f} s"
        elif self._command_time is None:
            return diagnostics.WARN, f"no command: {self._settings.on_timeout}"
        doubts = [f"effort limited at {', '.join(saturated)}"] if saturated else []
        late = self.pacer.lateness.share if self.pacer is not None else 0.0
        if late > diagnostics.MISSED:
            doubts.append(f"{100.0 * late:.1f} % of the cycles late by more than a period")
        if doubts:
            return diagnostics.WARN, "; ".join(doubts)
        return diagnostics.OK, "in lockstep" if self.lockstep else "commanded"

    def start_pacing(self) -> None:
        """The loop by the wall clock begins now."""
        self._epoch = None
        self.pacer = Pacer(round(self.period / self._settings.real_time_factor))
        # What exists now lives as long as the node: the garbage collector need not look at it again.
        gc.collect()
        gc.freeze()

    def on_stop(self) -> None:
        """Leave the figures of the run in the log, as JSON."""
        figures: dict[str, object] = {"simulated_s": 1e-9 * self._now, "refused_commands": self._refused}
        if self.pacer is not None:
            figures = {"rate_hz": round(self.pacer.rate, 3), **self.pacer.lateness.summary(), **figures}
        if self._latency.cycles:
            figures |= {"answers": self._latency.cycles, **self._latency.percentiles("answer")}
        self.get_logger().info(f"summary: {json.dumps(figures)}")


def _pose_message(nanoseconds: int, position: np.ndarray, rotation: np.ndarray) -> PoseStamped:
    message = PoseStamped()
    set_stamp(message.header.stamp, nanoseconds)
    message.header.frame_id = "base"
    place, turn = message.pose.position, message.pose.orientation
    place.x, place.y, place.z = position.tolist()
    turn.x, turn.y, turn.z, turn.w = quaternion_from_rotation(rotation).tolist()
    return message


def run(node: Simulator, stop: spin.StopEvent) -> None:
    """Run a simulator until the event: in lockstep at every answer, else by the wall clock.

    By the wall clock one thread does everything. A thread of its own for the callbacks would make the cycles
    wait for the interpreter's lock.
    """
    if node.lockstep:
        spin_on(node, stop, node.commands)
        return
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    node.start_pacing()
    rest = round(1e9 * HOUSEKEEPING)
    due = time.monotonic_ns()
    while not stop.is_set():
        overdue = time.monotonic_ns() - due
        if overdue > PATIENCE or (overdue > 0 and node.pacer.remaining() > SPARE):
            run_ready(executor, limit=3)
            due = time.monotonic_ns() + rest
        remaining = node.pacer.remaining()
        if remaining > 0:
            time.sleep(1e-9 * remaining)
        node.pacer.start_cycle()
        if not take_all(node.commands):
            run_ready(executor, limit=3)
        node.cycle()
        if node.answers is not None:
            take_all(node.answers)
    executor.remove_node(node)
    executor.shutdown()


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(Simulator, args, loop=run)


if __name__ == "__main__":
    sys.exit(main())
