"""Commands of a platform beside trajectories: streams of poses, holds, parking, emergency stops."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.brakes import SLIPPING
from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.protocol import LATCHED, Phase, Planned, PlanStart
from robot_dynamics.control.stewart.governed_motion import GovernedMotion, StreamGoal
from robot_dynamics.control.stewart.operating_modes import OperatingMode, OperatingModes
from robot_dynamics.control.stewart.reference_governor import GovernedReference
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.control.stewart.stream_intake import Contradiction, StreamIntake
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.inputs.arrays import of_type
from robot_dynamics.stewart import Machine, Motion
from robot_dynamics.stewart.orientation import rotation_vector

MISREAD = 2.0
"""Angle from home beyond which the order of a quaternion is doubted [rad]."""


class PlatformCommands(CoreController[Motion]):
    """Commands of a platform's controller, turned into changes of its operating mode and governed motions.

    Args:
        modes: of the platform.
        intake: of its streams.
        core: arguments of :class:`CoreController`.

    Attributes:
        modes: operating mode, governed motion and brakes.
        intake: of streams.
    """

    def __init__(self, modes: OperatingModes, intake: StreamIntake, *core: Any) -> None:
        self.modes = modes
        self.intake = intake
        self._barred = ""
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

    def overload(self) -> str:
        """Reason why the legs cannot carry the declared load; empty where they can."""
        raise NotImplementedError

    @property
    def machine_description(self) -> Machine:
        """The platform's machine."""
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
        if self.modes.brakes.slips:
            return SLIPPING
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
        waits = modes.resting or modes.mode is OperatingMode.STOPPING
        remedy = "; call ~/unpark" if waits else ""
        if modes.mode is OperatingMode.SETTLING:
            remedy = "; call ~/unpark when it is parked"
        return f"the platform is not ready for a trajectory: {self.state}{remedy}"

    def _check_ready(self) -> None:
        if reason := self.unready:
            raise TrajectoryError(reason)

    # Commands

    def plan_start(self, start: float | None, allowance: float = 0.0) -> PlanStart[Motion]:
        """See :class:`CoreController`; only in operation.

        Raises:
            TrajectoryError: the platform is not in operation, or is not controlled.
        """
        self._check_ready()
        return super().plan_start(start, allowance)

    def accept(self, planned: Planned[Motion]) -> str:
        """See :class:`CoreController`; only in operation."""
        following = self.following_stream
        reason = self.unready or super().accept(planned)
        if following and not reason:
            self._bar("a trajectory has")
        return reason

    @property
    def following_stream(self) -> bool:
        """True while a stream is followed, also in a pause of it."""
        return self.modes.motion is not None and isinstance(self.modes.motion.goal, StreamGoal)

    def command_pose(self, sample: PoseSample) -> None:
        """Take a pose of a stream; several in a row begin to follow it, in place of everything else.

        Args:
            sample: the pose.

        Raises:
            TrajectoryError: the platform is not ready for it, its stamp is of another clock, it is out of
                reach while the stream begins, poses contradict each other, or a command has ended the stream.
        """
        of_type("sample", sample, PoseSample)
        intake, active = self.intake, self.following_stream
        if not active:
            self._check_stream()
        try:
            taken = intake.add(sample, self.time)
        except Contradiction as error:
            self._bar("poses of two senders have")
            if active:
                self.halt()
            raise TrajectoryError(f"{error}; {self._barred}") from error
        if active or not taken:
            return
        if (intake.count == 1 or intake.ready) and (reason := self._out_of_reach(sample)):
            intake.clear()
            raise TrajectoryError(f"the stream's first pose {reason}")
        if intake.ready:
            present = self.present
            self.take_up(self.modes.stream(present.time, present, intake.filter))

    def _check_stream(self) -> None:
        """Refuse a stream that may not begin now."""
        if self._barred:
            raise TrajectoryError(self._barred)
        if not self.modes.rejoins:
            self._check_ready()
        if not self.phase.controls:
            raise TrajectoryError(f"the controller is not ready for a trajectory: {self.phase.value}")

    def _out_of_reach(self, sample: PoseSample) -> str:
        """Reason why a stream may not begin with a pose; empty where it may."""
        if self.modes.reachable(sample.position, sample.rotation):
            return ""
        machine = self.machine_description
        turn = rotation_vector(sample.rotation @ machine.home_rotation.T)
        if float(np.linalg.norm(turn)) > MISREAD:
            return "is turned upside down: orientation is x, y, z, w; is it given as w, x, y, z?"
        home, place = (
            ", ".join(short(x) for x in v.tolist()) for v in (machine.home_position, sample.position)
        )
        return f"is out of reach at ({place}) m; poses are absolute, not from home, which is ({home}) m"

    def _bar(self, what: str) -> None:
        """Let no stream begin until :meth:`resume_stream`, where one is coming."""
        if self.following_stream or self.intake.coming(self.time):
            self._barred = f"{what} ended this stream; call ~/resume_stream"

    def resume_stream(self) -> str:
        """Let a stream that a command has ended be joined again; it is joined slowly."""
        self._barred = ""
        return self.unready

    def hold(self) -> None:
        """Slow down along the path and hold there; what rests on brakes stays there."""
        modes = self.modes
        ending = (OperatingMode.STOPPING, OperatingMode.PROTECTING)
        if not self.phase.controls or modes.resting or modes.mode in ending:
            return
        self._bar("a hold has")
        self.halt()

    def park(self) -> str:
        """Settle down to the park pose; the reason where that is impossible."""
        ready = self.modes.mode is OperatingMode.OPERATIONAL or self.modes.rejoins
        if not self.phase.controls or not ready:
            return f"the platform is not ready for it: {self.state}"
        self._bar("~/park has")
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
        if reason := self.overload():
            return reason
        self._barred = ""
        self.halt()
        self.modes.rise(self.time)
        self.offer_brakes()
        return ""

    def emergency_stop(self) -> str:
        """Stop and brake, without states as soon as they are back; no reason hinders it."""
        if self.modes.resting or self.modes.mode is OperatingMode.PROTECTING:
            return ""
        self._bar("an emergency stop has")
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

    def report_brakes(self, engaged: bool | None) -> None:
        """Believe the driver's state of the brakes; None: nobody reports it."""
        if engaged is not self.modes.brakes.reported:
            self.modes.brakes.report(engaged, self.time)
            self.offer_brakes()

    @property
    def stop_state(self) -> StopState | None:
        """See :class:`CoreController`; None while the platform leaves its brakes."""
        return self.modes.stop_state

    def begin_at_rest(self, state: StopState) -> None:
        """Begin as an earlier controller was left: brakes engaged and no forces until :meth:`unpark`."""
        self.modes.rest(state)
        if state is StopState.PROTECTED:
            self.protect()
        self.offer_brakes()
