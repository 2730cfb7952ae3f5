"""Streams of an arm: targets of one point that come one by one, each while the arm moves to the one before.

Followed one by one the arm would start and stop at every target. As a stream it moves smoothly through them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.trajectory import Reference, Trajectory, whole_turns
from robot_dynamics.control.protocol import PlanStart
from robot_dynamics.control.smoothing import (
    BEYOND,
    DELAY,
    LONGEST_PERIOD,
    NEEDED,
    SHORTEST_BEYOND,
    SHORTEST_GAP,
    StreamFilter,
)
from robot_dynamics.control.spline import QuinticSpline, hermite_spline
from robot_dynamics.control.stream_clock import SenderClock
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array

HORIZON = LONGEST_PERIOD
"""Longest duration of a trajectory of one point that may belong to a stream [s]."""
JUMP = 3.0
"""Factor on the velocity limits beyond which two targets are not of one motion."""
PAUSE = 0.5
"""Time without a target after which a stream that a command has ended may begin anew [s]."""
QUICKNESS = 0.02
"""Shortest time constant of the approach to a target's velocity; to its place four times as long [s]."""
JOINING = 0.25
"""Share of the velocity limit with which a target is approached."""
BRAKING = 0.3
"""Share of the acceleration with which the approach to a target is planned."""
STEPS = 4.0
"""Steps of the reference in a period."""
SHORTEST_STEP, LONGEST_STEP = 0.004, 0.01
"""Bounds of such a step [s]."""
REPLACED = 5
"""Trajectories in a row that were replaced before their end, about which something is said."""
STOP_STEP = 1e-4
"""Joints brake for whole multiples of this time [s]."""
STANDS = 1e-9


@dataclass(frozen=True)
class StreamParameters:
    """Streams of targets."""

    stream_horizon: float = parameter(
        0.0,
        "Longest duration of a trajectory of one point on the topic that is followed as a part of a stream,"
        f" smoothed, when {NEEDED} of them come in a row; 0: {HORIZON:g}; -1: each is followed by itself",
        unit="s",
        minimum=-1.0,
        maximum=HORIZON,
    )

    def __post_init__(self) -> None:
        validate(self)


class JointTarget(NamedTuple):
    """A target of a stream.

    Attributes:
        position: (n,) [rad or m].
        velocity: (n,) [rad/s or m/s]; None where the sender gives none.
    """

    position: Array
    velocity: Array | None


class JointFilter(StreamFilter[JointTarget]):
    """Smooth motion of joints through the targets of a stream."""

    def ways(self, middle: JointTarget, samples: Sequence[JointTarget]) -> Array:
        """(K, n) differences of the positions."""
        return np.array([one.position for one in samples]) - middle.position

    def rates(self, samples: Sequence[JointTarget]) -> Array | None:
        """(K, n) velocities."""
        given = [one.velocity for one in samples if one.velocity is not None]
        return np.array(given) if len(given) == len(samples) else None


