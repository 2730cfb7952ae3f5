"""Commands of a platform beside trajectories: streams of poses, holds, parking, emergency stops."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.protocol import LATCHED, Departure, Phase, Planned
from robot_dynamics.control.stewart.governed_motion import GovernedMotion, StreamGoal
from robot_dynamics.control.stewart.operating_modes import OperatingMode, OperatingModes
from robot_dynamics.control.stewart.reference_governor import GovernedReference
from robot_dynamics.control.stewart.stream import PoseSample, StreamInterpolator, check_stamp
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.inputs.arrays import of_type
from robot_dynamics.stewart import Motion


class PlatformCommands(CoreController[Motion]):
    """Commands of a platform's controller, turned into changes of its operating mode and governed motions.

    Args:
        modes: of the platform.
        core: arguments of :class:`CoreController`.

    Attributes:
        modes: operating mode, governed motion and brakes.
    """

    def __init__(self, modes: OperatingModes, *core: Any) -> None:
        self.modes = modes
        self._stream: StreamInterpolator | None = None
        self._stopped_stream = -np.inf
        super().__init__(*core)

    @property
    def conductor(self) -> OperatingModes:
        """Another name of :attr:`modes`."""
        return self.modes

    # What the controller adds

    @property
    def present(self) -> GovernedReference:
        """Reference at which a motion that is handed over now may begin."""
        raise NotImplementedError

    def take_up(self, motion: GovernedMotion) -> None:
        """Follow a governed motion from its start on, in any operating mode."""
        raise NotImplementedError

    def offer_brakes(self) -> None:
        """Let the core follow the brakes' command and the operating mode."""
        raise NotImplementedError

    def drop_motion(self) -> None:
        """Lead along no governed motion any more."""
        raise NotImplementedError

    def halt(self) -> None:
        """Drop what is followed and slow down along its path."""
        self.modes.release()
        self.drop_motion()
        CoreController.hold(self)

    # State

    @property
    def state(self) -> str:
        """Mode and phase in words."""
        mode = self.modes.mode
        return self.phase.value if mode is OperatingMode.OPERATIONAL else mode.value

    @property
    def brake(self) -> bool:
        """The command to the brakes; True also while no states come, or none yet."""
        return self.modes.brakes.engaged(self.time) or not self.phase.controls

    @property
    def unready(self) -> str:
        """Reason why no trajectory may move the platform now; empty where one may."""
        modes = self.modes
        if modes.mode is OperatingMode.OPERATIONAL:
            return ""
        if modes.mode in (OperatingMode.PROTECTING, OperatingMode.PROTECTED):
            return LATCHED
        remedy = "; call ~/unpark" if modes.resting or modes.mode is OperatingMode.STOPPING else ""
        return f"the platform is not ready for a trajectory: {self.state}{remedy}"

    def _check_ready(self) -> None:
        if reason := self.unready:
            raise TrajectoryError(reason)

    # Commands

    def departure(self, start: float | None, allowance: float = 0.0) -> Departure[Motion]:
        """See :class:`CoreController`; only in operation.

        Raises:
            TrajectoryError: the platform is not in operation, or is not controlled.
        """
        self._check_ready()
        return super().departure(start, allowance)

    def accept(self, planned: Planned[Motion]) -> str:
        """See :class:`CoreController`; only in operation."""
        return self.unready or super().accept(planned)

    def command_pose(self, sample: PoseSample) -> None:
        """Take a pose of a stream; the first begins to follow it, in place of everything else.

        Args:
            sample: the pose.

        Raises:
            TrajectoryError: the platform is not ready for it, its stamp is of another clock, or a hold has
                ended the stream and it has not paused since.
        """
        of_type("sample", sample, PoseSample)
        goal = None if self.modes.motion is None else self.modes.motion.goal
        active = self._stream if isinstance(goal, StreamGoal) and goal.stream is self._stream else None
        if active is None:
            self._check_ready()
            if not self.phase.controls:
                raise TrajectoryError(f"the controller is not ready for a trajectory: {self.phase.value}")
        time, timeout = self.time, self.modes.stream_timeout
        check_stamp(sample.time, time, timeout)
        if active is not None:
            active.add(sample, time)
            return
        if sample.time - self._stopped_stream < timeout:
            self._stopped_stream = sample.time
            raise TrajectoryError("a hold has ended this stream; let it pause to begin another")
        present = self.present
        self._stream, motion = self.modes.stream(present.time, present)
        self._stream.add(sample, time)
        self.take_up(motion)

    def hold(self) -> None:
        """Slow down along the path and hold there; what rests on brakes stays there."""
        modes = self.modes
        ending = (OperatingMode.STOPPING, OperatingMode.PROTECTING)
        if not self.phase.controls or modes.resting or modes.mode in ending:
            return
        if self._stream is not None and modes.motion is not None:
            self._stopped_stream = self.time
        self.halt()

    def park(self) -> str:
        """Settle down to the park pose; the reason where that is impossible."""
        if not self.phase.controls or self.modes.mode is not OperatingMode.OPERATIONAL:
            return f"the platform is not ready for it: {self.state}"
        present = self.present
        self.take_up(self.modes.settle(present.time, present))
        return ""

    def unpark(self) -> str:
        """Leave the brakes, and from the park pose go home; the reason where that is impossible."""
        if self.phase is Phase.PROTECTIVE_STOP or self.modes.mode is OperatingMode.PROTECTED:
            return LATCHED
        if not self.modes.resting:
            return f"the platform is neither parked nor stopped: {self.state}"
        if not self.phase.controls:
            return f"the controller is not ready to carry the platform: {self.phase.value}"
        self.halt()
        self.modes.rise(self.time)
        self.offer_brakes()
        return ""

    def emergency_stop(self) -> str:
        """Stop and brake, without states as soon as they are back; no reason hinders it."""
        if self.modes.resting or self.modes.mode is OperatingMode.PROTECTING:
            return ""
        if self.phase is Phase.WAITING:
            self.modes.rest(StopState.STOPPED)
        elif not self.phase.controls:
            self.modes.mode = OperatingMode.STOPPING
        else:
            self.modes.emergency_stop()
            self.drop_motion()
            self.stop_at_once()
        self.offer_brakes()
        return ""

    def reset_fault(self) -> str:
        """See :class:`CoreController`; the brakes stay engaged until :meth:`unpark`."""
        reason = super().reset_fault()
        if not reason:
            self.modes.end_protection(self.time)
            self.offer_brakes()
        return reason

    def support(self) -> None:
        """Carry the platform until engaged brakes hold: somebody else has released them."""
        if self.phase.controls:
            self.modes.brakes.engage_again(self.time)
            self.offer_brakes()

    def begin_at_rest(self, state: StopState) -> None:
        """Begin as an earlier controller was left: brakes engaged and no forces until :meth:`unpark`."""
        self.modes.rest(state)
        if state is StopState.PROTECTED:
            self.protect()
        self.offer_brakes()
