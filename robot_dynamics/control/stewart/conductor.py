"""Who may move a platform, and how it comes to rest: operation, stops, settling, brakes.

| mode | what moves the platform | leaves to |
|---|---|---|
| operational | trajectories, streams, holds | settling, stopping |
| settling | the way down to the park pose | parked; stranded, where no way leads on; operational by a hold |
| stopping | the governor's stop, taken up again after a jump or a loss of states | stopped |
| parked, stopped, stranded | nothing: the brakes are engaged and the forces fade | rising, by un-park |
| rising | forces come back, brakes let go; from the park pose the way home | operational |
"""

from __future__ import annotations

import enum

import numpy as np

from robot_dynamics.control.stewart.brakes import Brakes, BrakeTiming
from robot_dynamics.control.stewart.envelope import Envelope, Forces, Pace
from robot_dynamics.control.stewart.governed import Following, Goal, GovernedMotion, Place, Standstill
from robot_dynamics.control.stewart.governor import Governor, Reference, Target
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.stream import PoseStream
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import rotation_from_roll_pitch_yaw


class Mode(enum.Enum):
    """Who may move the platform."""

    OPERATIONAL = "operational"
    SETTLING = "settling down to the park pose"
    PARKED = "parked"
    STRANDED = "stopped where no way leads to the park pose within the limits"
    STOPPING = "emergency stop: stopping"
    STOPPED = "stopped by an emergency stop"
    RISING = "leaving the brakes"


_STOP_STATES = {
    Mode.OPERATIONAL: StopState.RELEASED,
    Mode.SETTLING: StopState.PARKED,
    Mode.PARKED: StopState.PARKED,
    Mode.STRANDED: StopState.STRANDED,
    Mode.STOPPING: StopState.STOPPED,
    Mode.STOPPED: StopState.STOPPED,
}
_MODES_AT_REST = {
    StopState.PARKED: Mode.PARKED,
    StopState.STRANDED: Mode.STRANDED,
    StopState.STOPPED: Mode.STOPPED,
}


