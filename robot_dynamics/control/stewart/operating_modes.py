"""Operating modes of a platform: who may move it, how it comes to rest, and its brakes.

| mode | what moves the platform | next mode |
|---|---|---|
| operational | trajectories, streams, holds | settling, stopping |
| settling | the descent to the park pose | parked; stranded, where no way leads on; operational by a hold |
| stopping | the core's stop, along the path or, after a jump or a loss of states, straight on | stopped |
| protecting | the core's protective stop, whatever was active before | protected |
| parked, stopped, stranded, protected | nothing: brakes hold and the forces fade | rising, by un-park |
| rising | forces come back, brakes let go; from the park pose the way home | operational |
"""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from robot_dynamics.control.brakes import Brakes, BrakeTiming
from robot_dynamics.control.stewart.envelope import Forces, Pace, ReferenceEnvelope, rotated
from robot_dynamics.control.stewart.governed_motion import GovernedMotion, GovernorGoal, PoseGoal, StreamGoal
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.reference_governor import GovernedReference, PoseTarget, ReferenceGovernor
from robot_dynamics.control.stewart.segments import segments_along
from robot_dynamics.control.stewart.stream import PoseFilter
from robot_dynamics.control.stewart.trajectory import PoseTrajectory
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import rotation_from_roll_pitch_yaw
from robot_dynamics.stewart.platform import StewartPlatform

FULL_ACCELERATION = 0.05
"""Time in which a stream without a declared jerk reaches the maximum acceleration [s]."""
STREAM_QUICKNESS = 0.02
"""Time constant of the approach to a stream's twist [s]."""
STREAM_RAMP = 0.005
"""Time in which the acceleration of a stream's reference changes, which keeps forces from stepping [s]."""
PROTECTING_PATIENCE = 1.0
"""Time after which the brakes engage in a protective stop, whether the platform stands or not [s]."""
RUNNING_ON = (1.5, 0.05)
"""Multiple of the least speed since a stop began, and addition [m/s, rad/s]: faster, nothing brakes it."""
DESCENT_PARAMETERS = (
    "park_pose",
    "blind_speed",
    "max_acceleration",
    "max_angular_acceleration",
    "governed_share",
    "safe_output",
)
"""Parameters on which the open-loop descent depends."""
DESCENT_STEP = (0.005, 0.1)
"""Least and greatest step of the governor along it; the shorter, the shorter is its end [s]."""
DESCENT_STEPS = 600
"""Number of steps, as far as the least and the greatest one allow it."""
DESCENT_PATIENCE = (3.0, 2.0)
"""A descent that takes longer than this multiple of its shortest time, and this addition [s], ends early."""
KEPT_DESCENTS = 4
"""Descents of new controllers that are kept of one platform."""
_kept_descents: WeakKeyDictionary[StewartPlatform, dict[Hashable, PoseTrajectory]] = WeakKeyDictionary()


class OperatingMode(enum.Enum):
    """Right to move the platform."""

    OPERATIONAL = "operational"
    SETTLING = "settling down to the park pose"
    PARKED = "parked"
    STRANDED = "stopped where no way leads to the park pose within the limits"
    STOPPING = "emergency stop: stopping"
    STOPPED = "stopped: on its brakes until ~/unpark"
    RISING = "leaving the brakes"
    PROTECTING = "protective stop: stopping"
    PROTECTED = "protective stop: brakes engaged until ~/reset_fault and ~/unpark"


RESTING = {
    StopState.PARKED: OperatingMode.PARKED,
    StopState.STRANDED: OperatingMode.STRANDED,
    StopState.STOPPED: OperatingMode.STOPPED,
    StopState.PROTECTED: OperatingMode.PROTECTED,
}
"""Modes in which the platform is left to brakes or stops, by what is remembered of them."""
_STOP_STATES = {mode: state for state, mode in RESTING.items()} | {
    OperatingMode.OPERATIONAL: StopState.RELEASED,
    OperatingMode.SETTLING: StopState.PARKED,
    OperatingMode.STOPPING: StopState.STOPPED,
    OperatingMode.PROTECTING: StopState.PROTECTED,
}


