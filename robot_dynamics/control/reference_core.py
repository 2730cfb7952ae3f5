"""The state machine of every controller: states in, efforts out, safe output on faults. No ROS here.

It takes finished values only (a planned trajectory, a law with its model and gains, checked parameters), each
handed over by assigning a reference. What takes time, such as planning and generating models, is done
elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Generic

import numpy as np

from robot_dynamics.control.cross_fade import CrossFade, ramp_down
from robot_dynamics.control.monitors import PeriodMeter
from robot_dynamics.control.parameters import LoopParameters, SafeOutput
from robot_dynamics.control.plausibility import Bounds, StateCheck, effort_step, within_a_step
from robot_dynamics.control.protocol import (
    VOID,
    Command,
    Departure,
    Law,
    Observer,
    Phase,
    Planned,
    R,
    S,
    Trajectory,
    departure_of,
    late,
)
from robot_dynamics.control.schedule import Schedule
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.inputs.arrays import measured, of_type, real_number
from robot_dynamics.spatial import Array


class ControlCore(Generic[S, R]):
    """Schedule, hold, watchdog, discontinuities, cross-fade and limits around an observer and a law.

    Without a trajectory the machine holds where it is. Time is the time of the joint states; when it runs
    backwards, the machine jumps (a simulation was reset) or states come back after a loss, what is followed
    is dropped and the machine holds where it is found.

    Args:
        observer: tells the machine's state from the joints'.
        law: gives the efforts.
        bounds: limits of efforts, and of what can be real.
        parameters: timing and safety.

    Attributes:
        phase: what the controller is doing.
        discontinuity: why the last state cannot follow from the one before; empty when it can.
        law, bounds: in force.
        epoch: counts what makes an unfinished plan void: holds, discontinuities, losses and newer plans.
    """

    def __init__(
        self, observer: Observer[S, R], law: Law[S, R], bounds: Bounds, parameters: LoopParameters
    ) -> None:
        self.phase = Phase.WAITING
        self.discontinuity = ""
        self.epoch = 0
        self._observer = observer
        self.law = law
        self.bounds = bounds
        self._settings = parameters
        self._schedule: Schedule[R] = Schedule(observer.at_rest())
        self._meter = PeriodMeter()
        self._states = StateCheck()
        self._time = -np.inf
        self._fault_began = 0.0
        self._cross_fade = CrossFade()
        self._replaced: Law[S, R] | None = None
        self._last_effort: Array | None = None
        self._sent: Array | None = None
        self._left: Array | None = None
        self._departing: Array | None = None

    @property
    def time(self) -> float:
        """Of the last joint state [s]."""
        return self._time

    @property
    def effort_limits(self) -> Array:
        """(n,) [N·m or N], infinite where there is none."""
        return self.bounds.effort

    # What is handed over

    def departure(self, start: float | None, allowance: float = 0.0) -> Departure[R]:
        """See :meth:`Controller.departure`."""
        return departure_of(self, start, allowance)

    def accept(self, planned: Planned[R]) -> str:
        """Follow a finished plan.

        Returns:
            Why the plan is discarded and what was followed goes on; empty when it is accepted. A plan is void
            when a hold, a discontinuity, a loss of states or another plan came after its departure was asked
            for, and when it should have begun already.
        """
        of_type("planned", planned, Planned)
        if planned.epoch != self.epoch or not self.phase.controls:
            return VOID
        if (missed := self._time - planned.trajectory.start) > 0.0:
            return late(missed)
        self.epoch += 1
        self._schedule.follow(planned.trajectory)
        self.phase = Phase.TRACKING
        return ""

    def remodel(self, law: Law[S, R]) -> None:
        """Use the same law with another model; the efforts go over to it in ``model_change_time``.

        Both laws are evaluated once in the same state, so feedback is at work throughout, however often
        models change.
        """
        if self._replaced is None:
            self._replaced = self.law
        self.law = law

    def use_law(self, law: Law[S, R]) -> None:
        """Use another law or other gains; the efforts go over from the last one in ``model_change_time``."""
        self.law = law
        if self.phase.controls:
            self._departing = self._last_effort

    def use_settings(self, parameters: LoopParameters, bounds: Bounds) -> None:
        """Use other parameters of timing and safety, and other limits, from now on."""
        self._settings = parameters
        self.bounds = bounds
        self._sent = None

    def take_over_from(self, other: ControlCore[S, R]) -> None:
        """Begin with the effort of another controller of the same joints, and leave it likewise."""
        of_type("other", other, ControlCore)
        self._left = other._left
        if other.phase.controls:
            self._departing = other._last_effort

    # What is followed

    def reference(self, time: float) -> R:
        """The reference at ``time`` [s]."""
        return self._schedule.reference(time)

    def follows(self, trajectory: Trajectory[R]) -> bool:
        """Whether ``trajectory`` is being followed, or will be from its start on."""
        return self._schedule.holds(trajectory)

    def hold(self) -> None:
        """Stop following and hold where the machine is."""
        if self.phase.controls:
            self._capture()

    # The cycle

    def update(self, time: float, position: Array, velocity: Array) -> Command:
        """One control cycle.

        Args:
            time: of the joint state [s].
            position: (n,) measured [rad or m].
            velocity: (n,) measured [rad/s or m/s].

        Raises:
            RobotDynamicsError: the machine cannot be in this state, or not be controlled there.
        """
        if not (type(time) is float and math.isfinite(time)):
            time = real_number("time", time)
        position = measured("position", position, len(self.bounds.effort))
        velocity = measured("velocity", velocity, len(self.bounds.effort))
        state = self._observer.update(time, position, velocity)
        lost = not self.phase.controls
        self._fault_began = self._fault_began if self.phase is Phase.FAULT else time
        self.discontinuity = self._states.add(time, position, velocity, self.bounds, expected=not lost)
        self._meter.add(time - self._time)
        self._time = time
        if lost or self.discontinuity:
            self._capture()
            self._cross_fade.end()
            self._replaced = None
        if self.discontinuity:
            self._departing = None
        self._schedule.advance(time)
        if self._schedule.empty:
            self.phase = Phase.HOLDING
        command = self._answer(time, state) if self._states.usable else None
        if command is not None and self._sent is not None:
            step = effort_step(command.effort, self._sent, self.bounds)
            if step:
                command = self._hold_instead(time, state, step)
        if command is None:
            self.phase = Phase.FAULT
            return self.safe_command(max(0.0, time - self._fault_began))
        self._last_effort, self._sent = command.unlimited, command.effort
        return self._leave(command)

    def observe(self, position: Array) -> None:
        """Keep the last known place fresh while not in control; an impossible position changes nothing."""
        try:
            position = measured("position", position, len(self.bounds.effort))
            self._observer.update(self._time, position, np.zeros(len(position)))
        except RobotDynamicsError:
            return

    def lost_states(self, age: float = 0.0) -> None:
        """Joint states have stopped, the last is ``age`` old [s]: from now on ``safe_command`` goes out."""
        if self.phase is not Phase.WAITING:
            self.phase = Phase.STALE
            self.epoch += 1
            self._departing = self._sent = None
            self._schedule.stop(self._observer.at_rest())

    def safe_command(self, since: float) -> Command:
        """The declared safe output, ``since`` seconds after the fault began; see ``LoopParameters``."""
        effort, since = np.zeros(len(self.bounds.effort)), real_number("since", since)
        if self._settings.safe_output == SafeOutput.GRAVITY_FADE.value and np.isfinite(self._time):
            share = ramp_down(since, self._settings.safe_fade_time)
            load = self.law.load(self._observer.state) if share > 0.0 else effort
            effort = share * load if np.isfinite(load).all() else effort
        return self._leave(self._limited(effort, self._observer.at_rest()), safe=True)

    def _leave(self, command: Command, safe: bool = False) -> Command:
        """The command as it leaves: a step from what left before; what is safe takes away at once."""
        effort = command.effort
        if self._left is not None:
            bounds = self.bounds
            effort = within_a_step(effort, self._left, bounds.effort, bounds.effort_step, safe)
        self._left = effort
        return command if effort is command.effort else replace(command, effort=effort)

    def _follow(self, planned: Planned[R]) -> Trajectory[R]:
        """Accept a plan; TrajectoryError with the reason when it is discarded."""
        discarded = self.accept(planned)
        if discarded:
            raise TrajectoryError(discarded)
        return planned.trajectory

    def _capture(self) -> None:
        """Hold where the machine is."""
        self._schedule.stop(self._observer.at_rest())
        self.law.settle()
        self.epoch += 1
        self._sent = None  # from here on the efforts are others, as was asked for
        self.phase = Phase.HOLDING

    def _answer(self, time: float, state: S) -> Command | None:
        """The command for the reference of now; None when the model gives no usable effort."""
        reference = self._schedule.reference(time)
        effort = self._effort(time, state, reference)
        return self._limited(effort, reference) if np.isfinite(effort).all() else None

    def _hold_instead(self, time: float, state: S, reason: str) -> Command | None:
        """The command that holds where the machine is, for one that steps too far; None if it does so too."""
        last = self._sent
        self.discontinuity = reason
        self._capture()
        self._cross_fade.end()
        command = self._answer(time, state)
        steps = command is not None and last is not None and effort_step(command.effort, last, self.bounds)
        return None if steps else command

    def _effort(self, time: float, state: S, reference: R) -> Array:
        """The effort of the law, and what is left of the difference from one that was in use before."""
        half = self._settings.half_period(self._meter.period)
        law, replaced, self._replaced = self.law, self._replaced, None
        ahead = self._schedule.reference(time + half) if half > 0.0 and law.looks_ahead else reference
        effort = law.effort(state, reference, ahead, half)
        duration = self._settings.model_change_time
        if duration == 0.0 and (replaced is not None or self._departing is not None):
            self._sent = None
        if replaced is not None:
            before = replaced.effort(state, reference, ahead, half)
            self._cross_fade.begin(time, before - effort, duration)
        if self._departing is not None:
            self._cross_fade.end()  # the last effort had what was left of it
            self._cross_fade.begin(time, self._departing - effort, duration)
            self._departing = None
        return effort + self._cross_fade.rest(time)

    def _limited(self, effort: Array, reference: R) -> Command:
        return Command(self._within_limits(effort), effort, reference, self.phase)

    def _within_limits(self, effort: Array) -> Array:
        """``effort`` (n,) cut joint by joint; a machine may have a better way."""
        return np.minimum(np.maximum(effort, -self.bounds.effort), self.bounds.effort)