class Conductor:
    """Modes, brakes and governed motions of one platform; knows no clock but the times that it is told.

    Args:
        machine: the platform.
        forces: the model for references.
        parameters: of the controller; replaceable through :meth:`use`.

    Attributes:
        mode: who may move the platform.
        motion: the governed motion in force; None when there is none.
        brakes: and the forces' share.
    """

    def __init__(self, machine: Machine, forces: Forces, parameters: StewartParameters) -> None:
        self._machine = machine
        self._envelope = Envelope(machine, forces)
        self._park: Target | None = None
        self.motion: GovernedMotion | None = None
        self.mode = Mode.PARKED if parameters.start_parked else Mode.OPERATIONAL
        self._home_next = parameters.start_parked
        self.brakes = Brakes(_timing(parameters), parked=parameters.start_parked)
        self._parameters = parameters

    def use(self, parameters: StewartParameters) -> None:
        """Other parameters from now on; a motion under way goes on with its pace."""
        if parameters.park_pose != self._parameters.park_pose:
            self._park = None
        self._parameters = parameters
        self.brakes.timing = _timing(parameters)

    @property
    def stream_timeout(self) -> float:
        """A stream pauses when no pose comes for so long [s]."""
        return self._parameters.stream_timeout

    @property
    def resting(self) -> bool:
        """Whether the platform is left to brakes or stops."""
        return self.mode in (Mode.PARKED, Mode.STRANDED, Mode.STOPPED)

    @property
    def stop_state(self) -> StopState | None:
        """What the next controller of this platform must know; None while the platform leaves its brakes,
        when it must still know what was before."""
        return _STOP_STATES.get(self.mode)

    def rest(self, state: StopState) -> None:
        """Begin on engaged brakes, without forces, until :meth:`rise`."""
        self.mode, self.motion = _MODES_AT_REST[state], None
        self.brakes = Brakes(self.brakes.timing, parked=True)

    @property
    def pace(self) -> Pace:
        """Of stops."""
        return self._pace(np.inf)

    # Ways

    def lead(self, time: float, start: Reference, goal: Goal, leg_speed: float = np.inf) -> GovernedMotion:
        """A governed motion from a reference on."""
        self._envelope.widen(start.position, start.rotation)
        governor = Governor(self._machine, self._envelope, self._pace(leg_speed), start.at(time))
        self.motion = GovernedMotion(governor, goal)
        return self.motion

    def stop(self, time: float, start: Reference) -> GovernedMotion:
        """Stop on the spot."""
        return self.lead(time, start, Standstill())

    def settle(self, time: float, start: Reference) -> GovernedMotion:
        """Go down to the park pose."""
        self.mode = Mode.SETTLING
        return self.lead(time, start, Place(self.park_pose), self._parameters.settle_speed)

    def emergency_stop(self, time: float, start: Reference) -> GovernedMotion:
        """Stop, and brake when the platform stands."""
        self.mode = Mode.STOPPING
        return self.lead(time, start, Standstill())

    def stream(self, time: float, start: Reference) -> PoseStream:
        """Follow poses that come one by one."""
        poses = PoseStream(self._parameters.stream_timeout)
        motion = self.lead(time, start, Standstill())
        motion.goal, motion.governor.confined = Following(poses), True
        return poses

    def rise(self, time: float) -> None:
        """Forces back, brakes off, and what comes then."""
        self._home_next = self.mode is Mode.PARKED
        self.mode = Mode.RISING
        self.brakes.release(time)

    def home(self, time: float, start: Reference) -> GovernedMotion:
        """Go home, as slowly as down."""
        home = Target.rest(self._machine.home_position, self._machine.home_rotation)
        return self.lead(time, start, Place(home), self._parameters.settle_speed)

    def blind(self, time: float, start: Reference) -> GovernedMotion:
        """The way to the park pose for a platform of which nothing is known any more; no motion in force."""
        before, mode = self.motion, self.mode
        blind = self.lead(time, start, Place(self.park_pose), self._parameters.blind_speed)
        self.motion, self.mode = before, mode
        return blind

    # Their ends

    def changes(self, time: float) -> bool:
        """Whether :meth:`next_motion` has something to do at ``time`` [s], which is told in every cycle."""
        self.brakes.tell(time)
        if self.motion is None:
            return self.mode in (Mode.RISING, Mode.STOPPING)
        return self.mode is Mode.RISING or self.motion.end <= time

    def next_motion(self, time: float, start: Reference) -> GovernedMotion | None:
        """What follows by itself at ``time`` [s], from the reference ``start``; None: nothing."""
        if self.mode is Mode.RISING and self.brakes.free(time):
            self.mode = Mode.OPERATIONAL
            self.brakes.forget()
            return self.home(time, start) if self._home_next else None
        if self.motion is None:
            # A jump or a loss of states has come between: an emergency stop is still to be done.
            return self.emergency_stop(time, start) if self.mode is Mode.STOPPING else None
        if self.motion.end > time:
            return None
        ended, self.motion = self.motion, None
        if isinstance(ended.goal, Following):
            return self.settle(time, start)
        if self.mode is Mode.SETTLING:
            self.mode = Mode.STRANDED if ended.governor.stuck else Mode.PARKED
            self.brakes.engage(time)
        elif self.mode is Mode.STOPPING:
            self.mode = Mode.STOPPED
            self.brakes.engage(time)
        return None

    def release(self) -> None:
        """A hold: what is governed is dropped, and a settling with it."""
        self.motion = None
        if self.mode is Mode.SETTLING:
            self.mode = Mode.OPERATIONAL

    @property
    def park_pose(self) -> Target:
        """As declared; else straight down from home until a limit is met."""
        if self._park is None:
            self._park = self._find_park_pose()
        return self._park

    def _find_park_pose(self) -> Target:
        declared = self._parameters.park_pose
        pace, machine = self._pace(np.inf), self._machine
        if declared:
            pose = (np.array(declared[:3]), rotation_from_roll_pitch_yaw(np.array(declared[3:])))
            return Target.rest(*pose)
        gravity = machine.gravity / max(float(np.linalg.norm(machine.gravity)), 1e-12)
        deep = machine.home_position + gravity * float(np.linalg.norm(machine.home_position))
        self._envelope.widen(machine.home_position, machine.home_rotation)
        return Target.rest(*self._envelope.reachable(deep, machine.home_rotation, pace, levels=5))

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


def _timing(parameters: StewartParameters) -> BrakeTiming:
    return BrakeTiming(parameters.brake_engage_time, parameters.brake_release_time, parameters.safe_fade_time)
