"""Efforts for a trajectory that another controller follows: what the feeder plans, without ROS."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.arm.feeding import Lead, PathDeparture, Plan, lead_times, sample_lead
from robot_dynamics.control.arm.inverse_dynamics import InverseDynamics, feedforward, gravity_load
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.sampling import EffortSamples, sample_efforts
from robot_dynamics.control.arm.stopping import stop_within
from robot_dynamics.control.arm.torque_check import torque_checked
from robot_dynamics.control.arm.trajectory import ANY_PATH, Reference, Trajectory, plan
from robot_dynamics.control.cross_fade import CrossFade
from robot_dynamics.control.protocol import late
from robot_dynamics.control.retiming.following import retimed
from robot_dynamics.control.schedule import Schedule
from robot_dynamics.control.waypoints import Waypoint, WaypointTable
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import per_joint
from robot_dynamics.spatial import Array

STEP_FACTORS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
"""Multiples of the accepted effort error that are tried for retimed paths, whose efforts step."""
NEAR = 0.02
"""An arm at rest this near to where the last trajectory ended is taken to be held there; one that is farther
has been moved by somebody else [rad or m]."""


class Feedforward:
    """Plans trajectories for one arm and knows which efforts belong to which moment.

    Args:
        chain: the arm.
        dynamics: its model with its drives.
        parameters: replaceable at any time.

    Attributes:
        epoch: counts what makes an unfinished plan void.
    """

    def __init__(
        self, chain: KinematicChain, dynamics: InverseDynamics, parameters: FeedforwardParameters
    ) -> None:
        self.chain = chain
        self.dynamics = dynamics
        self._replaced: InverseDynamics | None = None
        self._cross_fade = CrossFade()
        self.parameters = parameters
        self.position: Array | None = None
        self.epoch = 0
        self._revision = 0
        # Nobody knows yet what holds the arm.
        self._schedule: Schedule[Reference] = Schedule(Reference.at_rest(np.full(chain.dof, np.nan)))
        self._points: Array = np.zeros(0)
        self._undo: tuple[Plan, Schedule[Reference], Array] | None = None

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
        self._limits = value.limits_of(self.chain)

    @property
    def effort_limits(self) -> Array:
        """(n,) in force [N·m or N]; infinite where neither ``max_effort`` nor the description gives one."""
        return self._limits

    def check(self, candidate: FeedforwardParameters) -> None:
        """ParameterError when a list does not fit the arm."""
        per_joint(candidate.effort_error or (1.0,), self.chain.joint_names, "effort_error")
        candidate.limits_of(self.chain)

    def change_model(self, dynamics: InverseDynamics) -> None:
        """Use another model of the same arm; the efforts of the moment go over to it."""
        if self._replaced is None:
            self._replaced = self.dynamics
        self.dynamics = dynamics

    def observe(self, position: Array) -> None:
        """The arm is at ``position`` (n,) [rad or m]."""
        self.position = position

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
        return self.plan_from(joint_names, waypoints, self.departure(start, now), rules)

    def departure(
        self, start: float | None, now: float, allowance: float = 0.0, delivery: float = 0.0
    ) -> PathDeparture:
        """Where a plan may begin that is ready within ``allowance`` [s].

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
        times = lead_times(now, departs, self._points if moving else np.zeros(0))
        path = [self._schedule.reference(time) if moving else rest for time in (*times, departs)]
        return PathDeparture(
            *(begin, earliest, path[-1], self.epoch, moving, self._revision, delivery, Lead(times, path[:-1]))
        )

    def _resting(self, position: Array) -> Reference:
        """What holds an arm at rest: where the last trajectory ended or was dropped, or else where it is.

        An arm sags a little from where it is held: departing from there would step the controller's
        reference.
        """
        held = self._schedule.reference(np.inf)
        near = bool((np.abs(position - held.position) <= NEAR).all())
        return held if near else Reference.at_rest(position)

    def plan_from(
        self,
        joint_names: Sequence[str],
        waypoints: Sequence[Waypoint] | WaypointTable,
        departure: PathDeparture,
        rules: PathRules = ANY_PATH,
    ) -> Plan:
        """A trajectory that leaves ``departure``; it changes nothing, and may run in another thread.

        Raises:
            TrajectoryError: it cannot be followed; names what is wrong.
        """
        begin, origin, now = departure.start, departure.origin, departure.now
        stopping = stop_within(self.dynamics, self._limits)
        retiming = retimed(self.chain, self.dynamics, self._limits, rules)
        path = plan(self.chain, joint_names, waypoints, begin, origin, now, rules, stopping, retiming)
        path = torque_checked(self.chain, self.dynamics, path, self._limits, rules.torque)
        samples = self._samples(path, retiming is not None)
        return self._within_limits(path, samples, departure)

    def _samples(self, path: Trajectory, steps: bool) -> EffortSamples:
        """The points of a path; of one whose efforts step from limit to limit with a larger error there."""
        tolerance = self._tolerance(path)
        for factor in STEP_FACTORS if steps else ():
            try:
                return sample_efforts(path.spline, self.dynamics, factor * tolerance)
            except TrajectoryError:
                continue
        return sample_efforts(path.spline, self.dynamics, (STEP_FACTORS[-1] if steps else 1.0) * tolerance)

    def objection(self, plan: Plan, now: float) -> str:
        """Why ``plan`` cannot be followed any more, or must be made again; empty when it can."""
        if plan.epoch != self.epoch or plan.revision != self._revision:
            return "a hold or another trajectory came first"
        missed = now + plan.delivery - plan.trajectory.start
        return late(missed) if missed > 0.0 else ""

    def follow(self, plan: Plan) -> None:
        """``plan`` is under way, or waits for its start with the arm where it is."""
        self._undo = plan, copy.copy(self._schedule), self._points
        if self._schedule.empty and self.position is not None:
            self._schedule.stop(self._resting(self.position))
        self._revision += 1
        self._schedule.follow(plan.trajectory)
        self._points = np.concatenate((plan.lead.times, plan.samples.times))

    def withdraw(self, plan: Plan) -> None:
        """The controller has not taken ``plan``: what it would have replaced goes on."""
        if self._undo is not None and self._undo[0] is plan:
            _, self._schedule, self._points = self._undo
            self._undo = None
            self._revision += 1

    def drop(self) -> None:
        """Nothing is under way any more, and what is being planned is void."""
        self.epoch += 1
        self._stop()

    def drop_plan(self, plan: Plan) -> bool:
        """``plan`` has ended early; whether it was the last, for one that has replaced it goes on.

        What is being planned is not void: it has to leave from another place.
        """
        if not self._schedule.empty and not self._schedule.holds(plan.trajectory):
            return False
        self._stop()
        return True

    def _stop(self) -> None:
        self._revision += 1
        self._undo = None
        unknown: Array = np.full(self.chain.dof, np.nan)
        self._schedule.stop(Reference.at_rest(unknown if self.position is None else self.position))

    def moving(self, now: float) -> bool:
        """Whether a trajectory is under way or waits for its start."""
        self._schedule.advance(now)
        return not self._schedule.empty

    def effort(self, now: float) -> Array:
        """(n,) of the moment: the trajectory's, or what holds the arm where it is [N·m or N]."""
        self.moving(now)
        effort = self._effort(self.dynamics, now)
        if self._replaced is not None:
            difference = self._effort(self._replaced, now) - effort
            self._cross_fade.begin(now, difference, self.parameters.model_change_time)
            self._replaced = None
        effort = effort + self._cross_fade.rest(now)
        if not np.isfinite(effort).all():
            return np.zeros(self.chain.dof)
        return np.clip(effort, -self._limits, self._limits)

    def _effort(self, dynamics: InverseDynamics, now: float) -> Array:
        if not self._schedule.empty and self._schedule.begun:
            return feedforward(dynamics, self._schedule.reference(now))
        if self.position is not None:
            return gravity_load(dynamics, self.position)
        return np.zeros(self.chain.dof)

    def _tolerance(self, path: Trajectory) -> Array:
        if self.parameters.effort_error:
            return per_joint(self.parameters.effort_error, self.chain.joint_names, "effort_error")
        scale = self._limits.copy()
        if not np.isfinite(scale).all():
            times = np.linspace(path.start, path.end, 101)
            states = [path.spline.sample(time) for time in times]
            efforts = self.dynamics.inverse_dynamics(*(np.array(rows) for rows in zip(*states, strict=True)))
            largest = np.abs(efforts).max(axis=0)
            # A joint that needs no effort is not worth points of its own.
            largest = np.maximum(largest, max(1e-3 * float(largest.max()), 1e-6))
            scale = np.where(np.isfinite(scale), scale, largest)
        return np.asarray(self.parameters.effort_error_share * scale)

    def _within_limits(self, path: Trajectory, samples: EffortSamples, departure: PathDeparture) -> Plan:
        cut = np.clip(samples.efforts, -self._limits, self._limits)
        names = self.chain.joint_names
        beyond = tuple(names[j] for j in np.flatnonzero((cut != samples.efforts).any(axis=0)))
        limited = EffortSamples(
            samples.times, samples.positions, samples.velocities, samples.accelerations, cut, samples.error
        )
        lead = sample_lead(departure.lead, self.dynamics, self._limits)
        return Plan(
            *(path, departure.epoch, limited, beyond, departure.moving),
            *(departure.revision, departure.delivery, lead),
        )
