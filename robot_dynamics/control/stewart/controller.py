"""The controller of a Stewart platform: leg states in, six actuator forces out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.control.parameters import LoopParameters
from robot_dynamics.control.plausibility import Bounds
from robot_dynamics.control.protocol import Command, Departure, Planned
from robot_dynamics.control.stewart.basis import PlatformCore
from robot_dynamics.control.stewart.blind import BlindDescent
from robot_dynamics.control.stewart.conductor import Conductor, Mode
from robot_dynamics.control.stewart.governed import GovernedMotion
from robot_dynamics.control.stewart.governor import Reference
from robot_dynamics.control.stewart.operator import Operated, Operator
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.watch import StateWatch
from robot_dynamics.inputs.arrays import real_number
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Motion, StewartPlatform

LONGEST_STEP = 0.5
"""A later stamp is a jump, over which nothing is governed [s]."""


class StewartController(Operated, PlatformCore):
    """Control of one Stewart platform by the law that its parameters choose.

    It needs no ROS: hand every leg state to :meth:`update` and send the forces that it returns. A trajectory
    is refused before it starts when it leaves the machine's limits or meets a singularity. A stream of poses
    (:meth:`command_pose`) is followed as far as the limits allow; how the platform comes to rest, and who may
    move it, is told in ``conductor``.

    Args:
        platform: the machine.
        parameters: gains, mode and safe output, the defaults when None; replaceable at any time through
            ``parameters``.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m]; zero when None, so that a
            joint's position is the leg's length.
    """

    def __init__(
        self,
        platform: StewartPlatform,
        parameters: StewartParameters | None = None,
        zero_lengths: Array | None = None,
    ) -> None:
        super().__init__(platform, parameters, zero_lengths)
        self._conductor = Conductor(platform.machine, self._model_forces, self._parameters)
        self._watch = StateWatch(platform.machine, self._parameters.watch_margin)
        self._operator = Operator(self, self._conductor)
        self._blind: BlindDescent | None = None
        self._unseen = self._since = 0.0

    def __repr__(self) -> str:
        return f"StewartController({self.platform.machine.name}: {self._parameters.mode}, {self.phase.value})"

    def use_settings(self, parameters: LoopParameters, bounds: Bounds) -> None:
        """Use other ``parameters`` and ``bounds`` from now on; see :class:`ControlCore`."""
        super().use_settings(parameters, bounds)
        self._conductor.use(self._parameters)
        self._watch = StateWatch(self.platform.machine, self._parameters.watch_margin)

    def departure(self, start: float | None, allowance: float = 0.0) -> Departure[Motion]:
        """From where and when a plan begins, as of :class:`ControlCore`; only in operation.

        Args:
            start: when time 0 of the waypoints is [s]; as soon as possible when None.
            allowance: how long planning may take [s].

        Raises:
            TrajectoryError: the platform is not in operation, or is not controlled.
        """
        self._operator.check_ready()
        return super().departure(start, allowance)

    def accept(self, planned: Planned[Motion]) -> str:
        """Follow ``planned``, or tell why it is discarded, as :class:`ControlCore`; only in operation."""
        return self._operator.unready or super().accept(planned)

    def update(self, time: float, position: Array, velocity: Array) -> Command:
        """One control cycle: the forces that answer a state of the legs.

        Args:
            time: stamp of the state [s].
            position: (6,) joint positions, lengths less ``zero_lengths``, in the machine's order [m].
            velocity: (6,) rates of the lengths [m/s].

        Returns:
            Forces (6,) [N], positive when a leg pushes, with the reference that they follow.

        Raises:
            RobotDynamicsError: the machine cannot be in this state, or not be controlled there.
        """
        motion = self._conductor.motion
        if motion is not None and not self.follows(motion):
            self._conductor.release()  # another trajectory, a jump or a loss has come first
        elif motion is not None and isinstance(time, float) and time <= self.time + LONGEST_STEP:
            motion.advance(time)
        return super().update(time, position, velocity)

    def _leave(self, command: Command, safe: bool = False) -> Command:
        """See :class:`ControlCore`; what follows on this cycle, and the brakes' share of the forces."""
        if not safe:
            self._blind = None
            self._watch_state()
            if self._conductor.changes(self.time):
                self.take_up(self._conductor.next_motion(self.time, self.present))
        share = self._conductor.brakes.share(self.time + (self._since if safe else 0.0))
        if share < 1.0:
            self._stewart_law.observer.frozen = True
            command = replace(command, effort=share * command.effort, unlimited=share * command.unlimited)
        return super()._leave(command, safe)

    def lost_states(self, age: float = 0.0) -> None:
        """No state has come for ``age`` [s]: what moved ends, the safe output takes over.

        See :class:`ControlCore`.
        """
        if self.phase.controls:
            self._blind, self._unseen = None, age
            self._conductor.release()
        super().lost_states(age)

    def safe_command(self, since: float) -> Command:
        """The declared safe output, ``since`` seconds after the fault began.

        ``settle`` takes the platform to be where the model says: it goes down from the last known pose and
        twist to the park pose, where the forces fade. What rests on brakes is left to them as with states.
        """
        self._since = since = real_number("since", since)
        if self._conductor.resting and self._conductor.brakes.share(self.time + since) == 0.0:
            return self._leave(Command(np.zeros(6), np.zeros(6), self._legs.at_rest(), self.phase), safe=True)
        if self._settings.safe_output != "settle" or not np.isfinite(self.time):
            return super().safe_command(since)
        if self._blind is None:
            self._blind = self._descent(since)
        forces = self._blind.forces_at(since)
        return self._leave(Command(forces, forces, self._legs.at_rest(), self.phase), safe=True)

    def _descent(self, since: float) -> BlindDescent:
        """From where the model says that the platform is, by what has gone out since its last state."""
        last = Reference.measured(since - self._unseen, self.pose)
        fade = self._parameters.safe_fade_time
        descent = BlindDescent(self._model_forces, last, self.bounds.effort, fade)
        if self._left is not None and self._unseen > 0.0:
            descent.coast(self._left, since)
        descent.descend(self._conductor.blind(since, descent.state))
        return descent

    def _watch_state(self) -> None:
        if self._conductor.mode is not Mode.OPERATIONAL or self.discontinuity:
            return
        reason = self._watch.judge(self.pose, self.lengths)
        if reason:
            self.discontinuity = f"{reason}; settling"
            self._capture()
            here = Reference.measured(self.time, self.pose)
            self.take_up(self._conductor.settle(self.time, here))

    # What the operator needs

    @property
    def present(self) -> Reference:
        """The reference of now."""
        return Reference.of(self.time, self.reference(self.time))

    def capture(self) -> None:
        """Hold where the platform is, at once."""
        PlatformCore.hold(self)

    def take_up(self, motion: GovernedMotion | None) -> None:
        """Follow a governed motion, if there is one, whatever the mode."""
        if motion is not None:
            super().accept(Planned(motion, self.epoch))

    def _model_forces(
        self, positions: Array, quaternions: Array, rotations: Array, twists: Array, accelerations: Array
    ) -> Array:
        """See ``envelope.Forces``; with the external wrench of now."""
        wrench = self._legs.state.wrench
        law = self._stewart_law
        return law.forces_of_many(positions, quaternions, rotations, twists, accelerations, wrench)
