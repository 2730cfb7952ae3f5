"""Commands of an arm: trajectories, streams of targets, holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.control.arm import guiding, task_impedance
from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.measured import MeasuredJoints, Missed
from robot_dynamics.control.arm.parameters import ArmParameters, arm_accelerations, position_limits
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.plan_checks import beyond_tested, torque_checked
from robot_dynamics.control.arm.resting import ArmRest, Rest
from robot_dynamics.control.arm.stopping import stop_within
from robot_dynamics.control.arm.stream import HORIZON, JOINING, JointStream, StreamLimits
from robot_dynamics.control.arm.target_pose import FrameSolver, TargetPose
from robot_dynamics.control.arm.trajectory import ANY_PATH, Reference, Trajectory, plan
from robot_dynamics.control.brakes import SLIPPING
from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.core.library import doubles, ffi
from robot_dynamics.control.core.snapshot import PHASES
from robot_dynamics.control.protocol import LATCHED, Command, Phase, Planned, PlanStart
from robot_dynamics.control.retiming.following import retimed
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.control.waypoints import Waypoint, WaypointTable, tabulate
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.inputs.arrays import measured
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

LOOK = 0.01
"""Time between two looks at brakes that change [s]."""
PEAK = 1.875
"""Peak of a quintic's velocity over its mean."""
SHORTEST_MOVE = 0.2
"""Shortest move to a single target pose [s]."""
UNKNOWN_SPEED = 1.0
"""Speed of a joint without a velocity limit on the way to a target pose [rad/s or m/s]."""
SLIP = 0.02
"""Distance that a joint may move on its brakes before the efforts come back [rad or m]."""
HANDOVER, SHORTEST_STOP = 0.02, 0.1
"""Time for planning the stop of some joints, and the shortest one [s]."""


