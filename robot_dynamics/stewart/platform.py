"""The Stewart platform as users see it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from robot_dynamics.errors import ParameterError, WrongTypeError, quoted
from robot_dynamics.inputs.arrays import of_type, one_of, real_number, real_vector
from robot_dynamics.native.loading import check_backend
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.checks import OnViolation, Violation, Violations, act_on, pose_violations
from robot_dynamics.stewart.compiled import CompiledStewart, compile_stewart
from robot_dynamics.stewart.dynamics import (
    Forces,
    State,
    TaskSpaceDynamics,
    simulate,
    state_at_rest,
    task_space_dynamics,
)
from robot_dynamics.stewart.inverse_dynamics import InverseDynamics, inverse_dynamics
from robot_dynamics.stewart.kinematics import LegGeometry, PoseEstimate, forward_kinematics, leg_geometry
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion, check_motion, motion_of
from robot_dynamics.stewart.newton_euler import Model
from robot_dynamics.stewart.orientation import rotation_of
from robot_dynamics.stewart.paths import PlatformPath
from robot_dynamics.stewart.verified_limits import singular_time, violations_along


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


class StewartPlatform(PlatformKinematics):
    """A Stewart platform; made by :func:`load`.

    Positions and velocities are those of the platform frame's origin in the base frame; orientations are
    quaternions (..., 4) in the order x, y, z, w, or the paper's roll, pitch, yaw (..., 3) with
    R = Rz(θz)·Ry(θy)·Rx(θx). Most methods take single values or batches.

    Attributes:
        machine: its parameters.
    """

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._compile = lru_cache(maxsize=None)(lambda backend: compile_stewart(machine, backend))

    def __repr__(self) -> str:
        """The machine's name and its legs' strokes, in a line."""
        limits = [leg.limits for leg in self.machine.legs]
        shortest, longest = min(limit.shortest for limit in limits), max(limit.longest for limit in limits)
        return f"<StewartPlatform {self.machine.name}: legs of {shortest:g} to {longest:g} m>"

    def inverse_dynamics(
        self,
        position: ArrayLike,
        orientation: ArrayLike,
        linear_velocity: ArrayLike,
        angular_velocity: ArrayLike,
        linear_acceleration: ArrayLike,
        angular_acceleration: ArrayLike,
        force: ArrayLike | None = None,
        torque: ArrayLike | None = None,
        model: Model = "exact",
        on_violation: OnViolation = "raise",
    ) -> InverseDynamics:
        """Actuator forces that a motion needs.

        Args:
            position: (3,) or (N, 3) [m].
            orientation: quaternion (4,) or (N, 4), or roll, pitch, yaw (3,) or (N, 3).
            linear_velocity: (3,) or (N, 3) [m/s].
            angular_velocity: (3,) or (N, 3), base frame [rad/s].
            linear_acceleration: (3,) or (N, 3) [m/s²].
            angular_acceleration: (3,) or (N, 3), base frame [rad/s²].
            force: (3,) or (N, 3) external force on the platform, platform frame [N]; none when omitted.
            torque: (3,) or (N, 3) external moment about the platform's origin, platform frame [N·m].
            model: "exact", or "published" for the equations of the paper as printed.
            on_violation: what to do when a limit of the machine is not kept: "raise", "warn", or "report" in
                the result only.

        Raises:
            StateError: a wrong shape, a value that is not finite, or values so great that the forces are not.
            SingularityError: the pose is singular, or nearer to a singularity than ``condition_limit``.
            LimitError: stroke, joint angle, leg speed or actuator force outside its limits.
            ParameterError: an unknown model or policy.
        """
        motion = self.motion(
            position,
            orientation,
            linear_velocity,
            angular_velocity,
            linear_acceleration,
            angular_acceleration,
            force,
            torque,
        )
        return self.inverse_dynamics_of(motion, model, on_violation)

    def inverse_dynamics_of(
        self, motion: Motion, model: Model = "exact", on_violation: OnViolation = "raise"
    ) -> InverseDynamics:
        """As :meth:`inverse_dynamics`, of ``motion``, e.g. of a path, with ``model`` and ``on_violation``."""
        check_motion(motion)
        one_of("model", model, ("exact", "published"), ParameterError)
        return inverse_dynamics(self.machine, motion, model, on_violation)

    def check_path(
        self,
        path: PlatformPath,
        step: float = 0.01,
        on_violation: OnViolation = "raise",
        from_outside: bool = False,
    ) -> tuple[Violation, ...]:
        """Refuse a path that leaves the limits or meets a singularity, before it is run.

        A path that tells its polynomials (``pieces``, as those of ``straight_line`` and of trajectories do)
        is bounded at every moment of it. Of any other, samples are looked at: what lies between two of them
        is not seen, but for a singularity, which shows in the sign of the Jacobian's determinant.

        Args:
            path: the path.
            step: greatest distance of the samples [s].
            on_violation: "raise", "warn" or "report".
            from_outside: a stroke or an angle that is not kept where the path starts, e.g. because the
                machine rests on a stop, may be left from there, as long as it gets no worse.

        Returns:
            What the path violates, with times in the messages.

        Raises:
            SingularityError: the path meets, or comes too near, a singular pose; the message tells when.
            LimitError: a leg leaves its limits, or the path is too near to them for too long to tell.
            ParameterError: a step that is not positive, or an unknown policy.
        """
        of_type("path", path, PlatformPath)
        of_type("from_outside", from_outside, bool)
        found = violations_along(self, path, real_number("step", step, ParameterError), from_outside)
        act_on(found, on_violation)
        return found

    def singular_time(self, path: PlatformPath, step: float = 0.01) -> float | None:
        """First time at which ``path`` crosses a singularity [s]; None where the determinant keeps its sign.

        Args:
            path: the path.
            step: greatest distance of the samples that are looked at [s].

        Raises:
            ParameterError: a step that is not positive, or too small for so long a path.
        """
        of_type("path", path, PlatformPath)
        return singular_time(self, path, real_number("step", step, ParameterError))

    def task_space_dynamics(
        self,
        position: ArrayLike,
        orientation: ArrayLike,
        linear_velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        force: ArrayLike | None = None,
        torque: ArrayLike | None = None,
    ) -> TaskSpaceDynamics:
        """Mass matrix, bias and Jacobian at one state: the basis of computed force control.

        Args:
            position: (3,) [m].
            orientation: quaternion (4,) or roll, pitch, yaw (3,).
            linear_velocity: (3,) [m/s]; zero when omitted, as everything that follows.
            angular_velocity: (3,), base frame [rad/s].
            force: (3,) external force on the platform, platform frame [N].
            torque: (3,) external moment about the platform's origin, platform frame [N·m].

        Raises:
            StateError: a wrong shape or a value that is not finite.
        """
        motion = self.motion(
            position, orientation, linear_velocity, angular_velocity, None, None, force, torque
        )
        return task_space_dynamics(self.machine, motion)

    def forward_dynamics(
        self,
        position: ArrayLike,
        orientation: ArrayLike,
        linear_velocity: ArrayLike,
        angular_velocity: ArrayLike,
        actuator_forces: ArrayLike,
        force: ArrayLike | None = None,
        torque: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Acceleration under actuator forces: linear (3,) [m/s²] and angular (3,), base frame [rad/s²].

        Args:
            position: (3,) [m].
            orientation: quaternion (4,) or roll, pitch, yaw (3,).
            linear_velocity: (3,) [m/s].
            angular_velocity: (3,), base frame [rad/s].
            actuator_forces: (6,) in the order of the legs; positive ones lengthen [N].
            force: (3,) external force on the platform, platform frame [N]; none when omitted.
            torque: (3,) external moment about the platform's origin, platform frame [N·m].

        Raises:
            StateError: a wrong shape or a value that is not finite.
            SingularityError: the accelerations are not determined.
        """
        forces = real_vector("actuator_forces", actuator_forces, 6)
        dynamics = self.task_space_dynamics(
            position, orientation, linear_velocity, angular_velocity, force, torque
        )
        acceleration = dynamics.acceleration(forces)
        return acceleration[:3], acceleration[3:]

    def simulate(
        self,
        forces: Forces,
        duration: float,
        step: float = 0.001,
        start: State | None = None,
        external_force: Array | None = None,
        external_torque: Array | None = None,
    ) -> tuple[Array, list[State]]:
        """Motion under actuator forces by the classical Runge-Kutta method.

        Args:
            forces: function of time [s] and state that returns (6,) [N], in the order of the legs.
            duration: simulated time [s].
            step: of the integration [s].
            start: where it begins; at rest at home when None.
            external_force: (3,) on the platform, platform frame [N]; none when None.
            external_torque: (3,) about the platform's origin, platform frame [N·m].

        Returns:
            The times (K,) [s] and the states at them.

        Raises:
            ParameterError: a duration or step that is not positive, or too many steps.
            StateError: forces that are not six finite numbers, or a start that is not usable.
            SingularityError: the accelerations are not determined.
        """
        if start is None:
            start = state_at_rest(self.machine.home_position, self.machine.home_rotation)
        of_type("start", start, State)
        if not callable(forces):
            raise WrongTypeError(f"forces is {quoted(forces)}; it must be a function of time and state")
        return simulate(self.machine, start, forces, duration, step, external_force, external_torque)

    def compile(self, backend: str = "auto") -> CompiledStewart:
        """The exact actuator forces as a generated program, for control loops and batches.

        Args:
            backend: "auto" (C where there is a compiler), "c" or "python".

        Raises:
            BackendError: no such backend, or ``backend="c"`` and the compiler fails.
        """
        check_backend(backend)
        return self._compile(backend)


def load(source: str | Path | Mapping[str, Any]) -> StewartPlatform:
    """A Stewart platform.

    Args:
        source: path of a YAML file, YAML text (more than one line) or a mapping.

    Raises:
        ModelError: a parameter is missing, unknown, not finite, of a wrong shape or not physical.
    """
    return StewartPlatform(load_machine(source))
