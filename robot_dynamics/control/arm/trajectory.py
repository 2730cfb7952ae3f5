"""From waypoints as a user sends them to a reference that a controller can follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.arm.path_rules import PathRules, with_others_held
from robot_dynamics.control.arm.side_by_side import ahead_of, beside
from robot_dynamics.control.moving_start import Stopping, decelerations, moving_spline, unlimited_stop
from robot_dynamics.control.shape import allowance, strays
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import (
    Waypoint,
    WaypointTable,
    check_times,
    tabulate,
    waypoints_ahead,
)
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array

_STAYS = 0.02  # a joint outside its limits that moves less may stay there [rad or m]
ANY_PATH = PathRules()
"""Nothing beyond the chain's own limits; every joint is named."""


@dataclass(frozen=True, init=False)
class Reference:
    """Reference of the joints: position, velocity and acceleration (n,), in chain order."""

    position: Array
    velocity: Array
    acceleration: Array

    def __init__(self, position: Array, velocity: Array, acceleration: Array) -> None:
        own = self.__dict__  # see Command
        own["position"], own["velocity"], own["acceleration"] = position, velocity, acceleration

    @staticmethod
    def at_rest(position: Array) -> Reference:
        """Hold ``position``."""
        return Reference(np.array(position, dtype=float), np.zeros(len(position)), np.zeros(len(position)))


@dataclass(frozen=True)
class Trajectory:
    """A smooth reference over time; before its start and after its end it is at rest there.

    Attributes:
        spline: of the joints.
        remarks: what whoever sent it should know, such as an overshoot that given velocities force.
        stretch: duration relative to the one that was asked for; other than 1 after retiming.
        streamed: whether it is a part of a stream of targets.
        joints: indices of the joints that it was sent for; empty: all.
        until: when these arrive, where others move on [s]; infinite: at the end.
        carried: trajectories of other joints that go on in it.
        untested: how it leaves the ranges in which the model was identified by far, to be said once.
    """

    spline: QuinticSpline
    remarks: tuple[str, ...] = ()
    stretch: float = 1.0
    streamed: bool = False
    joints: tuple[int, ...] = ()
    until: float = np.inf
    carried: tuple[Trajectory, ...] = ()
    untested: str = ""

    @property
    def arrival(self) -> float:
        """Time at which the joints that it was sent for arrive [s], on the controller's clock."""
        return min(self.until, self.end)

    @property
    def start(self) -> float:
        """[s], on the controller's clock."""
        return float(self.spline.times[0])

    @property
    def end(self) -> float:
        """[s], on the controller's clock."""
        return float(self.spline.times[-1])

    def sample(self, time: float) -> Reference:
        """The reference at ``time`` [s]."""
        if time >= self.end:
            return Reference.at_rest(self.spline.sample(self.end)[0])
        return Reference(*self.spline.sample(time))


