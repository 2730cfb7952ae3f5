"""What may be asked of a platform beside trajectories: streams, stops, parking; whoever runs its cycle."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.conductor import Conductor, Mode
from robot_dynamics.control.stewart.governed import Following, GovernedMotion
from robot_dynamics.control.stewart.governor import Reference
from robot_dynamics.control.stewart.stream import PoseStream, Sample, check_stamp
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.inputs.arrays import of_type

STANDING = 1e-3
"""A reference that is slower needs no way to stop [m/s, rad/s]."""


class Follower(Protocol):
    """What follows the motions: the state machine of a controller."""

    @property
    def time(self) -> float:
        """Of the last joint state [s]."""

    @property
    def phase(self) -> Phase:
        """What it is doing."""

    @property
    def present(self) -> Reference:
        """Where and when a governed motion may begin."""

    def capture(self) -> None:
        """Hold where the platform is."""

    def take_up(self, motion: GovernedMotion | None) -> None:
        """Follow a governed motion, if there is one, from its start on, whatever the mode."""


class Operator:
    """Turns what is asked into motions of a conductor.

    Args:
        follower: follows them.
        conductor: of the platform.

    Attributes:
        conductor: see there.
    """

    def __init__(self, follower: Follower, conductor: Conductor) -> None:
        self._follower, self.conductor = follower, conductor
        self._stream: PoseStream | None = None
        self._stopped_stream = -np.inf

    @property
    def state(self) -> str:
        """Mode and phase in words."""
        mode = self.conductor.mode
        return self._follower.phase.value if mode is Mode.OPERATIONAL else mode.value

    @property
    def brake(self) -> bool:
        """The command to the brakes: also while no states come, or none yet."""
        return self.conductor.brakes.engaged(self._follower.time) or not self._follower.phase.controls

    @property
    def unready(self) -> str:
        """Why no trajectory may move the platform now; empty where one may."""
        if self.conductor.mode is Mode.OPERATIONAL:
            return ""
        conductor = self.conductor
        remedy = "; call ~/unpark" if conductor.resting or conductor.mode is Mode.STOPPING else ""
        return f"the platform is not ready for a trajectory: {self.state}{remedy}"

    def check_ready(self) -> None:
        """TrajectoryError where no trajectory may move the platform now."""
        if reason := self.unready:
            raise TrajectoryError(reason)

    def command_pose(self, sample: Sample) -> None:
        """Take a pose of a stream; the first begins to follow it, in place of everything else.

        Args:
            sample: the pose.

        Raises:
            TrajectoryError: the platform is not ready for it, its stamp is of another clock, or a hold has
                ended the stream and it has not paused since.
        """
        of_type("sample", sample, Sample)
        stream, motion = self._stream, self.conductor.motion
        begins = stream is None or motion is None or stream is not _stream_of(motion)
        if begins:
            self.check_ready()
            if not self._follower.phase.controls:
                raise TrajectoryError(
                    f"the controller is not ready for a trajectory: {self._follower.phase.value}"
                )
        time = self._follower.time
        check_stamp(sample.time, time, self.conductor.stream_timeout)
        if stream is None or begins:
            if sample.time - self._stopped_stream < self.conductor.stream_timeout:
                self._stopped_stream = sample.time
                raise TrajectoryError("a hold has ended this stream; let it pause to begin another")
            present = self._follower.present
            self._stream = stream = self.conductor.stream(present.time, present)
            stream.add(sample, time)
            self._follower.take_up(self.conductor.motion)
        else:
            stream.add(sample, time)

    def hold(self) -> None:
        """Stop within the pace of governed motions and hold there; what rests on brakes stays there."""
        conductor = self.conductor
        if not self._follower.phase.controls or conductor.resting or conductor.mode is Mode.STOPPING:
            return
        if self._stream is not None and conductor.motion is not None:
            self._stopped_stream = self._follower.time
        conductor.release()
        present = self._follower.present
        if np.abs(present.twist).max() > STANDING:
            self._follower.take_up(conductor.stop(present.time, present))
        else:
            self._follower.capture()

    def park(self) -> str:
        """Settle down to the park pose; why not, if so."""
        if not self._follower.phase.controls or self.conductor.mode is not Mode.OPERATIONAL:
            return f"the platform is not ready for it: {self.state}"
        present = self._follower.present
        self._follower.take_up(self.conductor.settle(present.time, present))
        return ""

    def unpark(self) -> str:
        """Leave the brakes, and from the park pose go home; why not, if so."""
        if not self.conductor.resting:
            return f"the platform is neither parked nor stopped: {self.state}"
        if not self._follower.phase.controls:
            return f"the controller is not ready to carry the platform: {self._follower.phase.value}"
        self._follower.capture()
        self.conductor.rise(self._follower.time)
        return ""

    def emergency_stop(self) -> str:
        """Stop and brake, without states as soon as they are back; empty, for nothing hinders it."""
        if self.conductor.resting:
            return ""
        if self._follower.phase is Phase.WAITING:
            self.conductor.rest(StopState.STOPPED)
        elif not self._follower.phase.controls:
            self.conductor.mode = Mode.STOPPING
        else:
            present = self._follower.present
            self._follower.take_up(self.conductor.emergency_stop(present.time, present))
        return ""


class Operated:
    """What a controller of a platform offers beside trajectories, as its operator does it."""

    _operator: Operator

    @property
    def conductor(self) -> Conductor:
        """Mode and brakes."""
        return self._operator.conductor

    @property
    def brake(self) -> bool:
        """The command to the brakes: also while no states come, or none yet."""
        return self._operator.brake

    @property
    def state(self) -> str:
        """Mode and phase in words."""
        return self._operator.state

    def command_pose(self, sample: Sample) -> None:
        """Take a pose of a stream; see :meth:`Operator.command_pose`."""
        self._operator.command_pose(sample)

    def hold(self) -> None:
        """Stop within the pace of governed motions and hold there; see :meth:`Operator.hold`."""
        self._operator.hold()

    def park(self) -> str:
        """Settle down to the park pose; why not, if so."""
        return self._operator.park()

    def unpark(self) -> str:
        """Leave the brakes, and from the park pose go home; why not, if so."""
        return self._operator.unpark()

    def emergency_stop(self) -> str:
        """Stop and brake; why not, if so."""
        return self._operator.emergency_stop()

    def begin_at_rest(self, state: StopState) -> None:
        """Begin as an earlier controller was left: brakes engaged and no forces until :meth:`unpark`."""
        self.conductor.rest(state)


def _stream_of(motion: GovernedMotion) -> PoseStream | None:
    return motion.goal.stream if isinstance(motion.goal, Following) else None
