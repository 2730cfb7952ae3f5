"""The controller of an arm as a state machine without ROS: states in, efforts out, safe output on faults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.control import law
from robot_dynamics.control.parameters import ControllerParameters, SafeOutput
from robot_dynamics.control.tracking import (
    Command,
    JumpDetector,
    PeriodMeter,
    Phase,
    Schedule,
    Transition,
    fade,
)
from robot_dynamics.control.trajectory import Reference, Trajectory, plan
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array


class ArmController:
    """Computed-torque control of one arm.

    Without a trajectory the arm holds where it is. Time is the time of the joint states; when it runs
    backwards, the arm jumps (a simulation was reset) or states come back after a loss, it is dropped and the
    arm holds where it is found.

    Args:
        chain: the arm.
        dynamics: its model.
        parameters: gains, mode and safe output; replaceable at any time through ``parameters``.
    """

    def __init__(
        self, chain: KinematicChain, dynamics: law.DrivenDynamics, parameters: ControllerParameters
    ) -> None:
        self.chain = chain
        self.dynamics = dynamics
        self.phase = Phase.WAITING
        self._limits = parameters.limits_of(chain)
        self._schedule = Schedule(Reference.at_rest(np.zeros(chain.dof)))
        self._meter = PeriodMeter()
        self._jumps = JumpDetector()
        self.displaced = ""
        self._inertia: Array | None = None
        self._time = -np.inf
        self._position = np.zeros(chain.dof)
        self._replaced: law.DrivenDynamics | None = None
        self._last_effort: Array | None = None
        self._takes_over: Array | None = None
        self._transition = Transition()
        self._parameters = parameters
        self.parameters = parameters

    @property
    def parameters(self) -> ControllerParameters:
        """The parameters in force."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: ControllerParameters) -> None:
        """Use other parameters; the efforts go over to another law or other gains as to another model."""
        before = self._parameters
        self._kp, self._kv = value.gains(self.chain.joint_names)
        self._limits = value.limits_of(self.chain)
        self._mode = law.Mode(value.mode)
        self._parameters = value
        if self.phase.controls and (before.mode, before.kp, before.kv) != (value.mode, value.kp, value.kv):
            self._takes_over = self._last_effort

    @property
    def effort_limits(self) -> Array:
        """(n,) in force [N·m or N]; infinite where neither ``max_effort`` nor the description gives one."""
        return self._limits

    @property
    def time(self) -> float:
        """Of the last joint state [s]."""
        return self._time

    def follows(self, trajectory: Trajectory) -> bool:
        """Whether ``trajectory`` is being followed, or will be from its start on."""
        return self._schedule.holds(trajectory)

    def reference(self, time: float) -> Reference:
        """The reference at ``time`` [s]."""
        return self._schedule.reference(time)

    def follow(
        self, joint_names: Sequence[str], waypoints: Sequence[Waypoint], start: float | None
    ) -> Trajectory:
        """Replace whatever is being followed; the old trajectory stays in force when the new one is refused.

        Args:
            joint_names: order of the waypoints' values.
            waypoints: see ``trajectory.plan``.
            start: when the trajectory's time 0 is [s]; the present when None.

        Raises:
            TrajectoryError: the trajectory cannot be followed, or no joint state has come yet.
        """
        if not self.phase.controls:
            raise TrajectoryError(f"the controller is not ready for a trajectory: {self.phase.value}")
        now = self._time
        departure = now if start is None else start
        # Where the reference will be at departure is where the new path begins, so nothing jumps.
        origin = self.reference(max(departure, now))
        planned = plan(self.chain, joint_names, waypoints, departure, origin, now)
        self._schedule.follow(planned)
        self.phase = Phase.TRACKING
        return planned

    def change_model(self, dynamics: law.DrivenDynamics) -> None:
        """Use another model of the same arm; the efforts go over to it in ``model_change_time``."""
        if self._replaced is None:
            self._replaced = self.dynamics
        self.dynamics = dynamics

    def take_over_from(self, other: ArmController) -> None:
        """Begin with the effort of another controller of the same joints, and leave it likewise."""
        if other.phase.controls:
            self._takes_over = other._last_effort

    def hold(self) -> None:
        """Stop following and hold where the arm is."""
        if self.phase.controls:
            self._capture()

    def update(self, time: float, position: Array, velocity: Array) -> Command:
        """One control cycle.

        Args:
            time: of the joint state [s].
            position: (n,) measured, in chain order [rad or m].
            velocity: (n,) measured [rad/s or m/s].
        """
        lost = not self.phase.controls
        self.displaced = self._jumps.add(time, position, velocity)
        self._meter.add(time - self._time)
        self._time = time
        self._position = position
        if lost or self.displaced:
            self._capture()
            self._transition.end()
            self._replaced = None
        if self.displaced:
            self._takes_over = None
        self._schedule.advance(time)
        if self._schedule.empty:
            self.phase = Phase.HOLDING
        reference = self.reference(time)
        effort = self._smooth(time, position, velocity, reference)
        if not np.all(np.isfinite(effort)):
            self.phase = Phase.FAULT
            return self.safe_command(0.0)
        self._last_effort = effort
        return self._limited(effort, reference)

    def observe(self, position: Array) -> None:
        """Keep the last known position fresh while the controller does not control."""
        self._position = position

    def lost_states(self) -> None:
        """Joint states have stopped: from now on ``safe_command`` is what goes out."""
        if self.phase is not Phase.WAITING:
            self.phase = Phase.STALE
            self._takes_over = None
            self._schedule.stop(Reference.at_rest(self._position))

    def safe_command(self, since: float) -> Command:
        """The declared safe output, ``since`` seconds after the fault began.

        ``gravity_fade`` carries the arm's weight at its last known position and lets the effort fade to zero
        over ``safe_fade_time``; ``zero`` is no effort at once.
        """
        effort = np.zeros(self.chain.dof)
        if self._parameters.safe_output == SafeOutput.GRAVITY_FADE.value and np.isfinite(self._time):
            share = fade(since, self._parameters.safe_fade_time)
            load = law.gravity_load(self.dynamics, self._position)
            if share > 0.0 and np.all(np.isfinite(load)):
                effort = share * load
        return self._limited(effort, Reference.at_rest(self._position))

    def _smooth(self, time: float, q: Array, qd: Array, reference: Reference) -> Array:
        """The effort of the law, and what is left of the difference from a model that was in use before."""
        effort = self._effort(time, q, qd, reference)
        duration = self._parameters.model_change_time
        if self._replaced is not None:
            new, self.dynamics, self._replaced = self.dynamics, self._replaced, None
            try:
                self._transition.begin(time, self._effort(time, q, qd, reference) - effort, duration)
            finally:
                self.dynamics = new
        if self._takes_over is not None:
            self._transition.end()  # the last effort had what was left of it
            self._transition.begin(time, self._takes_over - effort, duration)
            self._takes_over = None
        return effort + self._transition.rest(time)

    def _capture(self) -> None:
        """Hold where the arm is."""
        self._schedule.stop(Reference.at_rest(self._position))
        self._inertia = None
        self.phase = Phase.HOLDING

    def _effort(self, time: float, q: Array, qd: Array, reference: Reference) -> Array:
        if self._mode is law.Mode.COMPUTED_TORQUE:
            return law.computed_torque(
                self.dynamics,
                q,
                qd,
                lambda ahead: reference if ahead == 0.0 else self.reference(time + ahead),
                self._kp,
                self._kv,
                self._parameters.half_period(self._meter.period),
            )
        if self._mode is law.Mode.FEEDFORWARD:
            return law.feedforward(self.dynamics, reference)
        if self._mode is law.Mode.GRAVITY_COMPENSATION:
            return law.gravity_load(self.dynamics, q)
        if self._inertia is None:
            self._inertia = law.joint_inertia(self.dynamics, q)
        return law.proportional_derivative(q, qd, reference, self._kp, self._kv, self._inertia)

    def _limited(self, effort: Array, reference: Reference) -> Command:
        return Command(np.clip(effort, -self._limits, self._limits), effort, reference, self.phase)