class ArmCommands(CoreController[Reference]):
    """Commands of an arm's controller, turned into plans.

    Args:
        chain: the arm.
        parameters: of the controller.

    Attributes:
        chain: the arm.
        rest: its brakes.
        measured: joints that another controller moves; None: there are none.
    """

    def __init__(self, chain: KinematicChain, parameters: ArmParameters) -> None:
        self.chain = chain
        self._stream = JointStream(chain)
        self._frame_solver: FrameSolver | None = None
        self._posture = np.zeros(chain.dof)
        self.rest = ArmRest(parameters, parameters.safe_fade_time)
        self._share = self.rest.brakes.fields()
        self._measures = False
        self.measured = MeasuredJoints(chain, parameters.state_timeout) if chain.whole is not None else None
        super().__init__(chain.dof)

    @property
    def measured_joints(self) -> Sequence[str]:
        """See :class:`CoreController`."""
        return self.chain.measured_joints

    @property
    def awaits(self) -> str:
        """See :class:`CoreController`."""
        return "" if self.measured is None else self.measured.awaits

    def missed(self) -> Missed:
        """Error that unknown accelerations of the measured joints have left since the last call."""
        assert self.measured is not None
        return self.measured.missed()

    def beside(self, model: Any = None, still: bool = False) -> EffortModel:
        """The model with the measured joints as in the last cycle; in the cycle's thread.

        Args:
            model: of the arm; None: the model in use.
            still: whether they count as at rest where they are.
        """
        model = self.dynamics if model is None else model
        if self.measured is None:
            return model  # type: ignore[no-any-return]
        position, *rates = self.measured.motion()
        return model.with_measured(position, *(() if still else rates))  # type: ignore[no-any-return]

    # What the controller adds

    @property
    def dynamics(self) -> EffortModel:
        """The model in use."""
        raise NotImplementedError

    @property
    def parameters(self) -> ArmParameters:
        """The parameters in force."""
        raise NotImplementedError

    @property
    def effort_limits(self) -> Array:
        """(n,) [N·m or N], infinite where there is none."""
        raise NotImplementedError

    # Commands

    def plan_start(self, start: float | None, allowance: float = 0.0) -> PlanStart[Reference]:
        """See :class:`CoreController`; a protective stop ends a stream, too."""
        if self.phase is Phase.PROTECTIVE_STOP:
            self._stream.refuse("a protective stop", self.time)
        elif self.rest.state is not Rest.RELEASED:
            raise TrajectoryError(f"the arm is not ready for a trajectory: {self.rest.state.value}")
        return replace(super().plan_start(start, allowance), queue=self._plans.queue())

    def hold(self) -> None:
        """See :class:`CoreController`; it ends a stream, which begins anew after a pause."""
        super().hold()
        self._stream.end("a hold", self.time)

    def hold_joints(self, joints: Sequence[int]) -> None:
        """Bring some joints to rest while the others go on; where that is impossible, all are held.

        Args:
            joints: their indices.
        """
        chosen = sorted(joints)
        names = [self.chain.joint_names[j] for j in chosen]
        deceleration = arm_accelerations(self.chain, self.parameters)[chosen]
        try:
            plan_start = self.plan_start(None, HANDOVER)
            speed = plan_start.origin.velocity[chosen]
            duration = max(SHORTEST_STOP, 3.0 * float((np.abs(speed) / deceleration).max()))
            place = plan_start.origin.position[chosen] + 0.5 * duration * speed
            target = [Waypoint(duration, tuple(place.tolist()))]
            refused = self.accept(self.plan(names, target, plan_start, PathRules(partial=True), False))
        except TrajectoryError as error:
            refused = str(error)
        if refused:
            self.hold()

    def stop_at_once(self) -> None:
        """See :class:`CoreController`; it ends a stream, which begins anew after a pause."""
        super().stop_at_once()
        self._stream.end("an emergency stop", self.time)

    def emergency_stop(self) -> str:
        """Slow down with ``stop_deceleration`` and stay there, on brakes where there are any."""
        self.stop_at_once()
        return self._stay()

    def park(self) -> str:
        """Slow down with ``max_acceleration`` and stay there, on brakes where there are any."""
        self.hold()
        return self._stay()

    def _stay(self) -> str:
        self.latch()
        self._look_at_brakes()
        return ""

    def unpark(self) -> str:
        """Leave the brakes; the reason where that is impossible."""
        if self.latched:
            return LATCHED
        if self.rest.state is not Rest.BRAKED:
            return f"the arm is not on its brakes: {self.rest.state.value}"
        if not self.phase.controls:
            return f"the controller is not ready to carry the arm: {self.phase.value}"
        try:
            self.check_start()
        except ParameterError as error:
            return str(error)
        self.rest.rise(self.time)
        self._offer_share()
        return ""

    def support(self) -> None:
        """Carry the arm until engaged brakes hold: somebody else has released them."""
        if self.phase.controls:
            self.rest.brakes.engage_again(self.time)
            self._offer_share()

    def push(self, wrench: Array) -> str:
        """Push with a wrench beside the springs of the mode cartesian_impedance, for ``wrench_timeout``.

        Args:
            wrench: (6,) force, then torque on the environment, in the axes of the root frame [N, N·m].

        Returns:
            The reason why it does not; empty where it does.
        """
        values = np.array(wrench, dtype=float)
        if values.shape != (6,) or not np.isfinite(values).all():
            return "the wrench is not six finite numbers"
        if self.parameters.mode != task_impedance.MODE:
            return f"the mode is {self.parameters.mode}: set mode to {task_impedance.MODE}"
        until = self._snapshot.read().time + self.parameters.wrench_timeout
        self._library.rd_core_push(self._core, doubles(values), until)
        return ""

    def guide(self, pressed: bool) -> str:
        """Press or release the hold-to-run button of the mode hand_guiding.

        A press counts for ``guide_timeout``: repeat it while the button is held.

        Returns:
            The reason why the arm is not guided; empty where it is, or is released.
        """
        now = self._snapshot.read().time
        until = now + self.parameters.guide_timeout if pressed else -math.inf
        self._library.rd_core_guide(self._core, until)
        if not pressed:
            return ""
        if self.parameters.mode != guiding.MODE:
            return f"the mode is {self.parameters.mode}: set mode to {guiding.MODE}"
        return "" if math.isfinite(now) else "no joint state has come yet"

    def report_brakes(self, engaged: bool | None) -> None:
        """Believe the driver's state of the brakes; None: nobody reports it."""
        if engaged is not self.rest.brakes.reported:
            self.rest.brakes.report(engaged, self.time)
            self._offer_share()

    # Brakes

    @property
    def state(self) -> str:
        """State of the brakes or phase, in words."""
        if self.rest.brakes.slips:
            return SLIPPING
        return self.phase.value if self.rest.state is Rest.RELEASED else self.rest.state.value

    @property
    def brake(self) -> bool:
        """The command to the brakes; True also while no states come, or none yet."""
        return self.rest.exists and (self.rest.brakes.engaged(self.time) or not self.phase.controls)

    @property
    def stop_state(self) -> StopState | None:
        """See :class:`CoreController`; None while the arm leaves its brakes."""
        if self.latched or not self.rest.exists:
            return super().stop_state
        states = {Rest.RISING: None, Rest.RELEASED: StopState.RELEASED}
        return states.get(self.rest.state, StopState.STOPPED)

    def begin_at_rest(self, state: StopState) -> None:
        """See :class:`CoreController`; on brakes where there are any."""
        if not self.rest.exists or state is StopState.PROTECTED:
            super().begin_at_rest(state)
        if self.rest.exists:
            self.rest.begin()
            self._offer_share()

    def conduct(self) -> float:
        """See :class:`CoreController`: engage and release brakes."""
        self._look_at_brakes()
        return LOOK if self.rest.exists else math.inf

    def after_state(self) -> None:
        """See :class:`CoreController`: engage and release brakes."""
        self._look_at_brakes()

    def update(self, time: float, position: Array, velocity: Array, effort: Array | None = None) -> Command:
        """One control cycle.

        Args:
            time: of the joint state [s].
            position: (n,) measured [rad or m].
            velocity: (n,) measured [rad/s or m/s].
            effort: (n,) measured, where external efforts are observed from it; None: not measured [N·m or N].

        Raises:
            StateError: the arm cannot be in this state, or not be controlled there.
        """
        if effort is not None or self._measures:
            self._measures = effort is not None
            given = (
                ffi().NULL if effort is None else doubles(measured("effort", effort, self.chain.dof).copy())
            )
            self._library.rd_core_measure(self._core, given)
        command = super().update(time, position, velocity)
        self.after_state()
        return command

    def _look_at_brakes(self) -> None:
        if not self.rest.exists:
            return
        now = self._snapshot.read()
        if PHASES[now.phase].controls:
            self.rest.advance(now.time, bool(now.trip.latched), now.rests <= now.time)
            self.rest.brakes.watch(now.time, self._snapshot.position, SLIP)
            self._offer_share()

    def _offer_share(self) -> None:
        wanted = self.rest.brakes.fields()
        if wanted != self._share:
            self._share = wanted
            self.offer_settings(False, False)

    # Trajectories

    def accept(self, planned: Planned[Reference]) -> str:
        """See :class:`CoreController`."""
        reason = super().accept(planned)
        if not reason:
            trajectory = planned.trajectory
            assert isinstance(trajectory, Trajectory)
            self._stream.accepted(trajectory)
        return reason

    def plan(
        self,
        joint_names: Sequence[str],
        waypoints: Sequence[Waypoint] | WaypointTable,
        plan_start: PlanStart[Reference],
        rules: PathRules = ANY_PATH,
        streamed: bool = True,
    ) -> Planned[Reference]:
        """A trajectory for :meth:`accept`; it moves nothing, so it may take its time in any one thread.

        Args:
            joint_names: order of the waypoints' values.
            waypoints: see ``trajectory.plan``.
            plan_start: where and when it begins.
            rules: see ``trajectory.plan``.
            streamed: whether a single point may belong to a stream.

        Raises:
            TrajectoryError: the trajectory cannot be followed.
        """
        rules = self._rules(rules)
        rules.order(self.chain.joint_names, joint_names)
        table = waypoints if isinstance(waypoints, WaypointTable) else tabulate(waypoints, joint_names)
        horizon = (self.parameters.stream_horizon or HORIZON) if streamed else 0.0
        path = self._stream.plan(joint_names, table, plan_start, rules, horizon, self._limits(rules))
        if path is not None:
            return Planned(path, plan_start.epoch)
        return self._trajectory(joint_names, table, plan_start, rules)

    def plan_pose(
        self, target: TargetPose, plan_start: PlanStart[Reference], rules: PathRules = ANY_PATH
    ) -> Planned[Reference]:
        """A trajectory to a target pose of the frame ``cartesian_frame``, as :meth:`plan` makes one.

        Poses that come one by one are a stream, like trajectories of one point. A single one is approached
        with a quarter of the velocity limits.

        Args:
            target: the pose; it keeps the joint positions that were found.
            plan_start: where the trajectory begins; its start is the time that the pose is meant for.
            rules: see ``trajectory.plan``.

        Raises:
            TrajectoryError: the pose is out of reach, or the trajectory cannot be followed.
        """
        rules, names = self._rules(rules), self.chain.joint_names
        origin = plan_start.origin
        if self.measured_joints:
            raise TrajectoryError(
                f"measured joints ({', '.join(self.measured_joints)}) move the arm, too: a pose has no fixed"
                " joint positions; send joint positions"
            )
        if target.found is None:
            near = self._stream.last(plan_start.now)
            if near is None:
                near = self._posture = origin.position.copy()
            place = self._solver().solve(target.pose, near, self._posture)
            open_row = np.full((1, len(place)), np.nan)
            target.found = WaypointTable(np.zeros(1), place[None], open_row, open_row)
        horizon = self.parameters.stream_horizon or HORIZON
        path = self._stream.plan(names, target.found, plan_start, rules, horizon, self._limits(rules))
        if path is not None:
            return Planned(path, plan_start.epoch)
        limits = self._limits(rules)
        way = np.abs(target.found.positions[0] - origin.position)
        fastest = np.where(np.isfinite(limits.velocity), limits.velocity, UNKNOWN_SPEED)
        needed = PEAK * way / (JOINING * fastest) + 3.0 * np.abs(origin.velocity) / limits.acceleration
        duration = SHORTEST_MOVE + float(needed.max())
        table = replace(target.found, times=np.array([duration]))
        start = max(plan_start.start, plan_start.now)
        return self._trajectory(names, table, replace(plan_start, start=start), rules)

    def _solver(self) -> FrameSolver:
        """Solver of the frame ``cartesian_frame``."""
        if self._frame_solver is None:
            links = getattr(self.dynamics, "links", self.dynamics)
            lower, upper = position_limits(self.chain)
            frame = self.parameters.cartesian_frame
            self._frame_solver = FrameSolver(self.chain, links, frame, lower, upper)
        return self._frame_solver

    def _rules(self, rules: PathRules) -> PathRules:
        """Rules of trajectories of this arm; TrajectoryError where it follows none."""
        if self.parameters.follows_nothing:
            raise TrajectoryError(
                f"the mode {self.parameters.mode} follows no trajectory: set another mode first"
            )
        accelerations = arm_accelerations(self.chain, self.parameters)
        return rules.of(self.chain).accelerated(self.chain.joint_names, accelerations)

    def _trajectory(
        self,
        joint_names: Sequence[str],
        table: WaypointTable,
        plan_start: PlanStart[Reference],
        rules: PathRules,
    ) -> Planned[Reference]:
        """See :meth:`plan`; no part of a stream."""
        accelerations = arm_accelerations(self.chain, self.parameters)
        trajectory = plan(
            *(self.chain, joint_names, table, plan_start.start, plan_start.origin, plan_start.now, rules),
            stop_within(self.dynamics, self.effort_limits, accelerations),
            retimed(self.chain, self.dynamics, self.effort_limits, rules),
            plan_start.queue,
        )
        trajectory = torque_checked(self.chain, self.dynamics, trajectory, self.effort_limits, rules.torque)
        untested = beyond_tested(self.chain, self.dynamics, trajectory, rules.identified)
        trajectory = replace(trajectory, untested=untested)
        return Planned(self._stream.remarked(trajectory), plan_start.epoch)

    def _limits(self, rules: PathRules) -> StreamLimits:
        """Limits of a stream's reference by the rules of trajectories."""
        names = self.chain.joint_names
        lower, upper = position_limits(self.chain)
        velocity = np.array(
            [
                min(self.chain.driving_joint(j).limits.velocity, rules.velocity.get(name, np.inf))
                for j, name in enumerate(names)
            ]
        )
        return StreamLimits(lower, upper, velocity, np.array([rules.acceleration[name] for name in names]))

    def follow(
        self,
        joint_names: Sequence[str],
        waypoints: Sequence[Waypoint] | WaypointTable,
        start: float | None = None,
    ) -> Trajectory:
        """Plan and follow at once; the old trajectory stays in force when the new one is refused.

        Args:
            joint_names: order of the waypoints' values.
            waypoints: see ``trajectory.plan``.
            start: when the trajectory's time 0 is [s]; the present when None.

        Raises:
            TrajectoryError: the trajectory cannot be followed, or no joint state has come yet.
        """
        trajectory = self._follow(self.plan(joint_names, waypoints, self.plan_start(start)))
        assert isinstance(trajectory, Trajectory)
        return trajectory
