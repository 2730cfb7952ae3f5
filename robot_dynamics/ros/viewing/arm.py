"""An arm between topics and page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from transforms3d.quaternions import mat2quat

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.ros.models.description import DescriptionSource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.viewing.source import MachineSource, duration
from robot_dynamics.ros.viewing.streams import JointValues, ShownJoints, WrenchStream
from robot_dynamics.spatial import Array
from robot_dynamics.view.machine import Geometry
from robot_dynamics.view.mesh_files import unreadable
from robot_dynamics.view.moves import MoveGoal, check_goal
from robot_dynamics.view.robot_geometry import RobotGeometry, read_robot
from robot_dynamics.view.samples import StateSample

UNMOVED = "not moved by the controller"
"""Reason why a joint is locked on the page."""


class ArmSource(MachineSource):
    """The arm of ``robot_description``.

    Args:
        node: gets subscriptions and publisher.
        controller: name of the node that controls the arm.
        show: called with another robot.
        say: called with what is wrong with the description, and how bad that is; an empty text takes it back.
        folder: where the description's relative mesh names begin.
        simulator: name of the node that simulates it.
    """

    TRAJECTORY = (JointTrajectory, "joint_trajectory")

    def __init__(
        self,
        node: Node,
        controller: str,
        show: Callable[[Geometry], None],
        say: Callable[[str, str], None],
        folder: Path | None = None,
        simulator: str = "simulator",
    ) -> None:
        self._folder = folder
        super().__init__(node, controller, ShownJoints(node, f"{controller}/reference"))
        self._externals = ShownJoints(node, f"{controller}/external_torque")
        self._wrenches = WrenchStream(node, f"{controller}/external_wrench")
        self._targets = node.create_publisher(PoseStamped, f"{controller}/target_pose", qos.STREAM)
        self._pushes = node.create_publisher(WrenchStamped, f"{simulator}/push", qos.COMMAND)
        self._geometry: RobotGeometry | None = None
        self._show, self._say = show, say
        say(f"waiting for {node.resolve_topic_name('robot_description')}", "warning")
        DescriptionSource(node, self._on_description, self._on_refusal).start()

    def _on_description(self, text: str) -> None:
        self._geometry = read_robot(text, self._folder, unreadable)
        self._show(self._geometry)
        self._say("", "")

    def _on_refusal(self, reason: str) -> None:
        text = f"the robot description is refused: {reason}"
        if self._geometry is not None:
            text += "; the robot before it is still shown"
        self._say(text, "error")

    @property
    def joint_names(self) -> Sequence[str]:
        """The independent joints."""
        return () if self._geometry is None else [one.name for one in self._geometry.independent_joints]

    def sample(self) -> StateSample | None:
        """Joint values, efforts and errors."""
        state: JointValues | None = self.states.newest
        if self._geometry is None or state is None:
            return None
        reference: JointValues | None = self.references.fresh
        errors = {}
        if reference is not None and (then := self.states.at(reference.nanoseconds)) is not None:
            errors = {
                name: value - then.position[name]
                for name, value in reference.position.items()
                if name in then.position
            }
        return StateSample(
            time=1e-9 * state.nanoseconds,
            positions=state.position,
            efforts=(self.commands.fresh or state).effort or state.effort,
            references=reference.position if reference is not None else {},
            errors=errors,
            externals=external.effort if (external := self._externals.fresh) is not None else {},
            wrench=(wrench.link, wrench.values) if (wrench := self._wrenches.fresh) is not None else None,
        )

    def take(self) -> None:
        """See :class:`MachineSource`."""
        super().take()
        self._externals.take()
        self._wrenches.take()

    def push(self, link: str, wrench: Array) -> None:
        """Push a link of the simulated robot: force and torque (6,) about its origin, in root axes."""
        message = WrenchStamped()
        message.header.frame_id = link
        force, torque = message.wrench.force, message.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = map(float, wrench)
        self._pushes.publish(message)

    def target(self, pose: Array) -> None:
        """Send the controller a target pose (4, 4) in the root frame."""
        message = PoseStamped()
        place, turn = message.pose.position, message.pose.orientation
        place.x, place.y, place.z = map(float, pose[:3, 3])
        turn.w, turn.x, turn.y, turn.z = map(float, mat2quat(pose[:3, :3]))
        self._targets.publish(message)

    def locked(self) -> Mapping[str, str]:
        """Joints that are not in the controller's reference."""
        reference: JointValues | None = self.references.fresh
        if reference is None:
            return {}
        return {name: UNMOVED for name in self.joint_names if name not in reference.position}

    def trajectory(self, goal: MoveGoal) -> JointTrajectory:
        """One waypoint: the goal."""
        state, reference = self.states.newest, self.references.newest
        if self._geometry is None or state is None:
            raise TrajectoryError("it is not known where the robot is")
        check_goal(self._geometry, state.position, goal)
        # The page locks what the controller does not move, once its reference has arrived.
        names = [name for name in goal.positions if reference is None or name in reference.position]
        point = JointTrajectoryPoint(positions=[goal.positions[name] for name in names])
        point.time_from_start = duration(goal.duration)
        return JointTrajectory(joint_names=names, points=[point])
