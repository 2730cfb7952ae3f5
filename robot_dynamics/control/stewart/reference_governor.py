"""Reference governor: references that keep a machine's limits for any target, and can stop at every step.

In each step the governor takes the acceleration that brings the reference to its target as fast as the pace
allows, or, where that is not safe (see ``envelope``), the nearest one that is on the line between it and a
stop. Where none of these is safe, the plan that was found safe a step before is carried on to its own end.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.stewart.envelope import Pace, ReferenceEnvelope, rotated
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import rotation_from_vector, rotation_vector

SHARES = np.array([0.9, 0.7, 0.5, 0.3])
"""Of the wanted acceleration, the rest being the stop's: tried where the whole is not safe."""
DETOURS = np.array([0.8, 0.4, 0.0])
"""Shares by which ways bend towards home, for a target behind the edge of the workspace."""
TRAIL, TRAIL_STEP = 32, 0.03
"""Number of earlier targets that are kept, and time between two of them [s]."""
ATTEMPTS = 10
"""Steps in a row that find no way, after which there is none."""
BRAKING = 0.6
"""Share of the acceleration with which the approach to a target is planned."""
SHORTEST = 1e-3
"""Shortest part of a plan that is carried on [s]."""
STANDS = 1e-9
"""A reference with a smaller twist and acceleration stands [m/s or rad/s, m/s² or rad/s²]."""
ARRIVED = (1e-6, 1e-5)
"""Nearer and slower than this, a reference has arrived [m or rad, m/s or rad/s]."""


@dataclass(frozen=True)
class PoseTarget:
    """Target of a reference.

    Attributes:
        position: (3,) of the platform's origin, base frame [m].
        rotation: (3, 3).
        twist: (6,) linear and angular, base frame.
        acceleration: (6,) likewise.
        jerk: (6,) likewise.
    """

    position: Array
    rotation: Array
    twist: Array
    acceleration: Array
    jerk: Array = field(default_factory=partial(np.zeros, 6))

    @staticmethod
    def rest(position: Array, rotation: Array) -> PoseTarget:
        """Target to rest at a pose."""
        return PoseTarget(position, rotation, np.zeros(6), np.zeros(6))

    @property
    def motion(self) -> Motion:
        """The target as a motion without load."""
        v, a, zero = self.twist, self.acceleration, np.zeros(3)
        return Motion(self.position, self.rotation, v[:3], v[3:], a[:3], a[3:], zero, zero)


class MeasuredPose(Protocol):
    """Measured pose of a platform.

    Attributes:
        position: (3,) of the platform's origin, base frame [m].
        rotation: (3, 3) from the platform frame to the base frame.
        twist: (6,) linear velocity of the origin and angular velocity, base frame [m/s, rad/s].
    """

    position: Array
    rotation: Array
    twist: Array


@dataclass(frozen=True)
class GovernedReference:
    """A reference from a moment on, with constant acceleration.

    Attributes:
        time: of the moment [s].
        position: (3,) then [m].
        rotation: (3, 3) then.
        twist: (6,) then.
        acceleration: (6,) from then on.
    """

    time: float
    position: Array
    rotation: Array
    twist: Array
    acceleration: Array

    @staticmethod
    def of(time: float, motion: Motion) -> GovernedReference:
        """Reference with the pose, twist and acceleration of a motion."""
        twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
        acceleration = np.concatenate([motion.linear_acceleration, motion.angular_acceleration])
        return GovernedReference(time, motion.position, motion.rotation, twist, acceleration)

    @staticmethod
    def measured(time: float, pose: MeasuredPose) -> GovernedReference:
        """Reference with a measured pose and twist."""
        return GovernedReference(time, pose.position, pose.rotation, pose.twist, np.zeros(6))

    def at(self, time: float) -> GovernedReference:
        """The reference from another moment on [s]."""
        step = time - self.time
        if step == 0.0:
            return self
        moved = step * (self.twist + 0.5 * step * self.acceleration)
        return GovernedReference(
            time,
            self.position + moved[:3],
            rotated(self.rotation, moved[3:]),
            self.twist + step * self.acceleration,
            self.acceleration,
        )

    def eased(self, acceleration: Array, ramp: float) -> GovernedReference:
        """Reference with constant acceleration that a ramp [s] from the present acceleration ends on."""
        change = acceleration - self.acceleration
        moved = change * (ramp * ramp / 6.0)
        return GovernedReference(
            self.time,
            self.position + moved[:3],
            rotated(self.rotation, moved[3:]),
            self.twist - 0.5 * ramp * change,
            acceleration,
        )

    def accelerated(self, acceleration: Array) -> GovernedReference:
        """The reference with another acceleration (6,)."""
        return GovernedReference(self.time, self.position, self.rotation, self.twist, acceleration)

    @property
    def motion(self) -> Motion:
        """The reference as a motion without load."""
        return PoseTarget(self.position, self.rotation, self.twist, self.acceleration).motion


