"""The ROS side of a controller: lifecycle, hold service, diagnostics and the end of the process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from rclpy.timer import Timer
from std_srvs.srv import Trigger

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.protocol import FollowedTrajectory, Phase
from robot_dynamics.control.supervision import ENFORCE, OBSERVE
from robot_dynamics.errors import BackendError, ParameterError, short
from robot_dynamics.native.compiler import find_compiler
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.control.command_publisher import CommandTopics
from robot_dynamics.ros.control.events import LoopEvents
from robot_dynamics.ros.control.host import C, Host
from robot_dynamics.ros.control.lifecycle import Lifecycle
from robot_dynamics.ros.control.ownership import Ownership
from robot_dynamics.ros.control.planner import Planner
from robot_dynamics.ros.control.python_host import PythonHost
from robot_dynamics.ros.control.records import Cycles
from robot_dynamics.ros.control.scheduling import AUTO, OFF, ON, SchedulingParameters
from robot_dynamics.ros.control.supervision_report import SupervisionReport, log_rules
from robot_dynamics.ros.control.thread_host import ThreadHost
from robot_dynamics.ros.support import diagnostics, parameters
from robot_dynamics.ros.support.rate_limited_log import Remarks, RosLog
from robot_dynamics.ros.support.scheduling import lock_memory, stay_awake


@dataclass(frozen=True)
class Autostart:
    """Manager of the node's lifecycle."""

    autostart: bool = parameter(True, "Configure and activate as soon as the model is there", read_only=True)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class NodeParameters(Autostart):
    """Part of the node in the ROS graph."""

    lockstep: bool = parameter(
        False,
        "Receive joint states reliably and do not judge their age, for a simulator in lockstep",
        read_only=True,
    )

    start_patience: float = parameter(
        5.0,
        "Time that a trajectory waits for a controller that has yet to start by itself; 0: it is refused",
        unit="s",
        minimum=0.0,
        maximum=600.0,
        read_only=True,
    )


class ControlledRobot(Protocol[C]):
    """The part of a node that is particular to its robot."""

    def missing(self) -> str:
        """Reason why no controller can be built now; empty when one can."""

    def build(self) -> tuple[C, Sequence[str]]:
        """A new controller and the names of its joints, in its order.

        Raises:
            RobotDynamicsError: a parameter does not fit the machine.
        """

    def forget(self) -> None:
        """The node becomes unconfigured: drop what configure made."""

    def on_cycles(self, cycles: Cycles, controller: C) -> float:
        """Publish what is particular to the machine, for the commands of the last moments.

        Returns how long the next ones may wait [s].
        """

    def describe(self, controller: C) -> Mapping[str, object]:
        """Identity of the model and more, for the diagnostics."""

    def warnings(self, controller: C) -> list[str]:
        """Faults for a warning in the diagnostics."""

    def summary(self) -> Mapping[str, object]:
        """Results of the run for the log, beside those of every loop."""


class ActiveTrajectory:
    """The trajectory that was taken up last, so that the log can name it when it is dropped.

    Args:
        log: of the node.
        time: of the controller in force [s].
    """

    def __init__(self, log: RosLog, time: Callable[[], float]) -> None:
        self._remarks = Remarks(log)
        self._time = time
        self._what = ""
        self._trajectory: FollowedTrajectory[Any] | None = None

    def began(self, what: str, trajectory: FollowedTrajectory[Any]) -> None:
        """Follow this from now on; ``what`` says in a few words where it came from."""
        self._what, self._trajectory = what, trajectory
        self._remarks.tell(trajectory)

    def dropped(self) -> str:
        """End of a log line: the trajectory that is dropped now; empty where none was active."""
        trajectory, self._trajectory = self._trajectory, None
        rest = trajectory.end - self._time() if trajectory is not None else 0.0
        return f"; dropped: {self._what}, {short(rest)} s before its end" if rest > 0.0 else ""


