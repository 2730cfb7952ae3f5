"""A Stewart platform between topics and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from geometry_msgs.msg import Transform
from rclpy.node import Node
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from robot_dynamics.errors import RobotDynamicsError, StateError, TrajectoryError
from robot_dynamics.ros.viewing.source import MachineSource, duration
from robot_dynamics.ros.viewing.streams import JointValues, PoseStream, StampedPose, StampedText, StatusStream
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.view.moves import MoveGoal
from robot_dynamics.view.samples import StateSample
from robot_dynamics.view.stewart_geometry import StewartGeometry, pose_errors, pose_from, pose_values

Pose = dict[str, float]
FOUND = 1e-6
"""Tolerance of the leg lengths [m]."""


class StewartSource(MachineSource):
    """A Stewart platform, whose pose is found from the lengths of its legs.

    So it is known without a controller, and none has to publish it for the page.

    Args:
        node: gets subscriptions and publisher.
        controller: name of the node that controls the platform.
        geometry: of the machine.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m]; empty for zero.
    """

    TRAJECTORY = (MultiDOFJointTrajectory, "trajectory")

    def __init__(
        self, node: Node, controller: str, geometry: StewartGeometry, zero_lengths: Sequence[float]
    ) -> None:
        super().__init__(node, controller, PoseStream(node, f"{controller}/reference"))
        self._geometry = geometry
        self._zero = np.array(zero_lengths or [0.0] * 6)
        self._pose: Pose = geometry.home
        self._known = False
        self._fault = ""
        self._stream = StatusStream(node, f"{controller}/stream_deviation")

    def take(self) -> None:
        """Read what has arrived."""
        super().take()
        self._stream.take()

    @property
    def joint_names(self) -> Sequence[str]:
        """The legs."""
        return self._geometry.machine.leg_names

    def complaints(self) -> dict[str, str]:
        """Faults of the topics, and with the lengths of the legs."""
        return {**super().complaints(), "pose": self._fault}

    def sample(self) -> StateSample | None:
        """Pose, forces and errors."""
        state: JointValues | None = self.states.newest
        if state is None or not self._locate(state):
            return None
        reference: StampedPose | None = self.references.fresh
        wanted: Pose = {} if reference is None else pose_values(reference.position, reference.rotation)
        return StateSample(
            time=1e-9 * state.nanoseconds,
            positions=self._pose,
            efforts=(self.commands.fresh or state).effort or state.effort,
            references=wanted,
            errors=self._errors(reference, wanted),
            caption=self._caption(),
        )

    def _caption(self) -> str:
        limit = self._geometry.machine.condition_limit
        condition = f"condition number {self._geometry.condition_number(self._pose):.1f} (limit {limit:g})"
        stream: StampedText | None = self._stream.fresh
        return condition if stream is None else f"{condition} · stream {stream.text}"

    def _errors(self, reference: StampedPose | None, wanted: Pose) -> Mapping[str, float]:
        then = None if reference is None else self.states.at(reference.nanoseconds)
        if then is None:
            return {}
        try:
            return pose_errors(wanted, self._find(then, self._pose))
        except RobotDynamicsError:
            return {}

    def _locate(self, state: JointValues) -> bool:
        """Find the pose; whether the machine's pose is known."""
        if any(name not in state.position for name in self.joint_names):
            return self._known
        error: RobotDynamicsError | None = None
        for start in (self._pose, self._geometry.home):
            try:
                self._pose = self._find(state, start)
            except RobotDynamicsError as failure:
                error = failure
                continue
            self._known, self._fault = True, ""
            return True
        self._fault = f"{self.states.topic}: {error}"
        return self._known

    def _find(self, state: JointValues, start: Pose) -> Pose:
        """The pose near ``start`` that has the legs' lengths.

        Raises:
            RobotDynamicsError: there is none.
        """
        joints = np.array([state.position[name] for name in self.joint_names])
        position, rotation = pose_from(start)
        found = self._geometry.platform.forward_kinematics(
            joints + self._zero, position, quaternion_from_rotation(rotation)
        )
        if not found.residual < FOUND:
            raise StateError(
                f"no pose has the leg lengths {np.round(joints + self._zero, 4).tolist()} m; joint positions"
                " that count from elsewhere need 'zero_lengths'"
            )
        return pose_values(found.position, found.rotation)

    def trajectory(self, goal: MoveGoal) -> MultiDOFJointTrajectory:
        """One waypoint: the goal."""
        if not self._known or self._fault:
            raise TrajectoryError("it is not known where the platform is")
        self._geometry.check_goal(self._pose, goal)
        position, rotation = pose_from(goal.positions)
        transform = Transform()
        place, turn = transform.translation, transform.rotation
        place.x, place.y, place.z = position.tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion_from_rotation(rotation).tolist()
        point = MultiDOFJointTrajectoryPoint(transforms=[transform])
        point.time_from_start = duration(goal.duration)
        return MultiDOFJointTrajectory(joint_names=["platform"], points=[point])
