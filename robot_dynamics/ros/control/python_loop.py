"""The control loop in Python: each joint state is answered at once by a command that carries its stamp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic_ns, sleep
from typing import Generic

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from robot_dynamics.control.protocol import Command, Phase
from robot_dynamics.control.sim_time import SimulatedTime
from robot_dynamics.errors import RobotDynamicsError, StateError
from robot_dynamics.ros.control.cycle import CycleMonitor, VelocityEstimator
from robot_dynamics.ros.control.events import LoopEvents
from robot_dynamics.ros.control.loop import C, Cycle, StateClock
from robot_dynamics.ros.control.outlet import CommandTopics, Outlet
from robot_dynamics.ros.control.watchdog import SAFE_PERIOD, SafeOutput, Trouble
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.hot_loop import spin_on, take_all
from robot_dynamics.ros.support.messages import JointOrder
from robot_dynamics.ros.support.spin import StopEvent


class _InForce(Generic[C]):
    """A controller and what the loop keeps beside it."""

    def __init__(self, outlet: Outlet[C], joint_names: Sequence[str]) -> None:
        self.controller = outlet.controller
        self.outlet = outlet
        self.order = JointOrder(joint_names)
        self.velocity = VelocityEstimator()
        self.trouble: Trouble | None = None


class PythonLoop(Generic[C]):
    """A :class:`~robot_dynamics.ros.control.loop.ControlLoop` in the node's own thread.

    Args:
        node: gets subscription, publishers and timer.
        topics: where the efforts go.
        lockstep: receive joint states reliably and do not judge their age.
        events: told what happens.
        on_cycle: called after each answer.
        fill: adds what a controller knows to the stamped command, beside the efforts.

    Attributes:
        ahead: subscriptions whose messages are taken right before each state is answered.
    """

    def __init__(
        self,
        node: Node,
        topics: CommandTopics,
        lockstep: bool,
        events: LoopEvents,
        on_cycle: Callable[[Cycle, C], None],
        fill: Callable[[JointState, C], None],
    ) -> None:
        self._node = node
        self._topics = topics
        self._lockstep = lockstep
        self._events = events
        self._on_cycle = on_cycle
        self._fill = fill
        self.ahead: Sequence[Subscription] = ()
        self._in_force: _InForce[C] | None = None
        self._clock = StateClock()
        self._active = False
        self._safe: SafeOutput | None = None
        self._monitor = CycleMonitor()
        simulated = bool(node.get_parameter("use_sim_time").value) and not lockstep
        self._time = SimulatedTime() if simulated else None
        self._clock_failed = False
        state_qos = qos.LOCKSTEP if lockstep else qos.STATE_SUBSCRIPTION
        self._states = qos.subscription(node, JointState, "joint_states", self._on_state, state_qos)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._watchdog = node.create_timer(SAFE_PERIOD, self._watch, clock=steady)

    @property
    def controller(self) -> C | None:
        """In force; None while the node is not configured."""
        return None if self._in_force is None else self._in_force.controller

    @property
    def active(self) -> bool:
        """Whether joint states are answered."""
        return self._active

    @property
    def halting(self) -> bool:
        """Whether the safe output is being sent."""
        return self._safe is not None

    @property
    def clock(self) -> StateClock:
        """Of the controller in force."""
        return self._clock

    @property
    def joint_names(self) -> Sequence[str]:
        """Of the controller in force, in its order."""
        return () if self._in_force is None else self._in_force.order.joint_names

    @property
    def cycles(self) -> int:
        """Joint states since the node began."""
        return self._monitor.cycles

    # What the node asks for

    def use(self, controller: C, joint_names: Sequence[str]) -> None:
        """Use a controller from now on, and a new clock with it."""
        outlet = Outlet(self._topics, controller, joint_names, self._fill)
        self._in_force = _InForce(outlet, joint_names)
        self._clock = StateClock()
        self._events.unsafe = ""

    def forget(self) -> None:
        """Drop the controller; a safe output under way goes on."""
        self._in_force = None

    def activate(self) -> None:
        """Answer joint states from now on."""
        self._active, self._safe = True, None

    def halt(self) -> None:
        """Answer no more: the safe output is sent until it has faded."""
        if self._active:
            self._active = False
            self._begin_safe_output()

    def drain(self) -> None:
        """The process ends: halt, and return when the last effort has faded and arrived."""
        if self.controller is not None and self.controller.phase is not Phase.WAITING:
            self.halt()
        self._active = False
        while self._safe is not None:
            self._watch()
            sleep(SAFE_PERIOD)
        self._topics.flush()

    def timing(self) -> Mapping[str, str]:
        """Rate, lateness and duration of the last cycles, for people."""
        return self._monitor.values()

    def late(self) -> list[str]:
        """What is wrong with the timing of the joint states, for people."""
        # In lockstep the simulator's clock stands still while it waits, however long that takes.
        if self._lockstep or self._time is not None or self.controller is None:
            return []
        return self._monitor.warnings(self.controller.parameters.state_timeout)

    def senders(self) -> str:
        """Who else sends efforts, where somebody does; else empty."""
        return self._topics.others()

    def spin(self, stop: StopEvent) -> None:
        """Run the node until the event."""
        spin_on(self._node, stop, self._states)

    # The cycle

    def _on_state(self, message: JointState) -> None:
        in_force = self._in_force
        if in_force is None:
            return
        try:
            sample = in_force.order.read(message)
        except StateError as error:
            self._events.refuse(f"joint state refused: {error}")
            return
        self._look_at_age(state_has_come=True)
        began = self._monitor.begin()
        if self._time is not None and self._clock_fails(self._time, in_force, sample.nanoseconds):
            in_force.controller.observe(sample.position)
            return
        nanoseconds = sample.nanoseconds or self._node.get_clock().now().nanoseconds
        now, position, velocity = self._clock.seconds(nanoseconds), sample.position, sample.velocity
        if velocity is None:
            velocity = in_force.velocity.update(now, position)
        if not self._active:
            in_force.controller.observe(position)
            return
        for subscription in self.ahead:
            take_all(subscription)
        try:
            command = in_force.controller.update(now, position, velocity)
        except RobotDynamicsError as error:
            self._answer_trouble(in_force, str(error), now, nanoseconds)
        else:
            in_force.trouble = None
            in_force.outlet.send(command.effort, nanoseconds)
            self._on_cycle(Cycle(nanoseconds, position, velocity, command), in_force.controller)
            self._tell(in_force, command)
        self._monitor.end(began)

    def _tell(self, in_force: _InForce[C], command: Command) -> None:
        controller, back = in_force.controller, self._safe is not None
        self._safe = None
        self._events.answered(
            command,
            in_force.order.joint_names,
            controller.discontinuity,
            controller.parameters.safe_output,
            back,
        )

    def _answer_trouble(self, in_force: _InForce[C], reason: str, now: float, nanoseconds: int) -> None:
        """The controller has no effort for this state: the safe output, from the first such state on."""
        self._events.no_effort(reason)
        in_force.controller.lost_states()
        began = now if in_force.trouble is None else in_force.trouble.began
        in_force.trouble = Trouble(began, now)
        if self._safe is None:
            in_force.outlet.send(in_force.outlet.safe_effort(in_force.trouble.lasted), nanoseconds)

    # The watchdog

    def _begin_safe_output(self) -> None:
        if self._safe is None and self._in_force is not None:
            # Where it has been the answer to bad states already, it goes on from there.
            trouble = self._in_force.trouble
            self._safe = SafeOutput(self._in_force.outlet, trouble.lasted if trouble is not None else 0.0)
            # A simulation's clock is another, and may stand.
            by_wall_clock = not self._lockstep and self._time is None
            self._in_force.controller.lost_states(self._monitor.age if by_wall_clock else 0.0)

    def _watch(self) -> None:
        """Send the safe output while joint states are missing, or while a halt fades."""
        if self._safe is None:
            self._look_at_age(state_has_come=False)
        if self._safe is not None:
            effort_left = self._safe.send(self._node.get_clock().now().nanoseconds)
            if not self._active and not effort_left:
                self._safe = None

    def _look_at_age(self, state_has_come: bool) -> None:
        """Begin the safe output where states are missing; one that comes before that was noticed is held."""
        controller = self.controller
        # In lockstep the simulator's clock stands still while it waits, however long that takes.
        if controller is None or not self._active or self._lockstep or controller.phase is Phase.WAITING:
            return
        if self._safe is not None:
            return
        timeout, safe_output = controller.parameters.state_timeout, controller.parameters.safe_output
        if self._time is not None:
            age, tell = self._simulated_age(self._time, timeout)
        else:
            age, tell = self._monitor.age, self._events.states_lost
            age = age if age >= timeout else 0.0
        if age > 0.0 and state_has_come:
            controller.lost_states()
            tell(age, "")
        elif age > 0.0:
            self._begin_safe_output()
            tell(age, safe_output)

    # Simulated time

    def _tell_time(self, time: SimulatedTime) -> int:
        """Let it know what the node's clock says; the steady time now [ns]."""
        steady = monotonic_ns()
        time.tell(self._node.get_clock().now().nanoseconds or None, steady)
        return steady

    def _clock_fails(self, time: SimulatedTime, in_force: _InForce[C], stamp: int) -> bool:
        """Whether states go on while the simulated clock stands, which the safe output answers."""
        controller, steady = in_force.controller, self._tell_time(time)
        time.note_state(stamp)
        timeout = round(1e9 * controller.parameters.state_timeout)
        failed = time.runs_away(stamp, steady, timeout)
        if failed and self._active and not self._clock_failed and time.lasts(steady, timeout):
            self._clock_failed = True
            begun = controller.phase is not Phase.WAITING
            if begun:
                self._begin_safe_output()
            self._events.clock_stands(time.stood(steady), controller.parameters.safe_output if begun else "")
        self._clock_failed = self._clock_failed and failed
        return failed

    def _simulated_age(
        self, time: SimulatedTime, timeout: float
    ) -> tuple[float, Callable[[float, str], None]]:
        """For how long states have been missing [s], and who tells it."""
        steady = self._tell_time(time)
        last = round(1e9 * self._monitor.last)
        due = steady - last >= round(1e9 * timeout)
        time.alone = due and not self._node.count_publishers(self._states.topic_name)
        tell = self._events.senders_gone if time.alone else self._events.states_lost
        return time.lost(last, steady, round(1e9 * timeout)), tell