def plan(
    chain: KinematicChain,
    joint_names: Sequence[str],
    waypoints: Sequence[Waypoint] | WaypointTable,
    start_time: float,
    origin: Reference,
    now: float,
    rules: PathRules = ANY_PATH,
    stopping: Stopping = unlimited_stop,
    retiming: Callable[[QuinticSpline], QuinticSpline] | None = None,
    queue: Sequence[Trajectory] = (),
) -> Trajectory:
    """A trajectory that leaves ``origin`` without a jump and passes every waypoint that is still ahead.

    Waypoints whose time has passed are skipped. The path starts at the later of ``now`` and ``start_time``,
    with the position, velocity and acceleration of ``origin``, and ends at rest. Where velocities are open
    it stays between its waypoints; from a moving start it goes no farther than a stop takes it.

    Args:
        chain: gives joint order and limits.
        joint_names: order of the waypoints' values; every joint of the chain exactly once, unless the rules
            let some be left out.
        waypoints: at non-negative, strictly increasing times; as objects, or as arrays in the same order.
        start_time: when time 0 of the waypoints is, on the controller's clock [s].
        origin: reference at the plan start, in chain order.
        now: the controller's clock [s].
        rules: what the path may be beyond the chain's own limits.
        stopping: how hard each joint can brake where it has to come back.
        retiming: makes another timing of the path; None: it keeps its own.
        queue: trajectories that are followed or wait, the last one first: joints that are left out go on with
            them.

    Raises:
        TrajectoryError: names the joint or waypoint at fault and what would be right.
    """
    moved = rules.order(chain.joint_names, joint_names)[0]
    partial, switch_time = len(moved) < chain.dof, max(now, start_time)
    others = ahead_of(queue, switch_time) if partial else None
    alone = origin if others is None else _resting_but(moved, origin)
    spline = path_of(chain, joint_names, waypoints, start_time, alone, now, rules, stopping)
    given, asked = overshoots(chain.joint_names, spline), np.ptp(spline.times)
    if retiming is not None:
        spline = retiming(spline)
    stretch, joints = float(np.ptp(spline.times) / asked), tuple(moved) if partial else ()
    _check_limits(chain, spline, alone)
    rules.check(chain.joint_names, spline)
    if others is None:
        return Trajectory(spline, given, stretch, joints=joints)
    carried, until = others.going_on(moved, switch_time), float(spline.times[-1])
    whole = beside(spline, moved, others)
    return Trajectory(whole, given, stretch, joints=joints, until=until, carried=carried)


def _resting_but(moved: Sequence[int], origin: Reference) -> Reference:
    """The reference in which all joints rest but those that are moved."""
    rates = [np.zeros_like(origin.position) for _ in range(2)]
    for rate, given in zip(rates, (origin.velocity, origin.acceleration), strict=True):
        rate[list(moved)] = given[list(moved)]
    return Reference(origin.position, *rates)


def path_of(
    chain: KinematicChain,
    joint_names: Sequence[str],
    waypoints: Sequence[Waypoint] | WaypointTable,
    start_time: float,
    origin: Reference,
    now: float,
    rules: PathRules = ANY_PATH,
    stopping: Stopping = unlimited_stop,
) -> QuinticSpline:
    """The path of :func:`plan`, without regard to limits."""
    moved, order = rules.order(chain.joint_names, joint_names)
    table = waypoints if isinstance(waypoints, WaypointTable) else tabulate(waypoints, joint_names)
    check_times(table.times)
    switch_time = max(now, start_time)
    ahead = table.where(waypoints_ahead(table.times, start_time, switch_time, now)).in_order(order)
    if len(moved) < chain.dof:
        state = (origin.position, origin.velocity, origin.acceleration)
        ahead = with_others_held(ahead, moved, chain.joint_names, state)
    first = origin.position.copy()
    first[moved] = table.positions[0][order]
    with np.errstate(over="ignore", invalid="ignore"):  # a path of absurd numbers is refused below
        ahead.positions[:] += whole_turns(chain, first, origin.position)
    _check_end(ahead.velocities[-1], ahead.accelerations[-1], chain)
    return moving_spline(
        np.concatenate(([switch_time], ahead.times + start_time)),
        np.vstack((origin.position, ahead.positions)),
        np.vstack((origin.velocity, ahead.velocities)),
        np.vstack((origin.acceleration, ahead.accelerations)),
        _braking(chain, origin, rules, stopping),
    )


def _braking(chain: KinematicChain, origin: Reference, rules: PathRules, stopping: Stopping) -> Array:
    """(n,) decelerations from a moving origin."""
    found = np.full(chain.dof, np.inf)
    if origin.velocity.any():
        found = stopping(origin.position, origin.velocity)
    allowed = np.array([rules.acceleration.get(name, np.inf) for name in chain.joint_names])
    return decelerations(found, allowed, origin.velocity, origin.acceleration)