class OperatingModes:
    """Modes, brakes and governed motions of one platform; its time is that of the calls.

    Args:
        machine: the platform.
        forces: the model for references.
        parameters: of the controller; replaceable through :meth:`use`.

    Attributes:
        mode: who may move the platform.
        motion: the active governed motion; None when there is none.
        brakes: with the forces' share.
    """

    def __init__(self, machine: Machine, forces: Forces, parameters: StewartParameters) -> None:
        self._machine, self._forces = machine, forces
        self._envelope = ReferenceEnvelope(machine, forces)
        self._park: PoseTarget | None = None
        self.motion: GovernedMotion | None = None
        self.mode = OperatingMode.PARKED if parameters.start_parked else OperatingMode.OPERATIONAL
        self._home_next = parameters.start_parked
        self.brakes = Brakes(_timing(parameters), parked=parameters.start_parked)
        self._parameters = parameters
        self._protected, self._least = -math.inf, 0.0
        self._parks = True
        self._rejoins = False

    def use(self, parameters: StewartParameters) -> None:
        """Use other parameters from now on; an active motion keeps its pace."""
        if parameters.park_pose != self._parameters.park_pose:
            self._park = None
        self._parameters = parameters
        self.brakes.timing = _timing(parameters)

    @property
    def resting(self) -> bool:
        """True where the platform is left to brakes or stops."""
        return self.mode in RESTING.values()

    @property
    def stands_on_brakes(self) -> bool:
        """True where brakes alone keep the platform up; parked, it may rest on its stops."""
        return self.resting and self.mode is not OperatingMode.PARKED

    @property
    def brake_fields(self) -> tuple[bool, int, float, float]:
        """Watch and brakes as the core's settings have them: see ``Brakes.share``."""
        return self.mode is OperatingMode.OPERATIONAL, *self.brakes.fields()

    @property
    def active(self) -> bool:
        """True while a motion or a change of the mode is to be led."""
        return self.motion is not None or self.mode in (OperatingMode.RISING, OperatingMode.STOPPING)

    @property
    def rejoins(self) -> bool:
        """True while the platform settles because a stream has ended, which may come back."""
        return self._rejoins and self.mode is OperatingMode.SETTLING

    @property
    def stop_state(self) -> StopState | None:
        """State that the next controller of this platform must know.

        None while the platform leaves its brakes: what was remembered before still counts then.
        """
        if self.mode is OperatingMode.SETTLING and not self._parks:
            return StopState.RELEASED
        return _STOP_STATES.get(self.mode)

    def rest(self, state: StopState) -> None:
        """Begin on engaged brakes, without forces, until :meth:`rise`."""
        self.mode, self.motion = RESTING[state], None
        self.brakes = Brakes(self.brakes.timing, True, self.brakes.reported)

    @property
    def pace(self) -> Pace:
        """Pace of stops."""
        return self._pace(np.inf)

    # Motions

    def settle(self, time: float, start: GovernedReference) -> GovernedMotion:
        """Go down to the park pose."""
        self.mode = OperatingMode.SETTLING
        self._parks, self._rejoins = True, False
        return self._lead(time, start, PoseGoal(self.park_pose), self._parameters.settle_speed)

    def emergency_stop(self) -> None:
        """Brake when the core's stop has come to rest."""
        self.mode, self.motion = OperatingMode.STOPPING, None

    def stream(self, time: float, start: GovernedReference, poses: PoseFilter) -> GovernedMotion:
        """Follow poses that come one by one; they are joined slowly."""
        parameters, home = self._parameters, self._machine
        self.mode, self._rejoins = OperatingMode.OPERATIONAL, False
        jacobian = leg_geometry(home, home.home_position, home.home_rotation).jacobian
        motion = self._lead(time, start, StreamGoal(poses, parameters.settle_speed, jacobian))
        governor = motion.governor
        governor.confined, governor.quickness, governor.ramp = True, STREAM_QUICKNESS, STREAM_RAMP
        usual = parameters.max_acceleration / FULL_ACCELERATION
        jerk = parameters.stream_jerk or usual
        parts = np.repeat([1.0, governor.pace.angular_acceleration / governor.pace.acceleration], 3)
        governor.jerk, governor.stop_jerk = jerk * parts, max(jerk, usual) * parts
        return motion

    def deviation(self) -> tuple[float, float, str] | None:
        """Largest deviation of a stream's reference since the last call [m, rad], and the limit behind it.

        None where no stream is followed, or the platform is on its way to one.
        """
        motion = self.motion
        if motion is None or not isinstance(motion.goal, StreamGoal):
            return None
        found, motion.governor.farthest = motion.governor.farthest, None
        if found is None or not motion.goal.joined:
            return None
        linear, angular, asked = found
        return linear, angular, cause_of_deviation(motion.governor, asked)

    def reachable(self, position: Array, rotation: Array) -> bool:
        """Check whether the platform can rest at a pose within the limits of references."""
        return self._envelope.reachable(position, rotation, self.pace, levels=1)[0] is position

    def rise(self, time: float) -> None:
        """Let the forces come back and release the brakes; from the park pose, go home then."""
        self._home_next = self.mode is OperatingMode.PARKED
        self.mode = OperatingMode.RISING
        self.brakes.release(time)

    def _lead(
        self, time: float, start: GovernedReference, goal: GovernorGoal, leg_speed: float = np.inf
    ) -> GovernedMotion:
        """Begin a governed motion at a reference."""
        self.motion = self._motion(self._envelope, start.at(time), goal, leg_speed)
        return self.motion

    def _motion(
        self,
        envelope: ReferenceEnvelope,
        start: GovernedReference,
        goal: GovernorGoal,
        leg_speed: float,
    ) -> GovernedMotion:
        envelope.widen(start.position, start.rotation)
        return GovernedMotion(ReferenceGovernor(self._machine, envelope, self._pace(leg_speed), start), goal)

    # Changes of the mode

    def changes(self, time: float) -> bool:
        """Check whether :meth:`next_motion` is due at ``time`` [s]; to be called in every cycle."""
        self.brakes.advance(time)
        if self.motion is None:
            return self.active
        return self.mode is OperatingMode.RISING or self.motion.end <= time

    def next_motion(self, time: float, start: GovernedReference, rests: bool) -> GovernedMotion | None:
        """Change the mode.

        Args:
            time: [s].
            start: reference of now.
            rests: whether the core follows nothing, and has come to rest.

        Returns:
            The motion that follows from ``start``, if any.
        """
        if self.mode is OperatingMode.RISING and self.brakes.free(time):
            self.mode = OperatingMode.OPERATIONAL
            self.brakes.forget()
            home = PoseGoal(PoseTarget.rest(self._machine.home_position, self._machine.home_rotation))
            return self._lead(time, start, home, self._parameters.settle_speed) if self._home_next else None
        if self.motion is None:
            if self.mode is OperatingMode.STOPPING and rests:
                self.mode = OperatingMode.STOPPED
                self.brakes.engage(time)
            return None
        if self.motion.end > time:
            return None
        ended, self.motion = self.motion, None
        if isinstance(ended.goal, StreamGoal):
            return self._end_stream(time, start)
        if self.mode is OperatingMode.SETTLING and not self._parks and not ended.governor.stuck:
            self.mode = OperatingMode.OPERATIONAL
        elif self.mode is OperatingMode.SETTLING:
            self.mode = OperatingMode.STRANDED if ended.governor.stuck else OperatingMode.PARKED
            self.brakes.engage(time)
        return None

    def _end_stream(self, time: float, start: GovernedReference) -> GovernedMotion | None:
        """Motion that follows a stream which has ended, if any."""
        reaction = self._parameters.on_stream_end
        if reaction == "hold":
            return None
        motion = self.settle(time, start)
        self._parks, self._rejoins = reaction == "park", True
        return motion

    def protect(self, time: float, speed: float, standing: float) -> None:
        """Leave the platform to the core's protective stop; brake it when it stands.

        Brake it after a while too, and at once where it gets faster: with a leg lost no feedback stops it.

        Args:
            time: [s].
            speed: largest part of the twist [m/s or rad/s].
            standing: below, the platform stands [m/s or rad/s].
        """
        if self.resting:
            return
        if self.mode is not OperatingMode.PROTECTING:
            self.mode, self.motion, self._protected, self._least = OperatingMode.PROTECTING, None, time, speed
        self._least = min(self._least, speed)
        runs_on = speed > RUNNING_ON[0] * self._least + RUNNING_ON[1]
        if speed < standing or runs_on or time - self._protected > PROTECTING_PATIENCE:
            self.mode = OperatingMode.PROTECTED
            self.brakes.engage(time)

    def end_protection(self, time: float) -> None:
        """Leave the platform on its brakes as after an emergency stop."""
        if self.mode in (OperatingMode.PROTECTED, OperatingMode.PROTECTING):
            self.brakes.engage(time)
            self.mode = OperatingMode.STOPPED

    def release(self) -> None:
        """Drop the governed motion, and settling with it, because of a hold."""
        self.motion = None
        if self.mode is OperatingMode.SETTLING:
            self.mode = OperatingMode.OPERATIONAL

    # The park pose

    @property
    def park_pose(self) -> PoseTarget:
        """Park pose as declared; else straight down from home until a limit is met."""
        if self._park is None:
            self._park = self._find_park_pose()
        return self._park

    def _find_park_pose(self) -> PoseTarget:
        declared, machine = self._parameters.park_pose, self._machine
        if declared:
            pose = (np.array(declared[:3]), rotation_from_roll_pitch_yaw(np.array(declared[3:])))
            return PoseTarget.rest(*pose)
        gravity = machine.gravity / max(float(np.linalg.norm(machine.gravity)), 1e-12)
        deep = machine.home_position + gravity * float(np.linalg.norm(machine.home_position))
        envelope = ReferenceEnvelope(machine, self._forces)
        envelope.widen(machine.home_position, machine.home_rotation)
        return PoseTarget.rest(*envelope.reachable(deep, machine.home_rotation, self.pace, levels=5))

    def open_loop_descent(self) -> PoseTrajectory:
        """Plan the descent from home, at time 0 and at rest, to the park pose at ``blind_speed``."""
        machine, park, rest = self._machine, self.park_pose, np.zeros(6)
        home = GovernedReference(0.0, machine.home_position, machine.home_rotation, rest, rest)
        speed = self._parameters.blind_speed
        motion = self._motion(ReferenceEnvelope(machine, self._forces), home, PoseGoal(park), speed)
        lengths = [leg_geometry(machine, place.position, place.rotation).lengths for place in (home, park)]
        strokes = np.array([leg.limits.longest - leg.limits.shortest for leg in machine.legs])
        ways = np.minimum(np.abs(lengths[1] - lengths[0]), strokes)  # a park pose may be out of reach
        shortest = float((ways / np.minimum(self.pace.leg_speed, speed)).max())
        step = min(max(DESCENT_STEP[0], shortest / DESCENT_STEPS), DESCENT_STEP[1])
        references, time = [], 0.0
        while motion.end > time and time < DESCENT_PATIENCE[0] * shortest + DESCENT_PATIENCE[1]:
            references.append(motion.governor.reference)
            time += step
            motion.advance(time)
        last = motion.governor.reference
        return segments_along(
            [*references, GovernedReference(time, last.position, last.rotation, rest, rest)]
        )

    def kept_descent(self, platform: StewartPlatform, settings: Hashable | None) -> PoseTrajectory:
        """Open-loop descent; that of a new controller is kept for the next ones of the same platform.

        A node makes a controller when it is configured and another one when it is activated. The search for
        the descent takes most of the time of both.

        Args:
            platform: under control.
            settings: all on which the descent of a new controller depends beside the platform and the park
                pose; None where it has a payload, a wrench or a disturbance, too.
        """
        if settings is None:
            return self.open_loop_descent()
        park = self.park_pose  # each controller finds its own, whether the descent is known or not
        key = (settings, park.position.tobytes(), park.rotation.tobytes())
        kept = _kept_descents.setdefault(platform, {})
        if key not in kept:
            kept[key] = self.open_loop_descent()
            if len(kept) > KEPT_DESCENTS:
                del kept[next(iter(kept))]
        return kept[key]

    def _pace(self, leg_speed: float) -> Pace:
        parameters = self._parameters
        speeds = np.array([leg.limits.speed for leg in self._machine.legs])
        speeds = np.minimum(parameters.governed_share * speeds, 1e3)
        return Pace(
            parameters.max_acceleration,
            parameters.max_angular_acceleration
            or parameters.max_acceleration / self._machine.characteristic_length,
            np.minimum(speeds, leg_speed),
            parameters.governed_share,
        )


def cause_of_deviation(governor: ReferenceGovernor, asked: Sequence[PoseTarget]) -> str:
    """Limit behind a deviation from a target: its own, that of one before it, or that of a stop from it.

    Args:
        governor: of the references.
        asked: the target, and earlier ones, the newest first.
    """
    envelope, pace, target = governor.envelope, governor.pace, asked[0]
    for one in asked:
        if found := envelope.cause((one.position, one.rotation, one.twist, one.acceleration), pace):
            return found
    way, rest = 0.5 * float(pace.stop_time(target.twist)) * target.twist, np.zeros(6)
    end = (target.position + way[:3], rotated(target.rotation, way[3:]), rest, rest)
    found = envelope.cause(end, pace)
    return f"room for a stop before the {found}" if found else "stream_jerk, or a pose that was late"


def _timing(parameters: StewartParameters) -> BrakeTiming:
    return BrakeTiming(parameters.brake_engage_time, parameters.brake_release_time, parameters.safe_fade_time)
