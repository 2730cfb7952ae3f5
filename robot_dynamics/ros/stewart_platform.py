"""Node ``stewart_platform``: leg states and pose trajectories in, six actuator forces out.

The maths is in ``robot_dynamics.stewart`` and ``robot_dynamics.control.stewart``; messages move here.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.lifecycle import LifecycleNode
from trajectory_msgs.msg import MultiDOFJointTrajectory

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import PlatformPayloadParameters, StewartParameters
from robot_dynamics.errors import ParameterError, RobotDynamicsError, shown
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.native.build_process import BUILDS
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.control.controller_node import ControllerNode
from robot_dynamics.ros.control.native.raw_trajectory import RawTrajectory
from robot_dynamics.ros.control.operation import PlatformOperation
from robot_dynamics.ros.control.planner import PlanRequest
from robot_dynamics.ros.control.records import CALM, WATCHED, Cycles
from robot_dynamics.ros.control.remembered_stops import RememberedStops
from robot_dynamics.ros.control.stewart_reports import StewartReports, StreamReport
from robot_dynamics.ros.control.supervision_report import log_change
from robot_dynamics.ros.control.trajectory_topic import TrajectoryTopic
from robot_dynamics.ros.models.live_memory import LiveMemory
from robot_dynamics.ros.models.machines import load_machine
from robot_dynamics.ros.support import parameters, qos, spin
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.compiled import compile_stewart

LIVE = ("payload_mass", "payload_center", "payload_inertia", "kp", "kv", "ki")
"""Parameters that a respawn goes on with when they were set live."""
WRENCH_WARNING = 2.0
"""Seconds between two warnings that the external wrench is cut."""
MOST_PAYLOADS = 128
"""Payloads whose parameters are known when one of them is in force again."""
CONDITION_WARNING = 0.5
"""Share of the condition limit from which on the status is a warning."""


@dataclass(frozen=True)
class MachineParameters:
    """Platform, and the way in which its legs report."""

    machine: str = parameter(
        "stewart_demo",
        "YAML file of the platform: a path, or the name of one that comes with the package; read by "
        "configure",
    )
    zero_lengths: tuple[float, ...] = parameter(
        (),
        "Leg lengths at which the joint positions are zero; empty: a joint's position is the leg's length",
        unit="m",
        minimum=0.0,
        maximum=1e3,
    )
    base_frame: str = parameter("base", "Frame of the platform's base", read_only=True)
    platform_frame: str = parameter("platform", "Frame of the platform", read_only=True)

    def __post_init__(self) -> None:
        validate(self)
        if len(self.zero_lengths) not in (0, 6):
            raise ParameterError(
                f"parameter 'zero_lengths' has {len(self.zero_lengths)} values; give none or six"
            )


class StewartPlatformNode(LifecycleNode):
    """Computed-force control of a Stewart platform."""

    def __init__(self) -> None:
        super().__init__("stewart_platform")
        self._control_parameters = parameters.declare(self, StewartParameters)
        commands = f"leg_{self._control_parameters.command}_controller/commands"
        self._controller_node: ControllerNode[StewartController] = ControllerNode(
            self, self, commands, "joint_command", "~/brake"
        )
        self._loop = self._controller_node.loop
        self._machine_parameters = parameters.declare(self, MachineParameters)
        parameters.watch(self, self._machine_parameters, self._on_machine, check=self._check_machine)
        parameters.watch(self, self._control_parameters, self._on_parameters, check=self._check_parameters)
        self._payload_parameters = parameters.declare(self, PlatformPayloadParameters)
        self._payloads: deque[tuple[RigidBody | None, PlatformPayloadParameters]] = deque()
        parameters.watch(self, self._payload_parameters, self._on_payload, check=self._check_payload)
        self._platform: StewartPlatform | None = None
        self._reports = StewartReports(
            self, self._loop, self._machine_parameters.base_frame, self._machine_parameters.platform_frame
        )
        self._stream_report = StreamReport(self, lambda: self._loop.controller)
        self._topic = TrajectoryTopic(
            self, self._controller_node, MultiDOFJointTrajectory, "~/trajectory", "platform", self._wanted
        )
        self._stops = RememberedStops(self, "platform", "call ~/unpark to release the brakes")
        self._live = LiveMemory(self, LIVE, not self.get_parameter("lockstep").value)
        self._controller_node.events.on_stop = self._live.forget
        self._operation = PlatformOperation(
            self, self._controller_node, self._machine_parameters.base_frame, self._stops, self._machine_name
        )
        self.create_subscription(WrenchStamped, "~/external_wrench", self._on_wrench, qos.COMMAND)
        if self._controller_node.autostart:
            # What is wrong with the file ends a node that is to start by itself.
            self._read_machine()
            self._controller_node.start_if_due()

    def run(self, stop: spin.StopEvent) -> None:
        """Run until the event."""
        self._loop.spin(stop)

    def on_fault(self, error: Exception) -> None:
        """A callback has failed."""
        self._controller_node.lifecycle.on_fault(error)

    def on_stop(self) -> None:
        """The process ends: the platform comes to rest, and the safe output is seen through."""
        self._controller_node.stop()
        self._stops.close()

    # Machine and parameters

    def missing(self) -> str:
        """Building reads the machine itself, so it can always be tried."""
        return ""

    def build(self) -> tuple[StewartController, Sequence[str]]:
        """A controller for the machine, which is read if it has not been yet."""
        platform = self._platform or self._read_machine()
        zero = self._machine_parameters.zero_lengths
        zero_lengths = np.array(zero) if zero else None
        controller = StewartController(platform, self._control_parameters, zero_lengths)
        controller.change_payload(self._payload_parameters.payload)
        self._payloads = deque([(controller.payload, self._payload_parameters)], MOST_PAYLOADS)
        self._stops.take_over(controller, platform.machine.name)
        return controller, platform.machine.leg_names

    def forget(self) -> None:
        """Drop the machine too: the next configure reads the file again."""
        self._platform = None
        self._reports.forget()

    def _read_machine(self) -> StewartPlatform:
        platform, notes = load_machine(self._machine_parameters.machine)
        for note in notes:
            self.get_logger().warning(note)
        BUILDS.made(platform.compile, partial(compile_stewart, platform.machine))
        self._platform = platform
        machine = platform.machine
        self.get_logger().info(f"machine {shown(machine.name)}: {shown(*machine.leg_names)}")
        return platform

    def _machine_name(self) -> str:
        platform = self._platform or load_machine(self._machine_parameters.machine)[0]
        return platform.machine.name

    def _check_machine(self, candidate: MachineParameters) -> None:
        if self._loop.controller is not None and candidate != self._machine_parameters:
            raise ParameterError("'machine' and 'zero_lengths' can be changed while the node is unconfigured")

    def _on_machine(self, accepted: MachineParameters) -> None:
        self._machine_parameters = accepted

    def _check_parameters(self, candidate: StewartParameters) -> None:
        if self._loop.controller is not None:
            self._loop.controller.check_parameters(candidate)

    def _check_payload(self, candidate: PlatformPayloadParameters) -> None:
        if self._loop.controller is not None:
            self._loop.controller.check_payload(candidate.payload)

    def _on_parameters(self, accepted: StewartParameters) -> None:
        log_change(self, self._control_parameters, accepted)
        self._control_parameters = accepted
        if self._loop.controller is not None:
            self._loop.controller.parameters = accepted

    def _on_payload(self, accepted: PlatformPayloadParameters) -> None:
        self._payload_parameters = accepted
        if self._loop.controller is not None:
            self._loop.controller.change_payload(accepted.payload)
            self._payloads.append((self._loop.controller.payload, accepted))

    def _return_to(self, payload: RigidBody | None) -> None:
        """Show the payload that a trip has put in force again."""
        for body, given in reversed(self._payloads):
            if body is payload:
                self.get_logger().error("the payload that was set last is taken back; the parameters show it")
                self.set_parameters(parameters.as_parameters(given))
                return

    # Messages

    def _wanted(self, controller: StewartController, raw: RawTrajectory) -> PlanRequest:
        """Plan request of a trajectory; called in a thread."""
        _check_frame(raw.frame, (self._machine_parameters.base_frame,))
        points = raw.poses()
        return PlanRequest(raw.stamp, raw.points, lambda plan_start: controller.plan(points, plan_start))

    def _on_wrench(self, message: WrenchStamped) -> None:
        controller = self._loop.controller
        if controller is None:
            return
        force, torque = message.wrench.force, message.wrench.torque
        vectors = np.array([[force.x, force.y, force.z], [torque.x, torque.y, torque.z]])
        frames = self._machine_parameters
        try:
            _check_frame(message.header.frame_id, (frames.platform_frame, frames.base_frame))
            if message.header.frame_id == frames.base_frame:
                vectors = vectors @ controller.pose.rotation
            if warning := controller.set_wrench(vectors[0], vectors[1]):
                self.get_logger().warning(warning, throttle_duration_sec=WRENCH_WARNING)
        except RobotDynamicsError as error:
            self._controller_node.events.refuse(f"external wrench refused: {error}")

    # Reports

    def on_cycles(self, cycles: Cycles, controller: StewartController) -> float:
        """Brakes, estimated and wanted pose of the last moments."""
        if controller.went_back():
            self._return_to(controller.payload)
        listened_to = self._reports.publish_all(cycles, controller.platform.machine)
        return WATCHED if listened_to else CALM

    def summary(self) -> Mapping[str, object]:
        """Nothing beside what every loop tells."""
        return {}

    def warnings(self, controller: StewartController) -> list[str]:
        """A pose on the way to a singular one; stops that are not remembered."""
        condition, limit = controller.pose.condition_number, controller.platform.machine.condition_limit
        near = [f"condition number {condition:.3g}, of at most {limit:g}"]
        failure = self._stops.failure
        changed = self._stream_report.warnings(controller)
        stream = [*controller.intake.remarks, *changed] if controller.following_stream else []
        return [
            *stream,
            *(near if condition >= CONDITION_WARNING * limit else []),
            *([failure] if failure else []),
        ]

    def describe(self, controller: StewartController) -> Mapping[str, object]:
        """Mode, machine and condition number, for the diagnostics."""
        machine = controller.platform.machine
        return {
            "mode": self._control_parameters.mode,
            "command": self._control_parameters.command,
            "operation": controller.modes.mode.value,
            "brakes": "engaged" if controller.brake else "released",
            "machine": machine.name,
            "condition number": f"{controller.pose.condition_number:.3g}",
            "condition limit": f"{machine.condition_limit:g}",
            **self._stream_report.describe(controller),
        }


def _check_frame(frame: str, known: Sequence[str]) -> None:
    if frame and frame not in known:
        raise ParameterError(f"the frame is '{frame}'; it must be empty or one of {', '.join(known)}")


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(StewartPlatformNode, args, loop=StewartPlatformNode.run)


if __name__ == "__main__":
    sys.exit(main())
