"""What can be said of a Stewart platform without its masses: poses, legs and the limits of both."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.arrays import of_type, real_number, real_vector
from robot_dynamics.stewart.checks import OnViolation, Violations, act_on, pose_violations
from robot_dynamics.stewart.kinematics import (
    LegGeometry,
    PoseEstimate,
    forward_kinematics,
    leg_geometry,
)
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion, check_motion, motion_of
from robot_dynamics.stewart.orientation import rotation_of


class PlatformKinematics:
    """Kinematics of a Stewart platform; conventions as of ``StewartPlatform``.

    Attributes:
        machine: its parameters.
    """

    def __init__(self, machine: Machine) -> None:
        of_type("machine", machine, Machine)
        self.machine = machine

    motion = staticmethod(motion_of)

    def legs(self, position: ArrayLike, orientation: ArrayLike) -> LegGeometry:
        """Inverse kinematics: lengths, directions and Jacobian of the legs at poses.

        Args:
            position: (3,) or (N, 3) [m].
            orientation: quaternion (4,) or (N, 4), or roll, pitch, yaw (3,) or (N, 3).

        Raises:
            StateError: a wrong shape or a value that is not finite.
        """
        return self.legs_of(self.motion(position, orientation))

    def legs_of(self, motion: Motion) -> LegGeometry:
        """As :meth:`legs`, at the poses of ``motion``, e.g. of a path."""
        check_motion(motion)
        return leg_geometry(self.machine, motion.position, motion.rotation)

    def check_pose(
        self, position: ArrayLike, orientation: ArrayLike, on_violation: OnViolation = "raise"
    ) -> Violations:
        """Limits of strokes, joint angles and condition number that poses do not keep.

        Args:
            position: (3,) or (N, 3) [m].
            orientation: quaternion (4,) or (N, 4), or roll, pitch, yaw (3,) or (N, 3).
            on_violation: what to do then: "raise", "warn", or "report" in the result only.

        Raises:
            StateError: a wrong shape or a value that is not finite.
            SingularityError: the pose is singular, or nearer to a singularity than ``condition_limit``.
            LimitError: a stroke or a joint angle outside its limits.
            ParameterError: an unknown policy.

        Returns:
            One violation for each limit and leg, of a batch the worst; with ``on_violation="report"`` its
            ``kept`` (...) tells of every state whether it keeps all limits.
        """
        motion = self.motion(position, orientation)
        violations = pose_violations(self.machine, self.legs_of(motion), motion.rotation)
        act_on(violations, on_violation)
        return violations

    def forward_kinematics(
        self,
        lengths: ArrayLike,
        start_position: ArrayLike | None = None,
        start_orientation: ArrayLike | None = None,
        tolerance: float = 1e-10,
    ) -> PoseEstimate:
        """The pose near the start that has the given leg lengths.

        Args:
            lengths: (6,) [m], in the order of the legs.
            start_position: (3,) where the search begins [m]; home when omitted.
            start_orientation: quaternion (4,) or roll, pitch, yaw (3,); home's when omitted.
            tolerance: of the lengths [m].

        Raises:
            StateError: lengths that are not six positive numbers, or a start that is not usable.
            SingularityError: the search ran into a singular pose.
        """
        position = self.machine.home_position
        rotation = self.machine.home_rotation
        tolerance = real_number("tolerance", tolerance, ParameterError)
        if start_position is not None:
            position = real_vector("start_position", start_position, 3)
        if start_orientation is not None:
            rotation = rotation_of(start_orientation)
        return forward_kinematics(self.machine, lengths, position, rotation, tolerance)