class ControllerNode(Generic[C]):
    """The ROS side of a controller, through the stages of its node's lifecycle.

    Attributes:
        autostart: whether the node starts by itself.
        patience: how long a trajectory waits for that [s].
        active_trajectory: what is followed.
        events: what the loop tells.
        loop: answers the joint states.
        ownership: notices others that command the robot.
        planner: of trajectories for it.
        lifecycle: of the node.

    Args:
        node: of the controller.
        machine: what is under control.
        command_topic: unstamped efforts out.
        stamped_topic: the same with names and stamps.
        brake_topic: of the brake command; empty: there are no brakes.
    """

    def __init__(
        self,
        node: LifecycleNode,
        machine: ControlledRobot[C],
        command_topic: str,
        stamped_topic: str,
        brake_topic: str = "",
    ) -> None:
        settings = parameters.declare(node, NodeParameters)
        self.autostart = settings.autostart
        self.patience = settings.start_patience
        self._node = node
        self._machine = machine
        self._diagnostics = diagnostics.DiagnosticsPublisher(node, self._status)
        self.events = LoopEvents(node, self._diagnostics.publish)
        topics = CommandTopics(node, command_topic, stamped_topic, brake_topic)
        self.loop: Host[C] = _choose_host(node, topics, settings.lockstep, self.events, machine.on_cycles)
        self.ownership = Ownership(node, topics, self.loop)
        self.ownership.on_yielded = self._on_yielded
        self.ownership.on_disputed = self._on_disputed
        self.planner = Planner(node, self.loop, settings.lockstep)
        self.active_trajectory = ActiveTrajectory(
            node.get_logger(), lambda: self.loop.controller.time if self.loop.controller else np.inf
        )
        self.events.dropped = self.active_trajectory.dropped
        self.lifecycle = Lifecycle(node, self)
        self._observing: Timer | None = None
        node.create_service(Trigger, "~/hold", self._on_hold)
        node.create_service(Trigger, "~/reset_fault", self._on_reset_fault)
        SupervisionReport(node, lambda: self.loop.controller)

    # Stages of the lifecycle

    def start_if_due(self) -> None:
        """With ``autostart``: configure and activate once a controller can be built."""
        if not self.autostart or self.lifecycle.started or self._machine.missing():
            return
        if self.lifecycle.configure_once() and self.ownership.when_clear(self.start_if_due):
            self.lifecycle.start_once()

    def renew(self) -> None:
        """Use a new controller from now on; it begins with a hold where the machine is found.

        Raises:
            RobotDynamicsError: a parameter does not fit the machine.
        """
        self.loop.use(*self._machine.build())

    def configure(self) -> None:
        """Build the controller.

        Raises:
            RobotDynamicsError: there is no model, or a parameter does not fit it.
        """
        reason = self._machine.missing()
        if reason:
            raise ParameterError(reason)
        self.renew()
        if self.loop.controller is not None:
            log_rules(self._node, self.loop.controller)

    def activate(self) -> None:
        """Answer joint states with commands from now on.

        Raises:
            RobotDynamicsError: somebody else commands the robot, or a parameter does not fit it.
        """
        self.ownership.check()
        if self.loop.controller is not None:
            self.loop.controller.check_start()
        self.renew()
        self.loop.activate()

    def halt(self) -> None:
        """Stop sending efforts, in the declared way."""
        if lost := self.active_trajectory.dropped():
            self._node.get_logger().warning(f"deactivated{lost}")
        controlled = self.loop.active
        self.loop.halt()
        controller = self.loop.controller
        if controlled and controller is not None and controller.parameters.supervision == OBSERVE:
            clock = Clock(clock_type=ClockType.STEADY_TIME)
            self._observing = self._node.create_timer(0.05, self._end_observing, clock=clock)

    def _end_observing(self) -> None:
        """The stop of a halt is seen through as it began."""
        if self.loop.halting or self._observing is None:
            return
        self._node.destroy_timer(self._observing)
        self._observing = None
        self._node.get_logger().warning(f"supervision was '{OBSERVE}' until now; it is '{ENFORCE}' again")
        self._node.set_parameters([Parameter("supervision", value=ENFORCE)])

    def hold(self) -> str:
        """Hold where the machine is; returns what that drops, for the log."""
        if self.loop.controller is not None:
            self.loop.controller.hold()
        return self.active_trajectory.dropped()

    @property
    def starting(self) -> str:
        """Reason why a node with autostart does not control yet; empty where it does, or has none."""
        controller = self.loop.controller
        if controller is not None and self.loop.active:
            return _waiting(controller) if controller.phase is Phase.WAITING else ""
        waits = self.autostart and not self.lifecycle.started
        return (self._machine.missing() or "the controller is not active") if waits else ""

    def forget(self) -> None:
        """Drop the controller; what it was built from is the machine's."""
        self.loop.forget()
        self._machine.forget()

    def stop(self) -> None:
        """The process ends: leave the results of the run, and see the safe output through."""
        results = {
            "cycles": self.loop.cycles,
            "refused_messages": self.events.refused,
            "states_lost": self.events.losses,
            "jumps": self.events.jumps,
            "refused_trajectories": self.events.refused_requests,
            **self._machine.summary(),
        }
        self._node.get_logger().info(f"summary: {json.dumps(results)}")
        self.loop.drain()

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        controller = self.loop.controller
        if controller is None or not self.loop.active:
            response.message = "the controller is not active"
            return response
        self._node.get_logger().info(f"asked to hold{self.hold()}")
        response.success = True
        response.message = controller.phase.value
        return response

    def _on_reset_fault(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        controller = self.loop.controller
        if controller is None or not self.loop.active:
            response.message = "the controller is not active"
            return response
        reason = controller.reset_fault()
        response.success, response.message = not reason, reason or controller.phase.value
        if not reason:
            self._node.get_logger().info("the protective stop is reset; nothing is followed")
            self._diagnostics.publish()
        return response

    def _on_yielded(self, reason: str, newcomer: bool) -> None:
        """The loop is silent already: the node follows it."""
        lost = self.active_trajectory.dropped()
        self._node.get_logger().error(
            f"{reason}: this node is silent from now on, without a stop, and inactive{lost}"
        )
        self._node.trigger_deactivate()
        if newcomer and self.autostart:
            self.lifecycle.started = False
            self.start_if_due()

    def _on_disputed(self, reason: str) -> None:
        """The loop has begun a protective stop already."""
        self.events.tripped(f"{reason}: end the other node, then call ~/reset_fault", True)

    # Diagnostics

    def _status(self) -> diagnostics.Status:
        controller = self.loop.controller
        values = {
            "lifecycle": self.lifecycle.state,
            **self.loop.timing(),
            "saturated joints": ", ".join(self.events.saturated) or "none",
            "refused messages": self.events.refused,
            "refused trajectories": self.events.refused_requests,
            "last refusal": self.events.last_refused or "none",
            "trips": self.events.trips,
            "last trip": self.events.last_trip or "none",
            **(self._machine.describe(controller) if controller is not None else {}),
        }
        return diagnostics.Status(*self._judge(), values)

    def _judge(self) -> tuple[bytes, str]:
        """Level and message."""
        controller, events = self.loop.controller, self.events
        if self.lifecycle.fault:
            return diagnostics.ERROR, self.lifecycle.fault
        if controller is None:
            return diagnostics.WARN, f"not configured: {self._machine.missing() or 'it can be'}"
        if not self.loop.active:
            return diagnostics.OK, "halting" if self.loop.halting else "inactive"
        if events.unsafe:
            return diagnostics.ERROR, f"safe output: {events.unsafe}"
        if controller.phase is Phase.WAITING:
            return diagnostics.STALE, _waiting(controller)
        if not controller.phase.controls:
            return diagnostics.ERROR, controller.phase.value
        if controller.phase is Phase.PROTECTIVE_STOP:
            return diagnostics.ERROR, f"{controller.phase.value}: {events.last_trip}".removesuffix(": ")
        others = self.ownership.warning()
        warnings = [
            *self._machine.warnings(controller),
            *([zeros] if (zeros := controller.zero_velocities) else []),
            *self.loop.late(),
            *([others] if others else []),
            *([events.limited] if events.saturated else []),
        ]
        if warnings:
            return diagnostics.WARN, "; ".join([controller.phase.value, *warnings])
        return diagnostics.OK, controller.phase.value


def _waiting(controller: CoreController[Any]) -> str:
    """Line about a controller that waits for joint states."""
    return ": ".join(filter(None, (controller.phase.value, controller.awaits)))


def _choose_host(
    node: LifecycleNode,
    topics: CommandTopics,
    lockstep: bool,
    events: LoopEvents,
    on_cycles: Callable[[Cycles, Any], float],
) -> Host[Any]:
    """The thread where the parameters want it and rcl has headers; else the Python host, and a notice.

    Raises:
        BackendError: there is no compiler; or the parameters require the thread, and it cannot be.
    """
    wanted = parameters.declare(node, SchedulingParameters)
    log: Any = node.get_logger()
    if wanted.lock_memory and (reason := lock_memory()):
        log.warning(f"memory is not locked: {reason}")
    if wanted.stay_awake and (reason := stay_awake()):
        log.warning(f"the processors may sleep between two states: {reason}")
    # In lockstep the simulator waits for each answer: nothing is gained, and every run can be repeated.
    if wanted.native_loop == OFF or (wanted.native_loop == AUTO and lockstep):
        return PythonHost(node, topics, lockstep, events, on_cycles)
    find_compiler()  # without one neither host can be
    try:
        host: ThreadHost[Any] = ThreadHost(node, topics, lockstep, events, on_cycles, wanted)
    except BackendError as error:
        if wanted.native_loop == ON:
            raise
        log.warning(f"the control loop runs in the node's own Python thread: {error}")
        return PythonHost(node, topics, lockstep, events, on_cycles)
    for reason in host.refused_scheduling:
        log.warning(reason)
    return host
