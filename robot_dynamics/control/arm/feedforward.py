"""Efforts for a trajectory that another controller follows: what the feeder plans, without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.feed_stop import stop_spline
from robot_dynamics.control.arm.feedforward_parameters import EffortPath, FeedforwardParameters
from robot_dynamics.control.arm.feeding import Lead, PathStart, Plan, lead_times, sample_lead
from robot_dynamics.control.arm.inverse_dynamics import EffortModel, feedforward, gravity_load
from robot_dynamics.control.arm.laws import LawInput, PythonLaw
from robot_dynamics.control.arm.measured import MeasuredJoints, Missed
from robot_dynamics.control.arm.parameters import ArmParameters, arm_stops, position_limits
from robot_dynamics.control.arm.path_rules import RETIME_OFF, PathRules, unit_of
from robot_dynamics.control.arm.sampling import BuiltUp, BuiltUpNow, EffortSamples, built_up, sample_efforts
from robot_dynamics.control.arm.trajectory import ANY_PATH, Reference, Trajectory
from robot_dynamics.control.core.settings import Settings
from robot_dynamics.control.protocol import Planned, late
from robot_dynamics.control.waypoints import Waypoint, WaypointTable
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.parameters import per_joint
from robot_dynamics.spatial import Array

STEP_FACTORS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
"""Multiples of the accepted effort error that are tried for retimed paths, whose efforts step."""
NEAR = 0.02
"""An arm at rest this near to where the last trajectory ended is taken to be held there; one that is farther
has been moved by somebody else [rad or m]."""
STOP_DELIVERY = 0.02
"""Time that a stop gets for its way to the controller [s]."""
BRIDGE, LATE = 5.0, 0.5
"""A controller that blends leads to a plan for so many times of a message's way. A message that is late by no
more makes no joint faster than its limit [s]."""
LED = 2.0
"""Largest speed of a quintic from rest to rest is 1.9 times its mean speed."""
CREEPING = 1e-3
"""A slower reference needs no stop [rad/s or m/s]."""
SET_BACK = 1.0
"""A clock that is set back by less was adjusted; by more it was reset, which drops what is followed [s]."""
STILL, AT_REST = 0.005, 0.1
"""An arm that stays within so much [rad or m] for so long [s] is at rest."""


class _Core(ArmController):
    """The control core of an arm that another controller moves: queue of plans, planner, cross-fade, limits.

    Its law carries the arm wherever it is until a trajectory begins.

    Attributes:
        ahead: time after an update for which its efforts are [s].
    """

    ahead = 0.0

    @cached_property
    def _built(self) -> BuiltUpNow:
        return BuiltUpNow()

    def _python_law(self) -> PythonLaw:
        return self._carry_or_follow

    def _carry_or_follow(self, model: EffortModel, given: LawInput) -> Array:
        time = given.time + self.ahead
        trajectory = self._plans.active(time)
        if trajectory is None:
            effort = self._built.carried(gravity_load(model, given.position))
        else:
            reference = trajectory.sample(time)
            effort = feedforward(model, reference) + self._built.efforts(model, reference)
        return effort if np.isfinite(effort).all() else np.zeros(len(effort))

    def _accelerations(self) -> Array:
        return np.full(self.chain.dof, np.inf)  # the rules alone have limits

    def _supervised(self, settings: Settings) -> Settings:
        return settings  # the controller behind it watches, and latches, if anything does

    def moving(self, time: float) -> bool:
        """True if a trajectory is followed at ``time`` [s], or begins later."""
        return self._plans.active(time) is not None or self._plans.waits(time)

    def queue(self) -> tuple[Any, ...]:
        """Trajectories that are followed or wait, the last one first."""
        return self._plans.queue()

    def withdraw(self) -> bool:
        """Take back the last plan; whether nothing has come since."""
        return self._plans.withdraw()

    def drop(self) -> None:
        """Drop what is followed."""
        self._library.rd_core_drop(self._core)


def _core_parameters(given: FeedforwardParameters) -> ArmParameters:
    """Parameters of a core without plausibility checks: the controller behind it has them."""
    return ArmParameters(
        max_effort=given.max_effort,
        model_change_time=given.model_change_time,
        half_period_ahead=False,
        safe_output="zero",
        max_stamp_step=1e6,
        max_state_jump=1e6,
        max_velocity_factor=1e6,
        max_effort_step=2.0,
        stream_horizon=-1.0,
        state_timeout=given.state_timeout,
    )


class Feedforward:
    """Plans trajectories for one arm and knows which efforts belong to which moment.

    Args:
        chain: the arm.
        dynamics: its model with its drives.
        parameters: replaceable at any time.

    Attributes:
        epoch: counts what makes an unfinished plan void.
        position: (n,) measured last; None before the first state [rad or m].
        reported: (n,) reference of the controller, as it reports it; None where it does not [rad or m].
    """

    def __init__(
        self, chain: KinematicChain, dynamics: EffortModel, parameters: FeedforwardParameters
    ) -> None:
        self.chain = chain
        self._core = _Core(chain, dynamics, _core_parameters(parameters))
        self.check(parameters)
        self._parameters = parameters
        self.position: Array | None = None
        self.reported: Array | None = None
        self.epoch = 0
        stops = arm_stops(chain, ArmParameters())
        self._following, self._deceleration = stops.following, stops.hold_deceleration
        revolute = [chain.driving_joint(j).kind is JointKind.REVOLUTE for j in range(chain.dof)]
        self._turns = np.isinf(position_limits(chain)[0]) & revolute
        # Time of the last state, and the place where the arm has been since a time.
        self._seen: float | None = None
        self._stays: tuple[Array, float] = (np.full(chain.dof, np.inf), 0.0)
        self._effort: Array = np.zeros(chain.dof)
        # Nobody knows yet what holds the arm.
        self._held = False
        # The last plan and its points, and what they were before it.
        self._last: tuple[Plan | None, Array] = (None, np.zeros(0))
        self._undo: tuple[Plan | None, Array] = self._last
        self._missed: Array = np.zeros(chain.dof)

    @property
    def measured(self) -> MeasuredJoints | None:
        """Joints that another controller moves; None: there are none."""
        return self._core.measured

    @property
    def awaits(self) -> str:
        """Line about a measured joint without a state; empty: all have one."""
        return self._core.awaits

    @property
    def time(self) -> float:
        """Time of the last state; 0 before the first [s]."""
        return self._seen or 0.0

    @property
    def parameters(self) -> FeedforwardParameters:
        """The parameters in force."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: FeedforwardParameters) -> None:
        """Use other parameters from now on.

        Raises:
            ParameterError: a list does not fit the arm.
        """
        self.check(value)
        self._parameters = value
        self._core.parameters = _core_parameters(value)

    @property
    def dynamics(self) -> EffortModel:
        """The model in use."""
        return self._core.dynamics

    @property
    def effort_limits(self) -> Array:
        """(n,) in force [N·m or N]; infinite where neither ``max_effort`` nor the description gives one."""
        return self._core.effort_limits

    def check(self, candidate: FeedforwardParameters) -> None:
        """ParameterError when a list does not fit the arm, or efforts within the limits do not carry it."""
        per_joint(candidate.effort_error or (1.0,), self.chain.joint_names, "effort_error")
        self._core.check_parameters(_core_parameters(candidate))

    def change_model(self, dynamics: EffortModel) -> None:
        """Use another model of the same arm; the efforts of the moment blend to it."""
        self._core.change_model(dynamics)

    def observe(self, position: Array, time: float | None = None) -> None:
        """The arm is at ``position`` (n,) [rad or m], at ``time`` [s] where that is known."""
        self.position, self._seen = position, time
        place, since = self._stays
        if time is not None and (time < since or not (np.abs(position - place) <= STILL).all()):
            self._stays = position, time

    def rests(self, seconds: float = AT_REST) -> bool:
        """True if the arm has been at rest for so long [s]."""
        return self._seen is not None and self._seen - self._stays[1] >= seconds

    def astray(self, now: float) -> str:
        """Distance of the arm from its reference as text, where it is beyond the following error; else empty.

        A controller that reports its reference is taken at its word; it may be late, or follow somebody else.
        """
        if self.position is None or not (self._held or self.reported is not None):
            return ""
        own = self._core.reference(now if self._seen is None or self.reported is not None else self._seen)
        pairs = [("is", self.position, own.position)]
        if self.reported is not None:
            pairs = [("is", self.position, self.reported)]
            pairs += [("of the controller is", self.reported, own.position)] if self.moving(now) else []
        for what, place, reference in pairs:
            error = place - reference
            error = np.abs(np.where(self._turns, np.remainder(error + np.pi, 2.0 * np.pi) - np.pi, error))
            j = int(np.argmax(error / self._following))
            if error[j] > self._following[j]:
                unit = unit_of(self.chain, j, "position")
                return (
                    f"joint {self.chain.joint_names[j]!r} {what} {short(float(error[j]))} {unit} from its"
                    f" reference, allowed are {short(float(self._following[j]))} {unit}"
                )
        return ""

    def stand(self) -> None:
        """Nothing is followed any more; what is being planned is made again, from where the arm is."""
        if self.position is not None:
            self._core.observe(self.position)
            self._held = True
        self._core.drop()
        self._last = None, np.zeros(0)

    def blending(self, plan: Plan, delivery: float) -> float:
        """Time in which a controller that blends leads from its own reference to ``plan`` [s].

        A late message leads the reference back by the way that it has gone on in the meantime.

        Args:
            plan: of an arm in motion.
            delivery: time of a message's way [s].
        """
        limits = np.array([self.chain.driving_joint(j).limits.velocity for j in range(self.chain.dof)])
        speeds = np.abs(np.vstack((plan.lead.velocities, plan.samples.velocities[:1])))
        share = float((speeds.max(axis=0) / limits).max())
        return max(BRIDGE * delivery, LED * LATE * share)

    # Plans

    def plan(
        self,
        joint_names: Sequence[str],
        waypoints: Sequence[Waypoint] | WaypointTable,
        start: float | None,
        now: float,
        rules: PathRules = ANY_PATH,
    ) -> Plan:
        """A trajectory from where the reference is, or else from where the arm is.

        Args:
            joint_names: order of the waypoints' values.
            waypoints: see ``trajectory.plan``.
            start: when time 0 of the waypoints is [s]; ``now`` if None.
            now: the present [s].
            rules: see ``trajectory.plan``.

        Raises:
            TrajectoryError: it cannot be followed; names what is wrong.
        """
        return self.plan_from(joint_names, waypoints, self.plan_start(start, now), rules)

    def plan_start(
        self, start: float | None, now: float, allowance: float = 0.0, delivery: float = 0.0
    ) -> PathStart:
        """Start of a plan that is ready within ``allowance`` [s].

        Args:
            start: when time 0 of the waypoints is [s]; as soon as possible if None.
            now: the present [s].
            allowance: how long planning may take [s].
            delivery: how long the finished plan may be on its way to the controller [s].

        Raises:
            TrajectoryError: where the arm is is not known.
        """
        if self.position is None:
            raise TrajectoryError("where the arm is is not known yet: there is no joint state")
        moving, earliest = self.moving(now), now + allowance + delivery
        begin = earliest if start is None else start
        departs = max(begin, earliest)
        rest = self._resting(self.position)
        times = lead_times(now, departs, self._last[1] if moving else np.zeros(0))
        path = [self._core.reference(time) if moving else rest for time in (*times, departs)]
        lead = Lead(times, path[:-1])
        still = self._core.beside(still=True)
        given = begin, earliest, path[-1], self.epoch, moving, self._core.epoch, delivery, lead, still
        return PathStart(*given, queue=self._core.queue() if moving else ())

    def _is_near(self, position: Array) -> bool:
        """True if an arm at rest is where the last trajectory ended or was dropped."""
        held = self._core.reference(np.inf).position
        return self._held and bool((np.abs(position - held) <= NEAR).all())

    def _resting(self, position: Array) -> Reference:
        """Place that holds an arm at rest: where the last trajectory ended or was dropped, else where it is.

        An arm sags a little from where it is held: departing from there would step the controller's
        reference. A controller that reports where it holds the arm is taken at its word.
        """
        if self.reported is not None and (np.abs(position - self.reported) <= self._following).all():
            return Reference.at_rest(self.reported)
        return self._core.reference(np.inf) if self._is_near(position) else Reference.at_rest(position)

    def resting_place(self) -> Array | None:
        """(n,) where an arm at rest is to be held [rad or m]; None where its place is not known."""
        return None if self.position is None else self._resting(self.position).position

    def plan_from(
        self,
        joint_names: Sequence[str],
        waypoints: Sequence[Waypoint] | WaypointTable,
        plan_start: PathStart,
        rules: PathRules = ANY_PATH,
    ) -> Plan:
        """A trajectory that leaves ``plan_start``; it changes nothing, and may run in another thread.

        Raises:
            TrajectoryError: it cannot be followed; names what is wrong.
        """
        path = self._core.plan(joint_names, waypoints, plan_start, rules).trajectory
        assert isinstance(path, Trajectory)
        return self._sampled(path, rules.torque.retime != RETIME_OFF, plan_start)

    def _sampled(self, path: Trajectory, steps: bool, plan_start: PathStart) -> Plan:
        """The plan of a path, with points of which the efforts are within the limits."""
        last = self._last[0].built if self._last[0] is not None else None
        built = built_up(plan_start.dynamics, path.spline, plan_start.origin.velocity, last)
        samples = self._samples(path, steps, plan_start.dynamics, built)
        return replace(self._within_limits(path, samples, plan_start, last), built=built)

    def _samples(
        self, path: Trajectory, steps: bool, dynamics: EffortModel, built: BuiltUp | None
    ) -> EffortSamples:
        """The points of a path; of one whose efforts step from limit to limit with a larger error there."""
        tolerance = self._tolerance(path, dynamics)
        for factor in STEP_FACTORS if steps else ():
            with suppress(TrajectoryError):
                return sample_efforts(path.spline, dynamics, factor * tolerance, built=built)
        tolerance = (STEP_FACTORS[-1] if steps else 1.0) * tolerance
        return sample_efforts(path.spline, dynamics, tolerance, built=built)

    def accept(self, plan: Plan, now: float) -> str:
        """Follow a finished plan, or tell why it is void, or must be made again.

        Args:
            plan: for the arm.
            now: the present [s].
        """
        if plan.epoch != self.epoch or plan.revision != self._core.epoch:
            return "a hold or another trajectory came first"
        if (missed := now + plan.delivery - plan.trajectory.start) > 0.0:
            return late(missed)
        if not self.moving(now) and self.position is not None and not self._is_near(self.position):
            self._core.drop()  # somebody else has moved the arm
        if reason := self._core.accept(Planned(plan.trajectory, self._core.epoch)):
            return reason
        self._held = True
        self._undo = self._last
        self._last = plan, np.concatenate((plan.lead.times, plan.samples.times))
        return ""

    def withdraw(self, plan: Plan) -> None:
        """The controller has not taken ``plan``: what it would have replaced goes on."""
        if self._last[0] is plan and self._core.withdraw():
            self._last = self._undo

    def drop(self) -> None:
        """Nothing is followed any more, and what is being planned is void."""
        self.epoch += 1
        self.stand()

    def brake(self, now: float, deceleration: Array | None = None) -> Plan | None:
        """Stop along the path from now on; what is being planned is void.

        Args:
            now: the present [s].
            deceleration: (n,) largest of each joint [rad/s² or m/s²]; None: that of the arm's stops.

        Returns:
            What to send; None where nothing moves, or the arm is far from its reference.
        """
        if self.position is None or not self.moving(now) or self.astray(now):
            return None
        leaves = replace(self.plan_start(None, now, STOP_DELIVERY), delivery=0.0)
        if not np.abs(leaves.origin.velocity).max() > CREEPING:
            return None
        limits = self.effort_limits
        braking = self._deceleration if deceleration is None else deceleration
        path = Trajectory(stop_spline(self._core.motion, leaves.now, braking, leaves.dynamics, limits))
        self.epoch += 1
        plan = self._sampled(path, True, replace(leaves, epoch=self.epoch))
        return None if self.accept(plan, now) else plan

    def drop_plan(self, plan: Plan) -> bool:
        """``plan`` has ended early; whether it was the last, for one that has replaced it goes on.

        What is being planned is not void: it has to leave from another place.
        """
        if self._last[0] is not None and self._last[0] is not plan:
            return False
        self.stand()
        return True

    def moving(self, now: float) -> bool:
        """True if a trajectory is followed, or waits for its start."""
        self._update(now)
        return self._core.moving(now)

    # Efforts

    def effort(self, now: float, ahead: float = 0.0) -> Array:
        """(n,) of the moment: the trajectory's, or what holds the arm where it is [N·m or N].

        Args:
            now: the present [s].
            ahead: time from now to the moment that counts [s].
        """
        self._core.ahead = ahead
        self._update(now)
        return self._effort

    def _update(self, now: float) -> None:
        if self.position is not None and not self.awaits and not 0.0 < self._core.time - now < SET_BACK:
            command = self._core.update(now, self.position, np.zeros(self.chain.dof))
            self._effort = command.effort
            self._note_missed(now)

    def _note_missed(self, now: float) -> None:
        """Note the efforts of the measured joints' motion since the plan, which its points do not have."""
        plan = self._last[0]
        in_points = self._parameters.effort_path == EffortPath.TRAJECTORY.value
        if self.measured is None or plan is None or not in_points or not self._core.moving(now):
            return
        reference = self._core.reference(now)
        moved = feedforward(self._core.beside(), reference) - feedforward(plan.dynamics, reference)
        self._missed = np.maximum(self._missed, np.abs(moved))

    def missed(self) -> Missed:
        """Error that the measured joints have left in the efforts since the last call."""
        assert self.measured is not None
        found = self.measured.missed()
        moved, self._missed = self._missed, np.zeros(self.chain.dof)
        return found._replace(effort=found.effort + moved)

    def _tolerance(self, path: Trajectory, dynamics: EffortModel) -> Array:
        if self.parameters.effort_error:
            return per_joint(self.parameters.effort_error, self.chain.joint_names, "effort_error")
        scale = self.effort_limits.copy()
        if not np.isfinite(scale).all():
            states = path.spline.at(np.linspace(path.start, path.end, 101))
            efforts = dynamics.inverse_dynamics(*states)
            largest = np.abs(efforts).max(axis=0)
            # A joint that needs no effort is not worth points of its own.
            largest = np.maximum(largest, max(1e-3 * float(largest.max()), 1e-6))
            scale = np.where(np.isfinite(scale), scale, largest)
        return np.asarray(self.parameters.effort_error_share * scale)

    def _within_limits(
        self, path: Trajectory, samples: EffortSamples, plan_start: PathStart, last: BuiltUp | None
    ) -> Plan:
        limits = self.effort_limits
        cut = np.clip(samples.efforts, -limits, limits)
        names = self.chain.joint_names
        beyond = tuple(names[j] for j in np.flatnonzero((cut != samples.efforts).any(axis=0)))
        limited = replace(samples, efforts=cut)
        lead = sample_lead(plan_start.lead, plan_start.dynamics, limits, last)
        return Plan(
            *(path, plan_start.epoch, limited, beyond, plan_start.moving),
            *(plan_start.revision, plan_start.delivery, lead, plan_start.dynamics),
        )
