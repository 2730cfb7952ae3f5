"""Efforts for a trajectory that another controller follows: what the feeder plans, without ROS."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.arm.effort_limits import EffortLimitParameters
from robot_dynamics.control.arm.inverse_dynamics import InverseDynamics, feedforward, gravity_load
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.sampling import EffortSamples, sample_efforts
from robot_dynamics.control.arm.trajectory import ANY_PATH, Reference, Trajectory, plan
from robot_dynamics.control.cross_fade import CrossFade
from robot_dynamics.control.schedule import Schedule
from robot_dynamics.control.waypoints import Waypoint, WaypointTable
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array


class EffortPath(enum.Enum):
    """How the efforts reach the actuators."""

    TRAJECTORY = "trajectory"
    COMMANDS = "commands"


@dataclass(frozen=True)
class FeedforwardParameters(EffortLimitParameters):
    """How the feeder samples a trajectory and sends its efforts."""

    effort_path: str = parameter(
        EffortPath.TRAJECTORY.value,
        "trajectory puts the efforts into the points, for a joint_trajectory_controller of Jazzy or later;"
        " commands sends them in time on effort_controller/commands, for one that refuses them",
        choices=[path.value for path in EffortPath],
        read_only=True,
    )
    effort_error: tuple[float, ...] = parameter(
        (),
        "How far interpolated efforts may be from the model's, one per joint or one for all; empty: see"
        " effort_error_share",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    effort_error_share: float = parameter(
        0.001,
        "The same as a share of the joint's effort limit or, without one, of its largest effort on the way",
        minimum=1e-5,
        maximum=1.0,
    )
    refuse_beyond_limits: bool = parameter(
        False, "Refuse a trajectory that needs more effort than the limits allow, instead of cutting it"
    )
    command_rate: float = parameter(
        250.0,
        "Rate of effort_controller/commands, where it is used",
        unit="Hz",
        minimum=1.0,
        maximum=2000.0,
        read_only=True,
    )
    state_timeout: float = parameter(
        0.5,
        "Without a joint state for so long no trajectory is taken, and efforts on the command topic fade",
        unit="s",
        minimum=1e-3,
        maximum=60.0,
    )
    safe_fade_time: float = parameter(
        2.0, "How long efforts on the command topic take to fade to zero", unit="s", minimum=0.0, maximum=60.0
    )
    model_change_time: float = parameter(
        0.2,
        "How long efforts on the command topic take to go over to a model that was changed; 0 is at once",
        unit="s",
        minimum=0.0,
        maximum=60.0,
    )

    def __post_init__(self) -> None:
        validate(self)
        if 0.0 in self.effort_error:
            raise ParameterError("parameter 'effort_error' is 0 for a joint; it must be positive")


@dataclass(frozen=True)
class Plan:
    """A trajectory ready to be sent.

    Attributes:
        trajectory: the path over time.
        samples: its points with efforts, within the limits.
        beyond: names of the joints whose efforts were cut.
        moving: whether it begins while another trajectory is being followed.
    """

    trajectory: Trajectory
    samples: EffortSamples
    beyond: tuple[str, ...]
    moving: bool


class Feedforward:
    """Plans trajectories for one arm and knows which efforts belong to which moment.

    Args:
        chain: the arm.
        dynamics: its model with its drives.
        parameters: replaceable at any time.
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
        self._schedule: Schedule[Reference] = Schedule(Reference.at_rest(np.zeros(chain.dof)))

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
        if self.position is None:
            raise TrajectoryError("where the arm is is not known yet: there is no joint state")
        departure = now if start is None else max(start, now)
        moving = self.moving(now)
        origin = self._schedule.reference(departure) if moving else Reference.at_rest(self.position)
        path = plan(self.chain, joint_names, waypoints, now if start is None else start, origin, now, rules)
        samples = sample_efforts(path.spline, self.dynamics, self._tolerance(path))
        return self._within_limits(path, samples, moving)

    def follow(self, plan: Plan) -> None:
        """``plan`` is under way, or waits for its start with the arm where it is."""
        if self._schedule.empty and self.position is not None:
            self._schedule.stop(Reference.at_rest(self.position))
        self._schedule.follow(plan.trajectory)

    def drop(self) -> None:
        """Nothing is under way any more."""
        self._schedule.stop(Reference.at_rest(np.zeros(self.chain.dof)))

    def drop_plan(self, plan: Plan) -> bool:
        """``plan`` has ended early; whether it was the last, for one that has replaced it goes on."""
        if not self._schedule.empty and not self._schedule.holds(plan.trajectory):
            return False
        self.drop()
        return True

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

    def _within_limits(self, path: Trajectory, samples: EffortSamples, moving: bool) -> Plan:
        cut = np.clip(samples.efforts, -self._limits, self._limits)
        names = self.chain.joint_names
        beyond = tuple(names[j] for j in np.flatnonzero((cut != samples.efforts).any(axis=0)))
        if beyond and self.parameters.refuse_beyond_limits:
            j = names.index(beyond[0])
            raise TrajectoryError(
                f"joint {beyond[0]!r} would need {np.abs(samples.efforts[:, j]).max():.4g} (N·m or N); its"
                f" effort limit is {self._limits[j]:.4g}: a slower trajectory needs less"
            )
        limited = EffortSamples(
            samples.times, samples.positions, samples.velocities, samples.accelerations, cut, samples.error
        )
        return Plan(path, limited, beyond, moving)