@dataclass(frozen=True)
class GovernedPlan:
    """A reference with its acceleration for a while, and then a stop straight on.

    Attributes:
        reference: to begin with.
        free: duration of its acceleration [s].
        stop_time: duration of the stop; 0: rest after ``free`` [s].
        before: where a linear change of the acceleration to the reference's begins; None: there is none.
        ramp: duration of this change, shorter than ``free`` [s].
    """

    reference: GovernedReference
    free: float
    stop_time: float
    before: GovernedReference | None = None
    ramp: float = 0.0

    def at(self, time: float) -> GovernedReference:
        """The reference from a moment on [s]."""
        stop = self.reference.time + self.free
        since = time - self.reference.time
        if self.before is not None and since < self.ramp:
            here, share = self.before.at(time), since / self.ramp
            change = share * (self.reference.acceleration - self.before.acceleration)
            moved = change * (since * since / 6.0)
            position, rotation = here.position + moved[:3], rotated(here.rotation, moved[3:])
            twist = here.twist + 0.5 * since * change
            return GovernedReference(time, position, rotation, twist, here.acceleration + change)
        if time <= stop:
            return self.reference.at(time)
        after = self.reference.at(stop)
        if time < stop + self.stop_time:
            return after.accelerated(-after.twist / self.stop_time).at(time)
        place = after.accelerated(np.zeros(6)).at(stop + 0.5 * self.stop_time)
        return replace(place, time=time, twist=np.zeros(6))

    def carried_on(self, here: GovernedReference) -> GovernedPlan:
        """The rest of the plan, with its accelerations, from the place where the reference is found to be."""
        left = self.reference.time + self.free - here.time
        ramp = self.reference.time + self.ramp - here.time
        if self.before is not None and ramp > SHORTEST:
            # The place may be beside the plan: a linear change has to lead from there.
            eased = here.eased(self.reference.acceleration, ramp)
            return GovernedPlan(eased, left, self.stop_time, here, ramp)
        if left > SHORTEST:
            return GovernedPlan(here.accelerated(self.reference.acceleration), left, self.stop_time)
        stops = self.reference.at(self.reference.time + self.free)
        had, has = (np.linalg.norm(one.twist.reshape(2, 3), axis=1) for one in (stops, here))
        share = float(np.divide(has, had, out=np.zeros(2), where=had > STANDS).max())
        stop_time = max(self.stop_time + min(left, 0.0), share * self.stop_time, SHORTEST)
        return GovernedPlan(here.accelerated(-here.twist / stop_time), 0.0, stop_time)