class StreamLimits(NamedTuple):
    """Limits of a stream's reference.

    Attributes:
        lower, upper: (n,) positions [rad or m].
        velocity: (n,) [rad/s or m/s].
        acceleration: (n,) [rad/s² or m/s²].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array


class JointStream:
    """Targets of one sender, and the path through them.

    Args:
        chain: the arm.
    """

    def __init__(self, chain: KinematicChain) -> None:
        self._chain = chain
        self._filter = JointFilter(LONGEST_PERIOD)
        self._clock = SenderClock()
        self._lock = threading.Lock()
        self._barred = ""
        self._seen = self._latest = -math.inf
        self._lead = 0.0
        self._table: WaypointTable | None = None
        self._horizon = 0.0
        self._told = False
        self._end, self._replaced = -math.inf, 0

    def clear(self) -> None:
        """Begin anew."""
        self._filter.clear()
        self._clock.clear()
        self._latest, self._horizon, self._told = -math.inf, math.inf, False

    def coming(self, now: float) -> bool:
        """Check whether targets of a stream come at ``now`` [s]."""
        return self._filter.ready and 0.0 <= now - self._seen < PAUSE

    def last(self, now: float) -> Array | None:
        """(n,) last target of the targets that come at ``now`` [s]; None where none come."""
        before = self._filter.last
        return before.position if before is not None and 0.0 <= now - self._seen < PAUSE else None

    def end(self, what: str, now: float) -> None:
        """Let a command end the stream that comes at ``now`` [s]; it begins anew after a pause."""
        with self._lock:
            if self.coming(now):
                self._barred = what
            self.clear()

    def refuse(self, what: str, now: float) -> None:
        """A trajectory is refused at ``now`` [s]: a stream that goes on begins only after a pause."""
        with self._lock:
            self._barred, self._seen = what, now
            self.clear()

    # Targets

    def plan(
        self,
        joint_names: Sequence[str],
        table: WaypointTable,
        plan_start: PlanStart[Reference],
        rules: PathRules,
        horizon: float,
        limits: StreamLimits,
    ) -> Trajectory | None:
        """Trajectory through the targets of a stream; None where it is to be followed by itself.

        Args:
            joint_names: order of the table's values.
            table: of the trajectory.
            plan_start: where it begins.
            rules: of trajectories.
            horizon: longest time to a target; 0: no trajectory belongs to a stream [s].
            limits: of the path.

        Raises:
            TrajectoryError: the target is out of reach, or a command has ended the stream.
        """
        due = plan_start.start + float(table.times[0]) - plan_start.now
        if len(table.times) > 1 or not (horizon > 0.0 and -LONGEST_PERIOD < due <= horizon):
            self.end("a trajectory", plan_start.now)
            return None
        moved, order = rules.order(self._chain.joint_names, joint_names)
        with self._lock:
            if len(moved) < self._chain.dof or not self.add(table, order, plan_start):
                return None
            return Trajectory(self.path(plan_start, limits), self._remark(), streamed=True)

    def add(self, table: WaypointTable, order: Sequence[int], plan_start: PlanStart[Reference]) -> bool:
        """Take a target; whether the stream is followed.

        Args:
            table: of the target.
            order: place of each joint in it.
            plan_start: of the trajectory to it.

        Raises:
            TrajectoryError: it is none of this stream's motion, or a command has ended the stream.
        """
        now = plan_start.now
        paused, self._seen = not 0.0 <= now - self._seen < PAUSE, now
        self._barred = "" if paused else self._barred
        if self._barred:
            raise TrajectoryError(
                f"{self._barred} has ended this stream; pause it for {PAUSE:g} s to begin anew"
            )
        if table is self._table:  # its plan came late and is made again
            return self._filter.ready
        self._table = table
        due = plan_start.start + float(table.times[0])
        unstamped, lead = plan_start.start == now, due - now
        # One sender's targets are equally far ahead: across a change the smooth path would swing.
        if not 0.0 < due - self._latest < self._filter.gap or (
            unstamped and abs(lead - self._lead) > SHORTEST_GAP
        ):
            self.clear()
        self._lead = lead
        before = self._filter.last
        near = plan_start.origin.position if before is None else before.position
        position = table.positions[0][list(order)]
        position = position + whole_turns(self._chain, position, near)
        velocity = table.velocities[0][list(order)]
        sample = JointTarget(position, None if np.isnan(velocity).any() else velocity)
        if before is not None and self._jumps(position - before.position, due - self._latest):
            if self._filter.ready:
                raise TrajectoryError("the target is out of reach of the one before it in its stream")
            self.clear()
        tick = self._clock.tick(due, position)
        self._latest, self._horizon = due, min(self._horizon, lead)
        self._filter.add(sample, tick if unstamped and self._clock.on_ticks else due, now, self._clock.period)
        return self._filter.ready

    def _jumps(self, way: Array, elapsed: float) -> bool:
        most = JUMP * self._velocities * max(elapsed, self._clock.period)
        return bool((np.abs(way) > most).any())

    @property
    def _velocities(self) -> Array:
        return np.array([self._chain.driving_joint(j).limits.velocity for j in range(self._chain.dof)])

    # The path

    def path(self, plan_start: PlanStart[Reference], limits: StreamLimits) -> QuinticSpline:
        """Path through the targets as far as they are known, and then a stop.

        Args:
            plan_start: where it begins.
            limits: of the path.

        Raises:
            TrajectoryError: the target is out of the limits of its joint.
        """
        here = plan_start.origin
        limits = limits._replace(
            lower=np.minimum(limits.lower, here.position), upper=np.maximum(limits.upper, here.position)
        )
        self._check(limits)
        period, time = self._filter.period, max(plan_start.start, plan_start.now)
        step = min(max(period / STEPS, SHORTEST_STEP), LONGEST_STEP)
        lag = max(0.0, DELAY * period - max(0.0, self._horizon))
        times, states = [time], [(here.position, here.velocity)]
        accelerations = []
        last = self._filter.latest + max(BEYOND * period, SHORTEST_BEYOND) + lag
        known, ending = None, self._filter.last
        assert ending is not None
        while time < last and (target := self._filter.smoothed(time - lag)) is not None:
            place = target.middle.position + target.way
            rate, bend = target.rate, target.second + 0.5 * step * target.third
            room = np.full(len(rate), np.inf)
            if time - lag > self._filter.latest:
                # No target says that the motion gets faster still, or where it is then.
                known = known or self._filter.smoothed(self._filter.latest) or target
                rate = np.clip(rate, -np.abs(known.rate), np.abs(known.rate))
                bend = np.where(bend * rate < 0.0, bend, 0.0)
                left = ending.position - states[-1][0]
                room = np.where(left * (place - states[-1][0]) > 0.0, np.abs(left), 0.0)
            accelerations.append(_approach(*states[-1], place, rate, bend, room, step, limits))
            position, velocity = states[-1]
            acceleration = accelerations[-1]
            moved = step * (velocity + 0.5 * step * acceleration)
            states.append((position + moved, velocity + step * acceleration))
            time += step
            times.append(time)
        self._stop(times, states, accelerations, limits.acceleration)
        places, rates = (np.array([state[k] for state in states]) for k in range(2))
        bends = np.array(accelerations)
        begins = np.stack([places[:-1], rates[:-1], bends], axis=1)
        ends = np.stack([places[1:], rates[1:], bends], axis=1)
        return hermite_spline(np.array(times), begins, ends)

    def _check(self, limits: StreamLimits) -> None:
        last = self._filter.last
        assert last is not None
        for j in np.flatnonzero((last.position < limits.lower) | (last.position > limits.upper)).tolist():
            own = self._chain.driving_joint(j).limits
            raise TrajectoryError(
                f"joint {self._chain.joint_names[j]!r} would reach {short(last.position[j], 4)}, outside its"
                f" limits [{own.lower}, {own.upper}]"
            )

    @staticmethod
    def _stop(
        times: list[float], states: list[tuple[Array, Array]], accelerations: list[Array], most: Array
    ) -> None:
        """Append a stop: every joint brakes until it rests, with its acceleration or a little less."""
        position, velocity = states[-1]
        # Whole steps: a shorter piece of the path has an acceleration of rounding errors.
        needed = np.ceil(np.abs(velocity) / (most * STOP_STEP)) * STOP_STEP
        rests = np.where(np.abs(velocity) > STANDS, needed, 0.0)
        began, before = times[-1], 0.0
        for until in [*np.unique(rests[rests > 0.0]).tolist(), *([] if rests.any() else [SHORTEST_STEP])]:
            moving = rests > before
            acceleration = np.where(moving, -velocity / np.maximum(rests - before, STOP_STEP), 0.0)
            step = until - before
            position = position + step * (velocity + 0.5 * step * acceleration)
            velocity = np.where(rests > until, velocity + step * acceleration, 0.0)
            times.append(began + until)
            states.append((position, velocity))
            accelerations.append(acceleration)
            before = until

    # Reports

    def _remark(self) -> tuple[str, ...]:
        """Report of a stream that begins to be followed; empty once a plan that carries it is accepted."""
        if self._told:
            return ()
        rate = short(1.0 / self._filter.period)
        return (
            f"targets of one point come at {rate} Hz, each before the motion to the one before ends: they are"
            " followed as a stream, smoothed",
        )

    def accepted(self, trajectory: Trajectory) -> None:
        """Count a trajectory that replaces one before its end; what it reports is logged."""
        self._told = self._told or (trajectory.streamed and bool(trajectory.remarks))
        self._replaced = self._replaced + 1 if trajectory.start < self._end and not trajectory.carried else 0
        self._end = trajectory.end

    def remarked(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory, with a remark where none has ended for a while; it is made once."""
        if self._replaced != REPLACED or not trajectory.start < self._end:
            return trajectory
        remark = (
            f"{REPLACED + 1} trajectories in a row have been replaced before they ended: wait for their end,"
            f" or send targets of one point within {HORIZON:g} s as a stream"
        )
        return replace(trajectory, remarks=(*trajectory.remarks, remark))


