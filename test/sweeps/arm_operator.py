"""Random legal commands of operators to one arm, and the invariants of every cycle.

The events: trajectories, targets of one point, target poses, holds, stops, parking, modes, gains, live
limits, blocked joints, a joint that jams, a push, lost and late states. Commands that are refused have
no effect. In half of the sequences something is declared wrongly: friction of 0 to 3 times the real one, a
payload up to the capacity that is not declared, gravity that is tilted by up to 10 degrees. For every cycle:

- speed: no joint is faster than MARGIN of its velocity limit, or WEAK of it where masses are wrong and
  gains are low or the arm still sags for it, while states are rare, so that an effort lasts beyond its
  moment, in the first SAGS seconds, where a declaration is wrong, or where efforts may change by less than
  SLUGGISH of their limits in a cycle, which is too little for the accelerations of a stream. With a payload
  that is not declared it is LOADED, from which on supervision brakes: the wrist of a PUMA without rotor
  inertia bears twelve times the inertia of its model. With kp below SOFT and wrong masses an arm that sags
  may follow at SAGGING. Excused are lost states, a push, a mode without position feedback, rare states, a
  declared delay above DELAYED or a joint that is freed while a payload is not declared (gains that 50 Hz
  permit are too low for it), an end stop that soft springs under such a payload run into against all of a
  joint's effort, and EXCUSED seconds after each;
- acceleration: the reference of a trajectory or a hold has at most MARGIN of max_acceleration, or of what it
  had when its plan was accepted;
- place: no joint is farther than v²/(2 a) + SLACK outside the span of where it was when its plan was accepted
  and the waypoints; v is its velocity then, a max_acceleration. A stop adds v²/(2 a) of its own beginning;
- effort: with position feedback and no event for SETTLED, an effort changes by at most STEP of its limit in a
  cycle, and always by at most all of it. Soft springs let an arm fall whose masses are wrong; where it
  is faster than FALLS of a speed limit, what decouples the axes of its wrist may change faster;
- energy: SETTLING seconds after the last event, a robot that holds does not move: no joint has more than
  STILL of its limit, so nothing feeds an oscillation;
- rest: after a stop or a trip with valid states, the arm rests within the time that a fifth of its
  deceleration takes from its speed then (the bound of stopping.c), and SETTLING;
- lost states: a safe effort is finite and within the limits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from stop_rigs import PANDA, UR5, ArmRig

from robot_dynamics.control.arm.parameters import arm_accelerations, arm_stops
from robot_dynamics.control.arm.stream import HORIZON
from robot_dynamics.control.arm.target_pose import TargetPose
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.simulation.arm import BRAKE
from robot_dynamics.stewart.orientation import rotation_from_vector

MARGIN, WEAK, LOADED, SAGGING, SLACK, EXCUSED, FREED = 1.05, 1.15, 1.2, 1.4, 0.04, 0.5, 0.02
SETTLED, STEP, SAGS, FALLS = 0.3, 0.1, 1.0, 0.5
SLUGGISH, DELAYED, SOFT = 0.02, 0.005, 20.0
SETTLING, STILL, AT_STOP = 2.0, 0.04, 0.01
FREE = ("gravity_compensation", "feedforward")
"""Modes without position feedback."""
FRICTION = {
    UR5: {"friction": (5.0, 5.0, 4.0, 1.0, 1.0, 1.0), "damping": (2.0, 2.0, 2.0, 0.5, 0.5, 0.5)},
    PANDA: {"friction": (0.8, 0.8, 0.6, 0.6, 0.4, 0.3, 0.3), "damping": (0.5,) * 7},
    "puma560": {"friction": (6.0, 8.0, 4.0, 0.6, 0.6, 0.4), "damping": (2.0, 2.0, 1.5, 0.1, 0.1, 0.1)},
}
"""Dry and viscous friction of the real drives [N·m, N·m·s/rad]."""
CAPACITY = {UR5: 5.0, PANDA: 3.0, "puma560": 2.5}
"""Largest payloads [kg]."""
YIELDING = ("joint_impedance", "cartesian_impedance")
"""Modes that leave their reference under a load."""

share = st.floats(-1.0, 1.0)
unit = st.floats(0.0, 1.0)


def spread(low: float, high: float) -> Any:
    """Numbers from one to another, each power of ten as likely."""
    return st.floats(float(np.log10(low)), float(np.log10(high))).map(lambda power: float(10.0**power))


class ArmOperator(RuleBasedStateMachine):
    """One arm and its operator."""

    robot: ClassVar[str] = UR5
    excused: float
    found = True

    @initialize(
        place=st.lists(share, min_size=7, max_size=7),
        scale=st.sampled_from([1.0, 1.0, 0.9, 1.1]),
        wrong=st.sampled_from(["nothing", "nothing", "nothing", "friction", "payload", "gravity"]),
        size=unit,
        towards=st.floats(0.0, 2.0 * np.pi),
    )
    def begin(self, place: list[float], scale: float, wrong: str, size: float, towards: float) -> None:
        """A new controller at a random place; the real masses may differ by a tenth, a declaration more."""
        world: dict[str, Any] = {"mass_scale": scale}
        declared: dict[str, Any] | None = None
        if wrong == "friction":
            drives = FRICTION[self.robot]
            world |= drives
            declared = {name: tuple(3.0 * size * one for one in values) for name, values in drives.items()}
        elif wrong == "payload":
            world |= {"payload_mass": size * CAPACITY[self.robot]}
        elif wrong == "gravity":
            tilt = np.radians(10.0 * size)
            across = 9.81 * np.sin(tilt)
            down = -9.81 * float(np.cos(tilt))
            world |= {"gravity": (float(across * np.cos(towards)), float(across * np.sin(towards)), down)}
        self.wrong = wrong if size > 0.0 else "nothing"
        self.rig = rig = ArmRig(self.robot, plant=world, model=declared)
        limits = rig.plant.limits
        self.lower = np.array([max(limit.lower, -2.5) for limit in limits]) + 0.1
        self.upper = np.array([min(limit.upper, 2.5) for limit in limits]) - 0.1
        start = np.clip(rig.home + 0.5 * np.array(place[: rig.chain.dof]), self.lower, self.upper)
        rig.plant.reset(start)
        self.scale = scale
        self.blocked = False
        self.excused = self.event = self.shaken = self.rare = 0.0
        self.resting_by = np.inf
        self.span = np.stack([start, start])
        self.room = np.zeros(rig.chain.dof)
        self.last_goal = 0.0, start
        self.accelerations = self.most
        self.found = False
        self._cycles(5)

    @property
    def parameters(self) -> Any:
        return self.rig.control.parameters

    @property
    def most(self) -> np.ndarray:
        """(n,) greatest acceleration of references."""
        return np.asarray(arm_accelerations(self.rig.chain, self.parameters))

    @property
    def stops(self) -> np.ndarray:
        """(n,) deceleration of stops."""
        return np.asarray(arm_stops(self.rig.chain, self.parameters).stop_deceleration)

    # Events

    @rule(
        places=st.lists(st.lists(share, min_size=7, max_size=7), min_size=1, max_size=4),
        times=st.lists(spread(0.05, 5.0), min_size=4, max_size=4),
        reach=spread(0.01, 1.5),
        moving=st.booleans(),
        then=unit,
    )
    def trajectory(
        self, places: list[list[float]], times: list[float], reach: float, moving: bool, then: float
    ) -> None:
        """A trajectory of one to four points around where the arm is, with or without velocities."""
        rig, n = self.rig, self.rig.chain.dof
        here = rig.plant.position
        goals = [
            np.clip(here + reach * np.array(place[:n]), self.lower, self.upper).tolist() for place in places
        ]
        moments = np.cumsum(times[: len(goals)]).tolist()
        points = [Waypoint(moment, tuple(goal)) for moment, goal in zip(moments, goals, strict=True)]
        if moving and len(points) > 2:
            middle = np.subtract(goals[2], goals[0]) / (moments[2] - moments[0])
            rest = (0.0,) * n
            points = [
                replace(point, velocities=tuple(middle.tolist()) if k == 1 else rest)
                for k, point in enumerate(points)
            ]
        # One point within the horizon may belong to a stream.
        joins = len(points) == 1 and moments[0] <= HORIZON
        self._follow(points, goals, joins=joins, forced=moving and len(points) > 2)
        self._cycles(round(then * min(moments[-1], 3.0) / rig.period))

    @rule(
        count=st.integers(1, 25),
        rate=st.sampled_from([10.0, 20.0, 30.0, 60.0, 125.0]),
        ahead=spread(0.02, 0.3),
        step=st.lists(share, min_size=7, max_size=7),
        reach=spread(1e-3, 0.3),
    )
    def targets(self, count: int, rate: float, ahead: float, step: list[float], reach: float) -> None:
        """Targets of one point that replace each other, as teleoperation sends them: a wave."""
        rig, n = self.rig, self.rig.chain.dof
        middle = rig.plant.position
        for k in range(count):
            wave = np.sin(2.0 * np.pi * (k / rate)) * reach * np.array(step[:n])
            goal = np.clip(middle + wave, self.lower, self.upper)
            self._follow([Waypoint(ahead, tuple(goal.tolist()))], [goal], joins=True)
            self._cycles(max(round(1.0 / rate / rig.period), 1))

    @rule(how=st.sampled_from(["hold", "stop_at_once", "emergency_stop", "park"]), wait=st.booleans())
    def stop(self, how: str, wait: bool) -> None:
        """Whatever ends a motion."""
        getattr(self.rig.control, how)()
        self._stops(self.most if how in ("hold", "park") else self.stops)
        self._cycles(round(1.5 / self.rig.period) if wait else 20)

    @rule(how=st.sampled_from(["reset_fault", "unpark"]))
    def go_on(self, how: str) -> None:
        """End what a stop has left."""
        getattr(self.rig.control, how)()
        if how == "reset_fault":
            self.resting_by = np.inf  # a load that only the stiffer gains of the stop bore moves the arm
        self._happened()
        self._cycles(20)

    @rule(mode=st.sampled_from(["computed_torque", *YIELDING, *FREE]))
    def mode(self, mode: str) -> None:
        """Another law."""
        before = self.parameters.mode
        if not self._set(mode=mode):
            return
        if (mode in FREE) != (before in FREE) or {mode, before} & {*YIELDING}:
            self._anywhere()
        if before in YIELDING:
            self.room = self.room + 3.0  # it comes back from wherever it has yielded to
        self._cycles(20)

    @rule(kp=spread(5.0, 2e4), damping=spread(0.1, 5.0), ki=st.sampled_from([-1.0, 0.0, 0.0, 500.0]))
    def gains(self, kp: float, damping: float, ki: float) -> None:
        """Other gains; those that this rate does not stand are refused."""
        self._set(kp=(kp,), kv=(min(2.0 * damping * kp**0.5, 1e4),), ki=ki)
        self._cycles(20)

    @rule(stiffness=spread(1.0, 5e3), damping=st.sampled_from([-1.0, 0.0, 1.0, 20.0]))
    def softness(self, stiffness: float, damping: float) -> None:
        """Another impedance."""
        self._set(joint_stiffness=(stiffness,), joint_damping=(damping,))
        self._cycles(20)

    @rule(
        stiffness=spread(1.0, 3e3),
        damping=st.sampled_from([-1.0, 0.0, 5.0]),
        posture=spread(0.1, 100.0),
        axes=st.sampled_from(["root", "frame"]),
        decoupled=st.booleans(),
        projector=st.sampled_from(["dynamic", "kinematic", "none"]),
    )
    def tip_softness(
        self, stiffness: float, damping: float, posture: float, axes: str, decoupled: bool, projector: str
    ) -> None:
        """Another impedance of the tip."""
        try:
            self._set(
                cartesian_stiffness=(stiffness, 0.1 * stiffness),
                cartesian_damping=(damping, 0.1 * damping if damping > 0.0 else damping),
                nullspace_stiffness=(posture,),
                cartesian_axes=axes,
                operational_space=decoupled,
                nullspace_projector=projector,
            )
        except RobotDynamicsError:
            return
        self._cycles(20)

    @rule(
        way=st.lists(share, min_size=3, max_size=3),
        turn=st.lists(share, min_size=3, max_size=3),
        reach=spread(1e-3, 0.3),
        count=st.integers(1, 15),
    )
    def poses(self, way: list[float], turn: list[float], reach: float, count: int) -> None:
        """Target poses that move away from the tip's pose at 30 Hz, or a single one."""
        rig, control = self.rig, self.rig.control
        begin = control.dynamics.links.forward_kinematics(rig.plant.position).copy()
        for k in range(count):
            part = reach * (k + 1) / count
            pose = begin.copy()
            pose[:3, 3] += part * np.array(way)
            pose[:3, :3] = rotation_from_vector(part * np.array(turn)) @ pose[:3, :3]
            self._follow_pose(TargetPose(pose), joins=count > 1)
            self._cycles(max(round(1.0 / 30.0 / rig.period), 1))

    @rule(
        values=st.fixed_dictionaries(
            {},
            optional={
                "max_effort_step": spread(0.001, 2.0),
                "model_change_time": spread(0.01, 10.0),
                "max_acceleration": spread(0.3, 60.0).map(lambda value: (value,)),
                "stop_deceleration": spread(0.3, 120.0).map(lambda value: (value,)),
                "stream_horizon": st.sampled_from([-1.0, 0.0, 0.1]),
                "safe_fade_time": spread(0.05, 5.0),
                "loop_delay": st.sampled_from([0.0, 0.002, 0.01]),
                "on_contact": st.sampled_from(["off", "report", "hold", "yield"]),
                "observer_gain": st.sampled_from([0.0, 5.0, 25.0, 200.0]),
            },
        )
    )
    def limits(self, values: dict[str, Any]) -> None:
        """Other live values."""
        self._set(**values)
        self._cycles(10)

    @rule(scale=spread(0.4, 1.0))
    def effort_limits(self, scale: float) -> None:
        """Less effort; what does not carry the arm is refused."""
        described = [self.rig.chain.driving_joint(j).limits.effort for j in range(self.rig.chain.dof)]
        self._set(max_effort=tuple(scale * value for value in described))
        self._cycles(10)

    @rule(duration=spread(0.02, 1.0))
    def block(self, duration: float) -> None:
        """Something blocks the joints for a while, which the controller is not told."""
        self.rig.plant.set_brakes(True)
        self._is_stuck(duration)

    @rule(which=st.integers(0, 5), duration=spread(0.02, 1.0))
    def jam(self, which: int, duration: float) -> None:
        """One joint jams for a while, and is freed."""
        plant, loss = self.rig.plant, self.rig.plant._built.model.dof_frictionloss
        loss[plant._built.drivers[which]] = BRAKE
        self._is_stuck(duration)

    @rule(force=st.lists(share, min_size=3, max_size=3), duration=spread(0.02, 1.0))
    def push(self, force: list[float], duration: float) -> None:
        """Somebody pushes at the tip with up to 40 N along each axis."""
        self.rig.plant.set_wrench(np.concatenate([40.0 * np.array(force), np.zeros(3)]))
        self.excused = np.inf
        self._cycles(round(duration / self.rig.period))
        self.rig.plant.set_wrench(np.zeros(6))
        self.excused = self.rig.time + 2.0
        self._anywhere()

    @rule(age=st.floats(0.0, 0.03), duration=spread(0.01, 0.5))
    def lose(self, age: float, duration: float) -> None:
        """No states for a while."""
        rig = self.rig
        if rig.command is None:
            return
        last, limits = rig.command.effort, rig.control.effort_limits
        for _ in range(round(age / rig.period)):
            rig.plant.advance(rig.period, last)
            rig.time += rig.period
        rig.control.lost_states(age)
        for k in range(max(round(duration / 0.01), 1)):
            safe = rig.control.safe_command(0.01 * k).effort
            assert np.isfinite(safe).all()
            assert (np.abs(safe) <= limits + 1e-9).all(), f"the safe effort is {safe}"
            rig.plant.advance(0.01, safe)
            rig.time += 0.01
        self.excused = rig.time + EXCUSED
        self.resting_by = np.inf
        rig.command = None
        self._anywhere()
        self._cycles(20)

    @rule(factor=st.integers(2, 10), count=st.integers(1, 60))
    def late(self, factor: int, count: int) -> None:
        """States come more rarely for a while: every so many periods."""
        rig = self.rig
        for _ in range(count):
            if self.wrong == "payload":
                self.excused = max(self.excused, rig.time + EXCUSED)
            self.rare = rig.time + EXCUSED
            self._cycles(1)
            self._happened()
            for _ in range(factor - 1):
                rig.plant.advance(rig.period, rig.command.effort)
                rig.time += rig.period
        self._happened()

    @rule(duration=spread(0.02, 4.0))
    def wait(self, duration: float) -> None:
        """Nothing happens."""
        self._cycles(round(duration / self.rig.period))

    def teardown(self) -> None:
        """In the end everything comes to rest."""
        if not self.found:
            self.rig.control.stop_at_once()
            self._stops(self.stops)
            self._cycles(round(4.0 / self.rig.period))

    # What must hold

    def _happened(self) -> None:
        self.event = self.shaken = self.rig.time

    def _is_stuck(self, duration: float) -> None:
        self.blocked = True
        self._cycles(round(duration / self.rig.period))
        self.rig.plant.set_brakes(False)
        self.blocked = False
        self._happened()
        self.room = self.room + 0.05  # the estimate of a load goes back
        if np.isfinite(self.resting_by):  # what has pressed against the obstacle comes back
            self._stops(self.stops)
            # A light joint that a stop holds with raised gains is fast for some states.
            self.excused = max(self.excused, self.rig.time + FREED)
        if self.wrong == "payload":  # it falls until it is known
            self.excused = max(self.excused, self.rig.time + EXCUSED)

    def _set(self, **values: Any) -> bool:
        """Set parameters; whether they were accepted."""
        control = self.rig.control
        before, sag = self.most, self._sag()
        try:
            control.parameters = replace(control.parameters, **values)
        except RobotDynamicsError:
            return False
        # What sagged comes back.
        self.room = self.room + (sag if np.isfinite(sag) else 3.0)
        if np.isfinite(self.resting_by):  # what was still coming back does so with the new values
            self.resting_by = max(self.resting_by, self.rig.time + SETTLING)
        # What is followed keeps the acceleration that it was planned with.
        self.accelerations = np.maximum(self.accelerations, np.maximum(before, self.most))
        self._happened()
        return True

    def _follow(
        self, points: list[Waypoint], goals: list[Any], joins: bool = False, forced: bool = False
    ) -> None:
        """Follow points, where the controller does; given velocities may force an overshoot."""
        rig = self.rig
        here, speed = rig.plant.position, self._speed
        if joins:
            self._joins(goals, speed)
        try:
            rig.control.follow(rig.chain.joint_names, points)
        except RobotDynamicsError:
            return
        self._follows(here, speed, goals, joins, forced)

    def _follow_pose(self, target: TargetPose, joins: bool) -> None:
        """Follow a target pose, where the controller does."""
        rig, control = self.rig, self.rig.control
        here, speed = rig.plant.position, self._speed
        try:
            refused = control.accept(control.plan_pose(target, control.plan_start(None)))
        except RobotDynamicsError as error:
            refused = str(error)
        if target.found is None:
            return
        goals = target.found.positions.tolist()
        if joins:
            self._joins(goals, speed)
        if not refused:
            self._follows(here, speed, goals, joins, False)

    def _joins(self, goals: list[Any], speed: np.ndarray) -> None:
        """A target of a stream, to which those count too that are refused when they come."""
        rig, goal = self.rig, np.asarray(goals[-1])
        # A stream goes on for 1.3 of its periods after the last target, and then brakes.
        elapsed = min(max(rig.time - self.last_goal[0], rig.period), 0.25)
        quick = np.maximum(np.minimum(np.abs(goal - self.last_goal[1]) / elapsed, rig.speeds), speed)
        self.room = np.maximum(self.room, quick**2 / (2.0 * self.most) + 1.5 * elapsed * quick)
        self.last_goal = rig.time, goal
        self.span = np.stack([np.minimum(self.span[0], goal), np.maximum(self.span[1], goal)])

    def _follows(
        self, here: np.ndarray, speed: np.ndarray, goals: list[Any], joins: bool, forced: bool
    ) -> None:
        # Less effort than described may take longer to stop.
        room = speed**2 / (2.0 * self.most) * (3.0 if self.parameters.max_effort else 1.0) + (
            9.0 if forced else 0.0
        )
        if joins:
            self.room = np.maximum(self.room, room)
        else:
            # The plan begins where the reference is, from which an obstacle may have kept the arm, with its
            # acceleration, which a limit that was lowered meanwhile does not change.
            command = self.rig.command
            asked = 0.0 if command is None else np.abs(command.reference.acceleration)
            self.accelerations = np.maximum(self.most, asked)
            begin = here if command is None else command.reference.position
            every = np.vstack([here, begin, *goals])
            self.span, self.room = np.stack([every.min(axis=0), every.max(axis=0)]), room
        self.resting_by = np.inf
        self._happened()

    @property
    def _speed(self) -> np.ndarray:
        """(n,) speed of the arm, or of its reference where that is faster."""
        rig = self.rig
        rates = [] if rig.command is None else [np.abs(rig.command.reference.velocity)]
        return np.asarray(np.max([np.abs(rig.plant.velocity), *rates], axis=0))

    def _stops(self, deceleration: np.ndarray) -> None:
        """A stop begins, unless the arm is free."""
        rig = self.rig
        self._happened()
        if self.parameters.mode in FREE:
            return
        self.room = np.maximum(self.room, rig.plant.velocity**2 / (2.0 * 0.2 * deceleration))
        allowed = 5.0 * float((np.abs(rig.plant.velocity) / deceleration).max()) + SETTLING
        self.resting_by = rig.time + allowed

    def _anywhere(self) -> None:
        """The place is not the operator's: the arm may be there and where it goes from there."""
        rig = self.rig
        self._happened()
        here, room = rig.plant.position, rig.plant.velocity**2 / (2.0 * 0.2 * self.stops)
        # A trajectory in force goes on to its points.
        self.span = np.stack([np.minimum(self.span[0], here), np.maximum(self.span[1], here)])
        self.room = np.maximum(self.room, room)

    def _cycles(self, count: int) -> None:
        rig, limits = self.rig, self.rig.control.effort_limits
        for _ in range(count):
            before, tripped = rig.command, rig.control.trip
            rig.cycle()
            self.found = True
            self._check(before, limits)
            self.found = False
            trip = rig.control.trip
            if trip is not None and trip is not tripped and trip.latched and tripped != trip:
                self._stops(self.stops)

    def _check(self, before: Any, limits: np.ndarray) -> None:
        rig, parameters = self.rig, self.parameters
        now, command = rig.time, rig.command
        free = parameters.mode in FREE
        if free:
            self.excused = max(self.excused, now + EXCUSED)
            self._free()
        q, qd = rig.plant.position, rig.plant.velocity
        quick = np.abs(qd) / rig.speeds
        if self.wrong == "payload" and parameters.loop_delay > DELAYED:
            self.excused = max(self.excused, now + EXCUSED)
        if self.wrong == "payload" and parameters.mode in YIELDING and self._runs_into_a_stop:
            self.excused = max(self.excused, now + EXCUSED)
        if now <= self.excused:
            self._anywhere()
        if now > self.excused and not self.blocked:
            j = int(np.argmax(quick))
            loose = min(parameters.kp) < 50.0 or parameters.mode in YIELDING
            weak = self.scale != 1.0 and (loose or now < SAGS)
            weak = (
                weak or now <= self.rare or self.wrong != "nothing" or parameters.max_effort_step < SLUGGISH
            )
            most = (WEAK if weak else MARGIN) * (1.3 if self._swings else 1.0)
            if self.wrong == "payload":
                most = max(most, LOADED)
            if self.scale != 1.0 and min(parameters.kp) < SOFT:
                most = max(most, SAGGING)
            assert quick[j] < most, f"joint {j} has {quick[j]:.2f} of its speed limit, {self._told()}"
            beyond = np.maximum(self.span[0] - q, q - self.span[1]) - self.room - self._sag()
            j = int(np.argmax(beyond))
            assert beyond[j] < SLACK, f"joint {j} is {beyond[j]:.3f} rad outside its way, {self._told()}"
        if command.phase in (Phase.TRACKING, Phase.HOLDING) and not free:
            asked = np.abs(command.reference.acceleration) / self.accelerations
            j = int(np.argmax(asked))
            assert asked[j] < MARGIN, (
                f"joint {j}'s reference has {asked[j]:.2f} of max_acceleration, {self._told()}"
            )
        if before is not None:
            # A limit that has just been lowered counts at once.
            step = np.abs(command.effort - before.effort) / np.maximum(limits, np.abs(before.effort))
            j = int(np.argmax(step))
            assert step[j] <= max(1.0, parameters.max_effort_step) + 1e-9, (
                f"joint {j}'s effort steps by {step[j]:.2f} of its limit"
            )
            loose = parameters.mode in YIELDING and (not self._damped or quick.max() > FALLS)
            loose = loose or command.phase is not before.phase  # a stop drops what pulled to the reference
            if now - self.shaken > SETTLED and now > self.excused and not (free or loose or self.blocked):
                assert step[j] < STEP, (
                    f"joint {j}'s effort changes by {step[j]:.3f} of its limit, {self._told()}"
                )
        if command.phase is not Phase.HOLDING:
            self.shaken = now
        soft = parameters.mode in YIELDING
        # A load that is not known is estimated with the time constant kp/ki, which is 16/kv.
        known = self.scale == 1.0 and self.wrong == "nothing"
        kp, kv = parameters.kp[0], parameters.kv[0]
        slow = max((8.0 if known else 64.0) / kv, 2.0 * kv / max(kp, 1e-3))  # or it creeps back
        if soft:
            slow = 20.0 * self._softest**-0.5 if self._damped else 20.0
        decay = slow
        resting = command.phase is Phase.HOLDING and now - self.shaken > SETTLING + decay
        if (resting or now > self.resting_by + decay) and now > self.excused and not (free or self.blocked):
            j = int(np.argmax(quick))
            why = "holding" if resting else "stopped"
            assert quick[j] < STILL, (
                f"joint {j} still has {quick[j]:.3f} of its speed limit, {why}, {self._told()}"
            )

    def _told(self) -> str:
        control = self.rig.control
        trip = control.trip
        return (
            f"at {self.rig.time:.3f} s in {self.parameters.mode}, {control.phase.value},"
            f" kp {self.parameters.kp[0]:.3g}, kv {self.parameters.kv[0]:.3g}:"
            f" {'' if trip is None else control.words_of_trip(trip)}"
        )

    def _sag(self) -> float:
        """Distance that an arm with other masses or soft springs may be from its reference [rad]."""
        parameters = self.parameters
        if self.wrong != "nothing":
            return float("inf")  # it may sag and be stopped anywhere; speed, efforts and rest are judged
        slow = 0.2 if min(parameters.kp) < 50.0 or self._swings else 0.0
        wrong = 0.0 if self.scale == 1.0 else 0.2 + 8.0 / min(parameters.kp)
        if parameters.mode in YIELDING:
            return 3.0 if self.scale == 1.0 and self._damped else np.inf
        return max(slow, wrong)

    @property
    def _runs_into_a_stop(self) -> bool:
        """True where all of a joint's effort has not kept it from its end stop."""
        rig = self.rig
        lower, upper = np.array([(limit.lower, limit.upper) for limit in rig.plant.limits]).T
        q, share = rig.plant.position, rig.command.effort / rig.control.effort_limits
        return bool(
            (((q < lower + AT_STOP) & (share > 0.99)) | ((q > upper - AT_STOP) & (share < -0.99))).any()
        )

    @property
    def _softest(self) -> float:
        """Least stiffness of an impedance."""
        parameters = self.parameters
        joints = parameters.mode == "joint_impedance"
        return float(min(parameters.joint_stiffness if joints else parameters.cartesian_stiffness))

    @property
    def _damped(self) -> bool:
        """True for an impedance whose damping is critical."""
        parameters = self.parameters
        if parameters.mode == "joint_impedance":
            return max(parameters.joint_damping) < 0.0
        return max(*parameters.cartesian_damping, parameters.nullspace_damping) < 0.0

    @property
    def _swings(self) -> bool:
        """True for gains whose motion overshoots by more than a twentieth."""
        return bool(self.parameters.kv[0] < 1.4 * self.parameters.kp[0] ** 0.5)

    def _free(self) -> None:
        q = self.rig.plant.position
        self.span = np.stack([q, q])
        self.room = self.rig.plant.velocity**2 / (2.0 * 0.2 * self.stops)
        self.shaken, self.resting_by = self.rig.time, np.inf