class ReferenceGovernor:
    """Brings a reference to a target.

    Args:
        machine: the platform.
        envelope: its limits.
        pace: how fast.
        start: the reference to begin with.

    Attributes:
        envelope: limits of references.
        reference: the present one.
        plan: the last step, and the stop that was found safe after it; None: there has been no step.
        limited: whether the last step was less than what was wanted.
        stuck: whether it stands where no step is safe, e.g. driven beyond its limits.
        jerk: (6,) maximum rate of change of the wanted acceleration.
        stop_jerk: (6,) the same of a stop where no target is given; where it leaves no safe step, stops are
            not limited by it.
        quickness: shortest time constant of the approach to a target's twist; that to its place is four times
            as long [s].
        farthest: largest distance and angle from a target since somebody set it to None; that target, and
            those of the second before it, the newest first.
        confined: a target out of reach counts as the last place within reach on the way to it from home.
        ramp: duration of a linear change of the acceleration, where no limit is near [s].
    """

    def __init__(
        self, machine: Machine, envelope: ReferenceEnvelope, pace: Pace, start: GovernedReference
    ) -> None:
        self._machine = machine
        self.envelope = envelope
        self.pace = pace
        self.reference = start
        self.plan: GovernedPlan | None = None
        self.limited = False
        self.confined = False
        self.quickness = 0.02
        self.ramp = 0.0
        self.farthest: tuple[float, float, tuple[PoseTarget, ...]] | None = None
        self._trail: deque[tuple[float, PoseTarget]] = deque(maxlen=TRAIL)
        self.jerk = np.full(6, np.inf)
        self.stop_jerk = np.full(6, np.inf)
        self._before = (np.inf, np.zeros(6))
        self.stuck = False
        self._stops = False
        self._blocked = 0

    def advance(
        self, time: float, target: PoseTarget | None, step: float | None = None, free: float = 0.0
    ) -> GovernedReference:
        """Advance the reference to ``time`` [s], with its acceleration until the next call.

        Args:
            time: not before the last call's.
            target: where to go; None stops.
            step: to the next call [s]; as long as from the last one when None.
            free: for how long the acceleration is safe at least, before the stop must begin [s].
        """
        step = min(max(time - self.reference.time if step is None else step, 1e-4), 0.1)
        free = max(free, step)
        plan = self.plan
        led = plan is None or plan.reference is not self.reference
        here = self.reference.at(time) if plan is None or led else plan.at(time)
        if plan is not None and self._stops and target is None:
            self._take(plan.carried_on(here))
            return self.reference
        stop = -here.twist / max(float(self.pace.stop_time(here.twist)), free)
        if target is None:
            wanted = self._eased(time, stop, self.stop_jerk)
        else:
            wanted = self._eased(time, self._wanted(here, target, step), self.jerk)
        asked, confined = target, target if self.confined else None
        ramp = min(self.ramp, 0.5 * free)
        start = here.eased(wanted, ramp)
        safe, within = self._safe(start, wanted[None], free, confined)
        if confined is not None and not within:
            target = self._within_reach(confined)
            wanted = self._eased(time, self._wanted(here, target, step), self.jerk)
            start = here.eased(wanted, ramp)
            safe, _ = self._safe(start, wanted[None], free)
        chosen, self.limited = wanted, False
        if not safe[0]:
            start, ramp = here, 0.0
            tried = self._alternatives(here, wanted, stop, target, step)
            safe, _ = self._safe(here, tried, free)
            chosen, self.limited = tried[int(np.argmax(safe))] if safe.any() else stop, True
        if plan is not None and not safe.any():
            self._take(plan.carried_on(here))
        else:
            led_on = start.accelerated(chosen)
            after = led_on.at(time + free).twist
            stop_time = max(float(self.pace.stop_time(after)), free) if after.any() else 0.0
            self._take(GovernedPlan(led_on, free, stop_time, here if ramp else None, ramp))
        self._stops = target is None and not safe.any()
        self._look_for_a_way(here, target, self.reference.acceleration)
        self._before = (time, self.reference.acceleration)
        self._note(here, asked)
        return self.reference

    def _take(self, plan: GovernedPlan) -> None:
        self.plan, self.reference = plan, plan.reference

    def _note(self, here: GovernedReference, asked: PoseTarget | None) -> None:
        """Keep the target from which the reference was farthest."""
        if asked is None:
            return
        way = _way(here, asked)
        found = (float(np.linalg.norm(way[:3])), float(np.linalg.norm(way[3:])))
        if self.farthest is None or max(found) > max(self.farthest[:2]):
            self.farthest = (*found, (asked, *(target for _, target in reversed(self._trail))))
        if not self._trail or here.time - self._trail[-1][0] >= TRAIL_STEP:
            self._trail.append((here.time, asked))

    def _eased(self, time: float, wanted: Array, jerk: Array) -> Array:
        """The wanted acceleration within a jerk (6,) from the one before."""
        began, before = self._before
        if not (np.isfinite(jerk).all() and began < time):
            return wanted
        most = jerk * (time - began)
        return self.pace.cut(before + np.clip(wanted - before, -most, most))

    def _look_for_a_way(self, here: GovernedReference, target: PoseTarget | None, chosen: Array) -> None:
        """Allow a reference that stands beyond a limit its place, from which a way may lead back."""
        # A reference that has been sampled from polynomials stands up to rounding.
        if target is None or np.abs(here.twist).max() > STANDS or np.abs(chosen).max() > STANDS:
            self._blocked = 0
            return
        self.envelope.widen(here.position, here.rotation)
        self._blocked += 1
        self.stuck = self._blocked > ATTEMPTS

    def _within_reach(self, target: PoseTarget) -> PoseTarget:
        """Target in whose pose the machine can rest: the last such on the way from home to it."""
        position, rotation = self.envelope.reachable(target.position, target.rotation, self.pace)
        if position is target.position:
            return target
        return PoseTarget.rest(position, rotation)

    def arrived(self, target: PoseTarget) -> bool:
        """Check whether the reference rests at a target."""
        near, slow = ARRIVED
        here = self.reference
        error = np.abs(here.position - target.position).max()
        turn = np.abs(rotation_vector(target.rotation @ here.rotation.T)).max()
        return bool(max(error, turn) < near and np.abs(here.twist).max() < slow)

    def _safe(
        self, here: GovernedReference, accelerations: Array, step: float, target: PoseTarget | None = None
    ) -> tuple[NDArray[np.bool_], bool]:
        """(M,) which accelerations are safe, and whether the machine can rest at a target."""
        place = None if target is None else _way(here, target)
        return self.envelope.safe_steps(
            here.position, here.rotation, here.twist, accelerations, step, self.pace, place
        )

    def _alternatives(
        self, here: GovernedReference, wanted: Array, stop: Array, target: PoseTarget | None, step: float
    ) -> Array:
        """(M, 6) accelerations to try in place of one that is not safe, the best first."""
        tried = [stop + share * (wanted - stop) for share in SHARES]
        if target is not None:
            home, level = self._machine.home_position, self._machine.home_rotation
            turn = rotation_vector(target.rotation @ level.T)
            for share in DETOURS:
                bent = PoseTarget.rest(
                    home + share * (target.position - home), rotation_from_vector(share * turn) @ level
                )
                tried.append(self._wanted(here, bent, step))
        return np.array([*tried, *(stop + share * (wanted - stop) for share in (0.1, 0.0))])

    def _wanted(self, here: GovernedReference, target: PoseTarget, step: float) -> Array:
        """Acceleration towards a target without regard to the legs' strokes, angles and forces."""
        error = _way(here, target)
        hold = max(4.0 * step, self.quickness)
        approach = error / (4.0 * hold)
        for part, way, most in (
            (approach[:3], error[:3], self.pace.acceleration),
            (approach[3:], error[3:], self.pace.angular_acceleration),
        ):
            size = math.sqrt(float(part @ part))
            fastest = math.sqrt(2.0 * BRAKING * most * math.sqrt(float(way @ way)))
            if size > fastest:
                part *= fastest / size
        rate = target.twist + approach
        legs = leg_geometry(self._machine, here.position, here.rotation)
        asked = np.abs(legs.jacobian @ rate) / self.pace.leg_speed
        most_asked = float(asked.max()) / 0.95
        if most_asked > 1.0:
            rate = rate / most_asked
        return self.pace.cut(target.acceleration + (rate - here.twist) / hold)


def _way(here: GovernedReference, target: PoseTarget) -> Array:
    """(6,) from a reference to a target: translation and rotation vector, base frame."""
    turn = rotation_vector(target.rotation @ here.rotation.T)
    return np.concatenate([target.position - here.position, turn])
