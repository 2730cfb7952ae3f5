"""Node ``stewart_platform``: leg states and pose trajectories in, six actuator forces out.

The maths is in ``robot_dynamics.stewart`` and ``robot_dynamics.control.stewart``; messages move here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from robot_dynamics.control.protocol import Command
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.control.control_node import ControlNode
from robot_dynamics.ros.models.machines import load_machine
from robot_dynamics.ros.support import parameters, qos, spin
from robot_dynamics.ros.support.faults import explain
from robot_dynamics.ros.support.hot_loop import spin_on
from robot_dynamics.ros.support.messages import set_stamp, stamp_to_nanoseconds, to_array
from robot_dynamics.ros.support.trajectories import pose_waypoints
from robot_dynamics.ros.viewing.stewart_markers import platform_markers
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.orientation import quaternion_from_rotation

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

MARKER_PERIOD = 0.05
"""Seconds between two pictures for rviz."""
CONDITION_WARNING = 0.5
"""Share of the condition limit from which on the status is a warning."""


@dataclass(frozen=True)
class MachineParameters:
    """Which machine, and how its legs report."""

    machine: str = parameter(
        "stewart_demo",
        "YAML file of the machine: a path, or the name of one that comes with the package; read by configure",
    )
    zero_lengths: tuple[float, ...] = parameter(
        (),
        "Leg lengths at which the joint positions are zero; empty: a joint's position is the leg's length",
        unit="m",
        minimum=0.0,
        maximum=1e3,
    )
    base_frame: str = parameter("base", "Frame of the machine's base", read_only=True)
    platform_frame: str = parameter("platform", "Frame of the platform", read_only=True)

    def __post_init__(self) -> None:
        validate(self)
        if len(self.zero_lengths) not in (0, 6):
            raise ParameterError(
                f"parameter 'zero_lengths' has {len(self.zero_lengths)} values; give none or six"
            )


class StewartPlatformNode(ControlNode):
    """Computed-force control of a Stewart platform."""

    def __init__(self) -> None:
        super().__init__("stewart_platform", "leg_effort_controller/commands", "joint_command")
        self._machine_parameters = parameters.declare(self, MachineParameters)
        parameters.watch(self, self._machine_parameters, self._on_machine, check=self._check_machine)
        self._control_parameters = parameters.declare(self, StewartParameters)
        parameters.watch(self, self._control_parameters, self._on_parameters)
        self._platform: StewartPlatform | None = None
        self._pose = self.create_publisher(PoseStamped, "~/pose", qos.LOCKSTEP)
        self._reference = self.create_publisher(PoseStamped, "~/reference", qos.LOCKSTEP)
        self._markers = self.create_publisher(MarkerArray, "~/markers", qos.TRAJECTORY)
        self._transforms = None if TFMessage is None else self.create_publisher(TFMessage, "/tf", 10)
        self._last: tuple[Command, int] | None = None
        self.create_subscription(MultiDOFJointTrajectory, "~/trajectory", self._on_trajectory, qos.TRAJECTORY)
        self.create_subscription(WrenchStamped, "~/external_wrench", self._on_wrench, qos.COMMAND)
        self.start()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(MARKER_PERIOD, self._draw, clock=steady)
        if self.node_parameters.autostart:
            self._read_machine()
            self.start_if_due()

    # Machine and parameters

    def ready(self) -> str:
        """Configure reads the machine itself, so it can always be tried."""
        return ""

    def configure(self) -> None:
        """Read the machine, generate its model, build the controller."""
        if self._platform is None:
            self._read_machine()
        super().configure()

    def forget(self) -> None:
        """Drop controller and machine: the next configure reads the file again."""
        super().forget()
        self._platform = self._last = None

    def _read_machine(self) -> None:
        platform, notes = load_machine(self._machine_parameters.machine)
        for note in notes:
            self.get_logger().warning(note)
        platform.compile()
        self._platform = platform
        self.get_logger().info(f"machine {platform.machine.name}: {', '.join(platform.machine.leg_names)}")

    def _check_machine(self, candidate: MachineParameters) -> None:
        if self.controller is not None and candidate != self._machine_parameters:
            raise ParameterError("'machine' and 'zero_lengths' can be changed while the node is unconfigured")

    def _on_machine(self, accepted: MachineParameters) -> None:
        self._machine_parameters = accepted

    def build(self) -> tuple[StewartController, Sequence[str]]:
        """A controller for the machine."""
        zero = (
            np.array(self._machine_parameters.zero_lengths) if self._machine_parameters.zero_lengths else None
        )
        names = self._platform.machine.leg_names
        return StewartController(self._platform, self._control_parameters, zero), names

    @property
    def safety(self) -> StewartParameters:
        """Parameters in force."""
        return self._control_parameters

    def _on_parameters(self, accepted: StewartParameters) -> None:
        self._control_parameters = accepted
        if self.controller is not None:
            self.controller.parameters = accepted

    # Messages

    def _on_trajectory(self, message: MultiDOFJointTrajectory) -> None:
        if self.controller is None or not self.active:
            self.get_logger().error("trajectory refused: the controller is not active")
            return
        if not message.points:
            self.controller.hold()
            self.get_logger().info("empty trajectory: holding where the platform is")
            return
        stamp = stamp_to_nanoseconds(message.header.stamp)
        start = None if stamp == 0 else self.seconds(stamp)
        try:
            self._check_frame(message.header.frame_id, (self._machine_parameters.base_frame,))
            trajectory = self.controller.follow(pose_waypoints(message), start)
        except Exception as error:  # the loop that carries the platform must not end by it
            self.refused += 1
            self.get_logger().error(f"trajectory refused: {explain(error)}")
            return
        self.get_logger().info(
            f"following a trajectory of {len(message.points)} points for {trajectory.duration:.3f} s"
        )

    def _on_wrench(self, message: WrenchStamped) -> None:
        if self.controller is None:
            return
        force, torque = message.wrench.force, message.wrench.torque
        vectors = np.array([[force.x, force.y, force.z], [torque.x, torque.y, torque.z]])
        frames = self._machine_parameters
        try:
            self._check_frame(message.header.frame_id, (frames.platform_frame, frames.base_frame))
            if message.header.frame_id == frames.base_frame:
                vectors = vectors @ self.controller.pose.rotation
            self.controller.set_wrench(vectors[0], vectors[1])
        except RobotDynamicsError as error:
            self.refuse(f"external wrench refused: {error}")

    @staticmethod
    def _check_frame(frame: str, known: Sequence[str]) -> None:
        if frame and frame not in known:
            raise ParameterError(f"the frame is '{frame}'; it must be empty or one of {', '.join(known)}")

    def fill_command(self, message: JointState, controller: StewartController) -> None:
        """Leg lengths and rates beside the forces."""
        message.position = to_array(controller.lengths)
        message.velocity = to_array(controller.pose.rates)

    def publish_reference(self, command: Command, nanoseconds: int) -> None:
        """Estimated and wanted pose, while somebody listens; the transform where tf2 is there."""
        self._last = (command, nanoseconds)
        pose = self.controller.pose
        if self._pose.get_subscription_count():
            self._pose.publish(self._stamped_pose(nanoseconds, pose.position, pose.quaternion))
        if self._reference.get_subscription_count():
            wanted = command.reference
            quaternion = quaternion_from_rotation(wanted.rotation).tolist()
            self._reference.publish(self._stamped_pose(nanoseconds, wanted.position, quaternion))
        if self._transforms is not None and self._transforms.get_subscription_count():
            self._transforms.publish(self._transform(nanoseconds))

    def _stamped_pose(
        self, nanoseconds: int, position: np.ndarray, quaternion: Sequence[float]
    ) -> PoseStamped:
        message = PoseStamped()
        set_stamp(message.header.stamp, nanoseconds)
        message.header.frame_id = self._machine_parameters.base_frame
        place, turn = message.pose.position, message.pose.orientation
        place.x, place.y, place.z = position.tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion
        return message

    def _transform(self, nanoseconds: int) -> object:
        from geometry_msgs.msg import TransformStamped

        pose = self.controller.pose
        message = TransformStamped()
        set_stamp(message.header.stamp, nanoseconds)
        message.header.frame_id = self._machine_parameters.base_frame
        message.child_frame_id = self._machine_parameters.platform_frame
        place, turn = message.transform.translation, message.transform.rotation
        place.x, place.y, place.z = pose.position.tolist()
        turn.x, turn.y, turn.z, turn.w = pose.quaternion
        return TFMessage(transforms=[message])

    def _draw(self) -> None:
        if self._last is None or self.controller is None or not self._markers.get_subscription_count():
            return
        command, nanoseconds = self._last
        header = self._stamped_pose(nanoseconds, np.zeros(3), (0.0, 0.0, 0.0, 1.0)).header
        pose = self.controller.pose
        self._markers.publish(
            platform_markers(
                header,
                self._platform,
                pose.position,
                pose.rotation,
                command.effort,
                pose.condition_number,
            )
        )

    def doubts(self) -> list[str]:
        """A pose on the way to a singular one."""
        condition, limit = self.controller.pose.condition_number, self._platform.machine.condition_limit
        if condition < CONDITION_WARNING * limit:
            return []
        return [f"condition number {condition:.3g}, of at most {limit:g}"]

    def describe_model(self) -> dict[str, object]:
        """Mode, machine and condition number, for the diagnostics."""
        return {
            "mode": self._control_parameters.mode,
            "machine": self._platform.machine.name,
            "condition number": f"{self.controller.pose.condition_number:.3g}",
            "condition limit": f"{self._platform.machine.condition_limit:g}",
        }


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(StewartPlatformNode, args, loop=lambda node, stop: spin_on(node, stop, node.states))


if __name__ == "__main__":
    sys.exit(main())