def overshoots(joint_names: Sequence[str], spline: QuinticSpline) -> tuple[str, ...]:
    """A remark for each joint that leaves the interval between two knots; the widest one of each."""
    beyond = np.maximum(*strays(spline))
    distance = spline.coefficients[:, 1:].sum(axis=1)
    beyond = np.where(beyond > allowance(distance), beyond, 0.0)
    start, remarks = spline.times[0], []
    for j in np.flatnonzero(beyond.any(axis=0)).tolist():
        k = int(np.argmax(beyond[:, j]))
        since, until = (short(float(spline.times[i] - start)) for i in (k, k + 1))
        far = short(float(beyond[k, j]), 4)
        remarks.append(
            f"joint {joint_names[j]!r} goes {far} rad or m beyond its waypoints between {since} s and"
            f" {until} s: the velocities or accelerations given there force it"
        )
    return tuple(remarks)


def turns(chain: KinematicChain) -> Array:
    """(n,) turn after which the position of a continuous joint may begin anew; 0: it does not [rad]."""
    found = np.zeros(chain.dof)
    for j in range(chain.dof):
        joint = chain.driving_joint(j)
        alone = sum(other.coordinate == joint.coordinate for other in chain.joints) == 1
        unlimited = not (np.isfinite(joint.limits.lower) or np.isfinite(joint.limits.upper))
        found[j] = 2.0 * np.pi * (joint.kind is JointKind.REVOLUTE and alone and unlimited)
    return found


def whole_turns(chain: KinematicChain, first: Array, origin: Array) -> Array:
    """(n,) whole turns [rad] of continuous joints that bring a first waypoint (n,) nearest an origin (n,).

    Turns between waypoints stay: the whole path is shifted.
    """
    return np.where(turns(chain) > 0.0, 2.0 * np.pi * np.round((origin - first) / (2.0 * np.pi)), 0.0)


def _check_end(velocities: Array, accelerations: Array, chain: KinematicChain) -> None:
    """The last waypoint is at rest: what it leaves open becomes zero, anything else is refused."""
    for what, values in (("velocity", velocities), ("acceleration", accelerations)):
        values[np.isnan(values)] = 0.0
        if what == "velocity":
            for j in np.flatnonzero(np.abs(values) > 1e-6).tolist():
                raise TrajectoryError(
                    f"the last waypoint moves joint {chain.joint_names[j]!r} at {values[j]} (rad/s or m/s);"
                    " a trajectory must end at rest"
                )


def _check_limits(chain: KinematicChain, spline: QuinticSpline, origin: Reference) -> None:
    lowest, highest, speed = spline.extremes()
    for j, name in enumerate(chain.joint_names):
        limits = chain.driving_joint(j).limits
        tolerance = 1e-6
        # An arm that already stands outside a limit must be allowed to move back in.
        lower = min(limits.lower, origin.position[j]) - tolerance
        upper = max(limits.upper, origin.position[j]) + tolerance
        if lowest[j] < lower or highest[j] > upper:
            reached = lowest[j] if lowest[j] < lower else highest[j]
            raise TrajectoryError(
                f"joint {name!r} would reach {short(reached, 4)}, outside its limits"
                f" [{limits.lower}, {limits.upper}]"
            )
        end = spline.sample(spline.times[-1])[0][j]
        stays = max(highest[j] - origin.position[j], origin.position[j] - lowest[j]) <= _STAYS
        if not stays and not limits.lower - tolerance <= end <= limits.upper + tolerance:
            raise TrajectoryError(
                f"joint {name!r} would end at {short(end, 4)}, outside its limits [{limits.lower},"
                f" {limits.upper}]: from outside only a way back into them is followed"
            )
        # From a moving start it may go on as fast as it moves, and no faster.
        if speed[j] > max(limits.velocity * 1.01, abs(origin.velocity[j]) * (1.0 + 1e-9)):
            raise TrajectoryError(
                f"joint {name!r} would move at {short(speed[j], 4)}; its velocity limit is {limits.velocity}"
            )
