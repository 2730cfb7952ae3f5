"""The controller of a Stewart platform: leg states in, six actuator forces out, its cycle in C."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robot_dynamics.control.core.library import doubles
from robot_dynamics.control.core.plans import plan_value
from robot_dynamics.control.core.settings import Settings, supervised
from robot_dynamics.control.core.snapshot import PHASES
from robot_dynamics.control.protocol import Command, Planned, PlanStart
from robot_dynamics.control.stewart import declared
from robot_dynamics.control.stewart.commands import PlatformCommands
from robot_dynamics.control.stewart.following import platform_rules
from robot_dynamics.control.stewart.governed_motion import GovernedMotion
from robot_dynamics.control.stewart.governing import Governing
from robot_dynamics.control.stewart.operating_modes import DESCENT_PARAMETERS, OperatingMode, OperatingModes
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.platform_model import (
    BEYOND,
    NO_POSE,
    REPORTED,
    ReportedPose,
    add_descent,
    checked_wrench,
    compensated,
    is_refusal,
    loaded,
    platform_bounds,
    platform_model,
    platform_settings,
    words_of,
)
from robot_dynamics.control.stewart.reference_governor import GovernedReference
from robot_dynamics.control.stewart.stream_intake import StreamIntake
from robot_dynamics.control.stewart.trajectory import PoseTrajectory, PoseWaypoint, plan_pose
from robot_dynamics.control.supervision import Trip
from robot_dynamics.errors import (
    ParameterError,
    RobotDynamicsError,
    SingularityError,
    StateError,
    TrajectoryError,
)
from robot_dynamics.inputs.arrays import of_type, real_vector
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Machine, Motion, StewartPlatform
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.program import MOTION_SIZE

REFERENCE_SIZE = 24
"""Numbers of a reference: position, rotation, twist and acceleration; see ``rd_platform_reference``."""
GAINS = ("mode", "kp", "kv", "ki", "disturbance_limit")
"""Parameters of the law; with others it is another law."""
NO_WRENCH = np.zeros(6)
STANDING_STILL, SLIP = 5e-3, 2e-3
"""Slower, a platform stands, and its brakes may engage [m/s, rad/s]; way of a leg on engaged brakes [m]."""


class StewartController(PlatformCommands):
    """Control of one Stewart platform by the law that its parameters choose.

    It needs no ROS: hand every leg state to :meth:`update` and send the forces that it returns. A trajectory
    is refused before it starts when it leaves the machine's limits or meets a singularity. A stream of poses
    (:meth:`command_pose`) is followed as far as the limits allow. ``modes`` has operating mode and brakes.

    Law, holds, trajectories, watch, brakes' share of the forces and safe output run in C. Stops, streams,
    parking and un-parking are governed motions: :meth:`update` leads them, or :meth:`conduct` where another
    thread runs the cycle. What they hand over to the core ends in a stop when nothing further comes.

    Args:
        platform: the machine.
        parameters: gains, mode and safe output, the defaults when None; replaceable at any time through
            ``parameters``.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m]; zero when None, so that a
            joint's position is the leg's length.

    Raises:
        BackendError: there is no C compiler.
    """

    machine = "rd_machine_platform"
    telemetry = sum(REPORTED.values())

    def __init__(
        self,
        platform: StewartPlatform,
        parameters: StewartParameters | None = None,
        zero_lengths: Array | None = None,
    ) -> None:
        parameters = StewartParameters() if parameters is None else parameters
        of_type("platform", platform, StewartPlatform)
        of_type("parameters", parameters, StewartParameters)
        self._zero = np.zeros(6) if zero_lengths is None else real_vector("zero_lengths", zero_lengths, 6)
        self.platform, self._parameters = platform, parameters
        self._payload: RigidBody | None = None
        self.check_parameters(parameters)
        self._compiled = compensated(platform).compile()
        self._wrench, self._wrench_until, self._beyond = NO_WRENCH, -np.inf, 0
        modes = OperatingModes(platform.machine, self.model_forces, parameters)
        self._brakes = modes.brake_fields
        self._descent: tuple[Any, Any] | None = None
        super().__init__(modes, StreamIntake(platform.machine, parameters), 6)
        self._governing = Governing(self._plans, self._snapshot, platform.machine)
        self._find_descent(first=True)
        self.offer_settings(model=False, law=False)

    def __repr__(self) -> str:
        return f"StewartController({self.platform.machine.name}: {self._parameters.mode}, {self.phase.value})"

    def driven_by(self, perform: Callable[[str], None] | None) -> None:
        """See :class:`CoreController`."""
        super().driven_by(perform)
        self._governing.elsewhere = perform is not None

    # Settings

    def core_settings(self) -> Settings:
        """See :class:`CoreController`."""
        parameters, pace = self._parameters, self.modes.pace
        model = platform_model(self._compiled.machine, self._payload, parameters, self._zero)
        if self._descent is not None:
            add_descent(model, self._descent[0], self.platform.machine, parameters.blind_speed, pace)
        settings = platform_settings(self._compiled, model, parameters)
        value = settings.value
        model.watches, value.brakes, value.brake_from, value.brake_fade = self._brakes
        value.brake_delay = parameters.brake_engage_time
        carried = Settings(value, (settings.kept, self._descent))
        rules = platform_rules(
            self.platform.machine, lambda motions: self._forces(value, motions), parameters
        )
        return supervised(carried, rules)

    def _forces(self, settings: Any, motions: Array) -> Array:
        """Forces (N, 6) of motions (N, MOTION_SIZE), to whose wrenches the payload is added."""
        forces = np.empty((len(motions), 6))
        self._library.rd_platform_forces_of(settings, len(motions), doubles(motions), doubles(forces))
        return forces

    @property
    def parameters(self) -> StewartParameters:
        """The parameters in force."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: StewartParameters) -> None:
        """Use other parameters from the next cycle on; the forces blend to another law or other gains."""
        of_type("parameters", value, StewartParameters)
        self.check_parameters(value)
        before, self._parameters = self._parameters, value
        self.modes.use(value)
        self.intake.parameters = value
        self._brakes = self.modes.brake_fields
        if any(getattr(value, name) != getattr(before, name) for name in DESCENT_PARAMETERS):
            self._find_descent()
        another = any(getattr(before, name) != getattr(value, name) for name in GAINS)
        self.offer_settings(model=False, law=another)

    @property
    def model_in_use(self) -> tuple[Any, RigidBody | None]:
        """See :class:`CoreController`."""
        return self._compiled, self._payload

    @model_in_use.setter
    def model_in_use(self, model: tuple[Any, RigidBody | None]) -> None:
        self._compiled, self._payload = model

    @property
    def payload(self) -> RigidBody | None:
        """The body that is carried beside the platform's own; None: nothing."""
        if self._take_back():
            self.offer_settings(True, False)
        return self._payload

    def change_model(self, platform: StewartPlatform) -> None:
        """Use another model of the same machine; the forces blend to it in ``model_change_time``.

        Args:
            platform: with the same geometry, and limits that are not wider.

        Raises:
            ParameterError: it is another machine, which needs a controller of its own.
        """
        of_type("platform", platform, StewartPlatform)
        if reason := declared.other_machine(self.platform.machine, platform.machine):
            raise ParameterError(f"{reason}: configure the controller again for another machine")
        self._compiled = compensated(platform).compile()
        self.offer_settings(model=True, law=False)

    def change_payload(self, payload: RigidBody) -> None:
        """Carry another body, see :meth:`check_payload`; the forces blend to it in ``model_change_time``.

        Args:
            payload: in the platform's frame, beside the platform's own; without mass: nothing.
        """
        of_type("payload", payload, RigidBody)
        self.check_payload(payload)
        self._payload = payload if payload.mass > 0.0 else None
        self.offer_settings(model=True, law=False)

    def check_payload(self, payload: RigidBody) -> None:
        """Check whether a payload may be set now; in motion a refusal begins a protective stop.

        Raises:
            ParameterError: the forces carry the platform, and cannot carry it with this payload; or the gains
                are not stable before the payload is there.
        """
        if not payload.mass > 0.0:
            return
        if self.phase.controls and not self.modes.brakes.engaging:
            before, self._payload = self._payload, payload
            reason, self._payload = self.overload(), before
            if reason:
                self.stop_in_motion()
                raise ParameterError(reason)
        self._check_gains(self._parameters, payload)

    def check_parameters(self, candidate: StewartParameters) -> None:
        """Check whether parameters fit the machine.

        Raises:
            ParameterError: the park pose is beyond the machine's limits, the command is another one, or the
                gains are not stable before the declared payload is there.
        """
        if candidate.command != self._parameters.command:
            raise ParameterError(
                f"parameter 'command' is {candidate.command}; this controller has begun with"
                f" {self._parameters.command}: make another controller"
            )
        if candidate.park_pose:
            declared.check_park_pose(self.platform.machine, candidate.park_pose)
        if self._payload is not None:
            self._check_gains(candidate, self._payload)

    def _check_gains(self, parameters: StewartParameters, payload: RigidBody) -> None:
        declared.check_load_ahead(
            self.platform.machine, payload, parameters, self._snapshot.read().usual_period
        )

    def _find_descent(self, first: bool = False) -> None:
        """Plan the open-loop descent, where the safe output needs it."""
        if self._parameters.safe_output != "settle" or self._parameters.sends_setpoints:
            return
        settings = (self._parameters, self._zero.tobytes()) if first else None
        self._descent = plan_value(self.modes.kept_descent(self.platform, settings).spline, 1, 0, 0)

    # Telemetry

    @property
    def pose(self) -> ReportedPose:
        """Pose, twist and condition number of the measured leg lengths."""
        self._snapshot.read()
        return ReportedPose(self.platform.machine, self._snapshot.telemetry.copy())

    @property
    def lengths(self) -> Array:
        """(6,) measured leg lengths [m]; at home before the first state."""
        if not np.isfinite(self._snapshot.read().time):
            machine = self.platform.machine
            return leg_geometry(machine, machine.home_position, machine.home_rotation).lengths
        return np.asarray(self._snapshot.position + self._zero)

    @property
    def wrench(self) -> Array:
        """(6,) external wrench in force, platform frame [N, N·m]."""
        until = self._wrench_until + self._parameters.wrench_fade_time
        return self._wrench if self.time <= until else NO_WRENCH

    @property
    def effort_limits(self) -> Array:
        """(6,) [N], infinite where there is none."""
        return platform_bounds(self.platform.machine, self._parameters).effort

    def joint_of(self, trip: Trip) -> tuple[str, str]:
        """See :class:`CoreController`."""
        machine = self.platform.machine
        if trip.rule == "pose_error":
            return f"{machine.name}, its pose,", ("m", "rad")[trip.joint]
        return (machine.leg_names[trip.joint] if trip.joint >= 0 else machine.name), "m"

    @property
    def command_offset(self) -> Array:
        """(6,) leg lengths at which the joint positions are zero [m]: forces report lengths and rates."""
        return self._zero

    def reference_of(self, position: Array, velocity: Array, acceleration: Array) -> Motion:
        """Motion of the coordinates x, y, z, roll, pitch, yaw (6,) and their derivatives."""
        found = np.empty(REFERENCE_SIZE)
        given = (doubles(part) for part in (position, velocity, acceleration, found))
        self._library.rd_platform_reference(*given)
        rotation, zero = found[3:12].reshape(3, 3), np.zeros(3)
        return Motion._make((found[:3], rotation, *found[12:].reshape(4, 3), zero, zero))

    def words_of(self, results: Any) -> str:
        """See :class:`CoreController`; a state beyond a limit is answered by settling."""
        if results.discontinuity < BEYOND:
            return super().words_of(results)
        words = words_of(results, self.platform.machine.leg_names)
        return words if is_refusal(results) else f"{words}; settling"

    def failure(self) -> RobotDynamicsError:
        """See :class:`CoreController`; for lengths without a pose, and for poses near singular ones."""
        self._library.rd_core_results(self._core, self._results)
        if not is_refusal(self._results):
            return super().failure()
        no_pose = (self._results.discontinuity - BEYOND) // 6 == NO_POSE
        return (StateError if no_pose else SingularityError)(self.words_of(self._results))

    # Planning

    def plan(self, waypoints: Sequence[PoseWaypoint], plan_start: PlanStart[Motion]) -> Planned[Motion]:
        """Plan a trajectory for :meth:`accept`; changes nothing, so it may take its time.

        Args:
            waypoints: see ``trajectory.plan_pose``.
            plan_start: where and when it begins.

        Raises:
            TrajectoryError: the trajectory cannot be followed.
            LimitError: the path leaves the machine's limits.
            SingularityError: the path meets a singularity.
        """
        platform = self.platform
        if (payload := self.payload) is not None:
            platform = StewartPlatform(loaded(platform.machine, payload))
        pace, now = self.modes.pace, plan_start.now
        limits = (pace.acceleration, pace.angular_acceleration)
        trajectory = plan_pose(
            platform, waypoints, plan_start.start, plan_start.origin, now, self.wrench, limits
        )
        return Planned(trajectory, plan_start.epoch)

    def follow(self, waypoints: Sequence[PoseWaypoint], start: float | None = None) -> PoseTrajectory:
        """Plan and follow at once; the old trajectory stays in force when the new one is refused.

        Args:
            waypoints: see ``trajectory.plan_pose``.
            start: when the trajectory's time 0 is [s]; the present when None.

        Raises:
            TrajectoryError: the trajectory cannot be followed, or no joint state has come yet.
            LimitError: the path leaves the machine's limits.
            SingularityError: the path meets a singularity.
        """
        trajectory = self._follow(self.plan(waypoints, self.plan_start(start)))
        assert isinstance(trajectory, PoseTrajectory)
        return trajectory

    def set_wrench(self, force: Sequence[float], torque: Sequence[float]) -> str:
        """Set the external force [N] and moment about the platform's origin [N·m], platform frame.

        More than the legs carry at the measured pose is cut.

        Returns:
            A warning, where it is cut; empty where it is not.

        Raises:
            StateError: not six finite numbers.
        """
        wrench, until = checked_wrench(force, torque), self.time + self._parameters.wrench_timeout
        share = self._share_of(wrench) if self.phase.controls else 1.0
        wrench = share * wrench
        self._wrench, self._wrench_until = wrench, until
        self._library.rd_platform_offer_wrench(self._core, doubles(wrench), until)
        if share == 1.0:
            return ""
        return f"the legs carry {100.0 * share:.3g} % of the external wrench at this pose: cut to that"

    def _share_of(self, wrench: Array) -> float:
        """Share of a wrench (6,) that the legs carry at rest at the measured pose, 0 to 1."""
        limits = self._parameters.governed_share * self.effort_limits
        return declared.carried_share(self._resting_forces(NO_WRENCH), self._resting_forces(wrench), limits)

    def _resting_forces(self, wrench: Array, settings: Any = None) -> Array:
        """Forces (6,) at rest at the measured pose under a wrench (6,) [N]."""
        motion, pose = np.zeros((1, MOTION_SIZE)), self.pose
        motion[0, :3], motion[0, 3:7], motion[0, 19:25] = pose.position, pose.quaternion, wrench
        given = self._settings[self._number].value if settings is None else settings
        return np.asarray(self._forces(given, motion)[0])

    def overload(self) -> str:
        """See :class:`PlatformCommands`: at rest at the measured pose."""
        forces = self._resting_forces(NO_WRENCH, self.core_settings().value)
        return declared.overload(self.platform.machine.leg_names, forces, self.effort_limits)

    def model_forces(
        self, positions: Array, quaternions: Array, rotations: Array, twists: Array, accelerations: Array
    ) -> Array:
        """Forces of references, see ``envelope.Forces``; with the present wrench and disturbance."""
        motions = np.empty((len(positions), MOTION_SIZE))
        motions[:, 0:3], motions[:, 3:7], motions[:, 7:13] = positions, quaternions, twists
        motions[:, 13:19] = accelerations + self.pose.disturbance
        motions[:, 19:25] = self.wrench
        return self._forces(self._settings[self._number].value, motions)

    # Operation

    @property
    def machine_description(self) -> Machine:
        """See :class:`PlatformCommands`."""
        return self.platform.machine

    @property
    def present(self) -> GovernedReference:
        """See :class:`PlatformCommands`."""
        switch_time = self._governing.switch_time
        return GovernedReference.of(switch_time, self.reference(switch_time))

    def take_up(self, motion: GovernedMotion) -> None:
        """See :class:`PlatformCommands`."""
        try:
            self._governing.begin(motion)
        except TrajectoryError:  # holds, jumps or losses come faster than it can be handed over
            self.halt()
        self.offer_brakes()

    def drop_motion(self) -> None:
        """See :class:`PlatformCommands`."""
        self._governing.drop()

    # The cycle

    def update(self, time: float, position: Array, velocity: Array) -> Command:
        """Compute the command for a state of the legs, where no other thread runs the cycle.

        Args:
            time: stamp of the state [s].
            position: (6,) joint positions, lengths less ``zero_lengths``, in the machine's order [m].
            velocity: (6,) rates of the lengths [m/s].

        Returns:
            Forces (6,) [N], positive when a leg pushes, with the reference that they follow.

        Raises:
            StateError: no pose near the last one has these lengths, or the model has no finite forces there.
            SingularityError: the pose is singular, or far too near to a singular one.
        """
        self.before_state(time)
        command = super().update(time, position, velocity)
        self.after_state()
        return command

    def conduct(self) -> float:
        """Lead governed motions and change modes and brakes, where another thread runs the cycle.

        Returns how long the next call may wait [s].
        """
        self._lead(None)
        self.after_state()
        return self._governing.step if self.modes.active else math.inf

    def _lead(self, time: float | None) -> None:
        if self._governing.lost():
            self._governing.drop()
            self.modes.release()
        self._governing.go_on(time)

    def before_state(self, time: float) -> None:
        """See :class:`CoreController`: lead governed motions."""
        self._lead(time)

    def after_state(self) -> None:
        """See :class:`CoreController`: change modes and brakes at the core's present time."""
        now = self._snapshot.read()
        if now.trip.latched and PHASES[now.phase].controls:
            self._bar("a protective stop has")
            self._governing.drop()
            self.modes.protect(now.time, float(np.abs(self.pose.twist).max()), STANDING_STILL)
        if PHASES[now.phase].controls:
            if now.beyond != self._beyond and self.modes.mode is OperatingMode.OPERATIONAL:
                here = self.present
                if not self._parameters.sends_setpoints:
                    here = GovernedReference.measured(here.time, self.pose)
                self.take_up(self.modes.settle(now.time, here))
            if self.modes.changes(now.time):
                rests = now.rests <= now.time and not (
                    now.current or now.waiting[0] or self._plans.waiting(now)
                )
                motion = self.modes.next_motion(now.time, self.present, rests)
                if motion is not None:
                    self.take_up(motion)
                else:
                    self._governing.drop()
        self._beyond = now.beyond
        if self.modes.stands_on_brakes and PHASES[now.phase].controls:  # from the first state on
            self.modes.brakes.watch(now.time, self._snapshot.position, SLIP)
        self.offer_brakes()

    def offer_brakes(self) -> None:
        """See :class:`PlatformCommands`."""
        wanted = self.modes.brake_fields
        if wanted != self._brakes:
            self._brakes = wanted
            self.offer_settings(model=False, law=False)