def _approach(
    position: Array,
    velocity: Array,
    place: Array,
    rate: Array,
    bend: Array,
    room: Array,
    step: float,
    limits: StreamLimits,
) -> Array:
    """Accelerations (n,) for a step [s] towards a moving target; every joint can stop within its limits.

    Within the ``room`` it comes nearer; at its end it is only as fast as the target.
    """
    hold, most = max(STEPS * step, QUICKNESS), limits.acceleration
    error = place - position
    fastest = np.minimum(
        np.sqrt(2.0 * BRAKING * most * np.minimum(np.abs(error), room)), JOINING * limits.velocity
    )
    asked = rate + np.clip(error / (4.0 * hold), -fastest, fastest)
    wanted = velocity + step * np.clip(bend + (asked - velocity) / hold, -most, most)
    highest = np.minimum(limits.velocity, _braked(limits.upper - position, velocity, step, most))
    lowest = np.maximum(-limits.velocity, -_braked(position - limits.lower, -velocity, step, most))
    bounded = np.clip(wanted, np.minimum(lowest, highest), np.maximum(lowest, highest))
    return np.asarray(np.clip((bounded - velocity) / step, -most, most))


def _braked(room: Array, velocity: Array, step: float, most: Array) -> Array:
    """Velocities (n,) after a step [s] from which joints stop within a room; 0 where there is none."""
    with np.errstate(invalid="ignore"):
        square = 0.25 * step * step + 2.0 * (room - 0.5 * step * velocity) / most
    return np.asarray(np.where(square > 0.0, most * (np.sqrt(np.maximum(square, 0.0)) - 0.5 * step), 0.0))
