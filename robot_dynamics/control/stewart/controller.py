"""The controller of a Stewart platform as a state machine without ROS: leg states in, six forces out.

Computed force in task space: the exact inverse dynamics are evaluated at the acceleration

    a = a_d + Kv (v_d - v) + Kp (x_d - x),

where x is the pose that forward kinematics finds for the measured leg lengths, and the orientation error is
the rotation vector from the measured to the wanted orientation, base frame.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.parameters import SafeOutput
from robot_dynamics.control.stewart.parameters import Mode, PlatformParameters
from robot_dynamics.control.stewart.trajectory import PoseTrajectory, PoseWaypoint, at_rest, plan_pose
from robot_dynamics.control.tracking import Command, JumpDetector, PeriodMeter, Phase, Schedule, fade
from robot_dynamics.errors import SingularityError, StateError, TrajectoryError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Motion, StewartPlatform
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_vector
from robot_dynamics.stewart.program import MOTION_SIZE
from robot_dynamics.stewart.tracking import PoseTracker, Quaternion, turned


class PlatformController:
    """Computed-force control of one platform.

    Without a trajectory the platform holds where it is. A trajectory is refused before it starts when it
    leaves the machine's limits or meets a singularity. When the states come back after a loss, or time runs
    backwards or the platform jumps, the trajectory is dropped and the platform holds where it is found.

    Args:
        platform: the machine.
        parameters: gains, mode and safe output; replaceable at any time through ``parameters``.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m]; zero when None, so that a
            joint's position is the leg's length.
    """

    def __init__(
        self,
        platform: StewartPlatform,
        parameters: PlatformParameters,
        zero_lengths: Array | None = None,
    ) -> None:
        machine = platform.machine
        self.platform = platform
        self.phase = Phase.WAITING
        self._forces = platform.compile().actuator_forces
        self._limits = np.array([leg.limits.force for leg in machine.legs])
        self.pose = PoseTracker(machine)
        self._zero = np.zeros(6) if zero_lengths is None else zero_lengths
        self.lengths: Array = leg_geometry(machine, machine.home_position, machine.home_rotation).lengths
        self._time = -np.inf
        self._motion = np.zeros(MOTION_SIZE)
        self._wrench = np.zeros(6)
        self._wrench_time = -np.inf
        self._schedule = Schedule(self._here())
        self._meter = PeriodMeter()
        self._jumps = JumpDetector()
        self.displaced = ""
        self.parameters = parameters

    @property
    def parameters(self) -> PlatformParameters:
        """The parameters in force."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: PlatformParameters) -> None:
        self._kp, self._kv = value.gains()
        self._mode = Mode(value.mode)
        self._parameters = value

    def reference(self, time: float) -> Motion:
        """The reference at ``time`` [s]."""
        return self._schedule.reference(time)

    def set_wrench(self, force: Sequence[float], torque: Sequence[float]) -> None:
        """External force [N] and moment about the platform's origin [N·m] on the platform, platform frame.

        Raises:
            StateError: not six finite numbers.
        """
        wrench = np.concatenate([np.asarray(force, dtype=float), np.asarray(torque, dtype=float)])
        if wrench.shape != (6,) or not np.isfinite(wrench).all():
            raise StateError(f"the external wrench is {wrench.tolist()}; it must be six finite numbers")
        self._wrench, self._wrench_time = wrench, self._time

    def follow(self, waypoints: Sequence[PoseWaypoint], start: float | None) -> PoseTrajectory:
        """Replace whatever is being followed; the old trajectory stays in force when the new one is refused.

        Args:
            waypoints: see ``trajectory.plan_pose``.
            start: when the trajectory's time 0 is [s]; the present when None.

        Raises:
            TrajectoryError: the trajectory cannot be followed, or no joint state has come yet.
            SingularityError: the path meets a singularity.
        """
        if not self.phase.controls:
            raise TrajectoryError(f"the controller is not ready for a trajectory: {self.phase.value}")
        now = self._time
        departure = now if start is None else start
        origin = self.reference(max(departure, now))
        planned = plan_pose(self.platform, waypoints, departure, origin, now)
        self._schedule.follow(planned)
        self.phase = Phase.TRACKING
        return planned

    def hold(self) -> None:
        """Stop following and hold where the platform is."""
        if self.phase.controls:
            self._capture()

    def update(self, time: float, position: Array, velocity: Array) -> Command:
        """One control cycle.

        Args:
            time: of the joint state [s].
            position: (6,) of the legs' joints [m].
            velocity: (6,) leg rates [m/s].

        Raises:
            StateError: no pose has these leg lengths.
            SingularityError: the platform is in, or too near to, a singular pose.
        """
        self._locate(position, velocity)
        lost = not self.phase.controls
        self.displaced = self._jumps.add(time, position, velocity)
        self._meter.add(time - self._time)
        self._time = time
        if lost or self.displaced:
            self._capture()
        self._schedule.advance(time)
        if self._schedule.empty:
            self.phase = Phase.HOLDING
        reference = self.reference(time)
        force = self._force(time, reference)
        if not np.all(np.isfinite(force)):
            self.phase = Phase.FAULT
            return self.safe_command(0.0)
        return self._limited(force, reference)

    def observe(self, position: Array) -> None:
        """Keep the last known pose fresh while not in control; bad lengths change nothing."""
        try:
            self._locate(position, np.zeros(6))
        except (StateError, SingularityError):
            return

    def lost_states(self) -> None:
        """Joint states have stopped: from now on ``safe_command`` is what goes out."""
        if self.phase is not Phase.WAITING:
            self.phase = Phase.STALE
            self._schedule.stop(self._here())

    def safe_command(self, since: float) -> Command:
        """The declared safe output, ``since`` seconds after the fault began.

        ``gravity_fade`` carries the weight at the last known pose and lets the forces fade to zero over
        ``safe_fade_time``; ``zero`` is no force at once.
        """
        here = self._here()
        force = np.zeros(6)
        if self._parameters.safe_output == SafeOutput.GRAVITY_FADE.value and np.isfinite(self._time):
            share = fade(since, self._parameters.safe_fade_time)
            if share > 0.0:
                load = self._load()
                force = share * load if np.all(np.isfinite(load)) else force
        return self._limited(force, here)

    def _locate(self, position: Array, rates: Array) -> None:
        """Find pose and twist, starting from where the platform was last."""
        lengths = position + self._zero
        self.pose.update(lengths, rates)
        self.lengths = lengths
        condition, limit = self.pose.condition_number, self.platform.machine.condition_limit
        if condition > limit:
            raise SingularityError(
                f"the condition number is {condition:.3g}, beyond the limit of {limit:g}: the platform is too"
                " near to a singular pose"
            )

    def _here(self) -> Motion:
        return at_rest(self.pose.position, self.pose.rotation)

    def _capture(self) -> None:
        """Hold where the platform is."""
        self._schedule.stop(self._here())
        self.phase = Phase.HOLDING

    def _external(self) -> Array:
        age = self._time - self._wrench_time
        return self._wrench if age <= self._parameters.wrench_timeout else np.zeros(6)

    def _force(self, time: float, reference: Motion) -> Array:
        half = self._parameters.half_period(self._meter.period)
        ahead = reference if half == 0.0 else self.reference(time + half)
        wanted = np.concatenate([ahead.linear_acceleration, ahead.angular_acceleration])
        if self._mode is Mode.FEEDFORWARD:
            twist = np.concatenate([ahead.linear_velocity, ahead.angular_velocity])
            quaternion = quaternion_from_rotation(ahead.rotation).tolist()
            return self._evaluate(ahead.position, quaternion, twist, wanted)
        pose, twist = self.pose, self.pose.twist
        error = np.concatenate(
            [reference.position - pose.position, rotation_vector(reference.rotation @ pose.rotation.T)]
        )
        rate = np.concatenate([reference.linear_velocity, reference.angular_velocity]) - twist
        acceleration = wanted + self._kv * rate + self._kp * error
        # Where the platform will be in the middle of the period for which the forces are held.
        step = half * (twist + 0.5 * half * acceleration)
        return self._evaluate(
            pose.position + step[:3],
            turned(pose.quaternion, step[3:]),
            twist + half * acceleration,
            acceleration,
        )

    def _load(self) -> Array:
        """Forces that hold the platform at rest where it is; not finite where none can."""
        try:
            return self._evaluate(self.pose.position, self.pose.quaternion, np.zeros(6), np.zeros(6))
        except (StateError, SingularityError):
            return np.full(6, np.nan)

    def _evaluate(self, position: Array, quaternion: Quaternion, twist: Array, acceleration: Array) -> Array:
        motion = self._motion
        motion[0:3], motion[3:7], motion[7:13] = position, quaternion, twist
        motion[13:19], motion[19:25] = acceleration, self._external()
        return np.asarray(self._forces(motion))

    def _limited(self, force: Array, reference: Motion) -> Command:
        return Command(np.clip(force, -self._limits, self._limits), force, reference, self.phase)
