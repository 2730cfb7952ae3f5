"""From waypoints as a user sends them to a reference that a controller can follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.spline import QuinticSpline, minimum_jerk_spline
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

# A waypoint closer than this to the start is not worth a segment of its own [s].
SHORTEST_SEGMENT = 1e-6
LONGEST_TRAJECTORY = 100_000


@dataclass(frozen=True)
class Waypoint:
    """One point of a trajectory, in the order of the trajectory's own joint names.

    Empty velocities or accelerations mean "not given". ``time`` is counted from the trajectory's start [s].
    """

    time: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()


@dataclass(frozen=True)
class Reference:
    """Where the joints shall be: position, velocity and acceleration (n,), in chain order."""

    position: Array
    velocity: Array
    acceleration: Array

    @staticmethod
    def at_rest(position: Array) -> Reference:
        """Hold ``position``."""
        return Reference(np.array(position, dtype=float), np.zeros(len(position)), np.zeros(len(position)))


@dataclass(frozen=True)
class Trajectory:
    """A smooth reference over time; before its start and after its end it is at rest there."""

    spline: QuinticSpline

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
    waypoints: Sequence[Waypoint],
    start_time: float,
    origin: Reference,
    now: float,
) -> Trajectory:
    """A trajectory that leaves ``origin`` without a jump and passes every waypoint that is still ahead.

    Waypoints whose time has passed are skipped. The path starts at the later of ``now`` and ``start_time``,
    with the position, velocity and acceleration of ``origin``, and ends at rest.

    Args:
        chain: gives joint order and limits.
        joint_names: order of the waypoints' values; every joint of the chain exactly once.
        waypoints: at non-negative, strictly increasing times.
        start_time: when time 0 of the waypoints is, on the controller's clock [s].
        origin: reference at the moment of departure, in chain order.
        now: the controller's clock [s].

    Raises:
        TrajectoryError: names the joint or waypoint at fault and what would be right.
    """
    order = _joint_order(chain, joint_names)
    times = np.array([point.time for point in waypoints], dtype=float)
    check_times(times)
    values = [
        _rows(waypoints, field, order, joint_names) for field in ("positions", "velocities", "accelerations")
    ]
    departure = max(now, start_time)
    ahead = waypoints_ahead(times, start_time, departure, now)
    positions, velocities, accelerations = (rows[ahead] for rows in values)
    _check_end(velocities[-1], accelerations[-1], chain)
    spline = minimum_jerk_spline(
        np.concatenate(([departure], times[ahead] + start_time)),
        np.vstack((origin.position, positions)),
        np.vstack((origin.velocity, velocities)),
        np.vstack((origin.acceleration, accelerations)),
    )
    _check_limits(chain, spline, origin)
    return Trajectory(spline)


def _joint_order(chain: KinematicChain, names: Sequence[str]) -> list[int]:
    names = list(names)
    unknown = sorted(set(names) - set(chain.joint_names))
    missing = [name for name in chain.joint_names if name not in names]
    repeated = sorted({name for name in names if names.count(name) > 1})
    for problem, which in (("unknown", unknown), ("missing", missing), ("repeated", repeated)):
        if which:
            raise TrajectoryError(
                f"{problem} joint names {which}; a trajectory must name each of"
                f" {list(chain.joint_names)} once"
            )
    return [names.index(name) for name in chain.joint_names]


def check_times(times: Array) -> None:
    """TrajectoryError unless ``times`` (K,) [s] are finite, not negative and increase strictly."""
    if not 0 < len(times) <= LONGEST_TRAJECTORY:
        raise TrajectoryError(f"{len(times)} waypoints; 1 to {LONGEST_TRAJECTORY} are accepted")
    if not np.all(np.isfinite(times)) or times[0] < 0.0:
        raise TrajectoryError(f"time_from_start of the first waypoint is {times[0]}; it must not be negative")
    for k in np.flatnonzero(np.diff(times) <= 0.0).tolist():
        raise TrajectoryError(
            f"time_from_start of waypoint {k + 1} ({times[k + 1]} s) is not later than that of waypoint {k}"
            f" ({times[k]} s); times must increase strictly"
        )


def waypoints_ahead(times: Array, start_time: float, departure: float, now: float) -> NDArray[np.bool_]:
    """(K,) which waypoints lie after the departure; all times in [s].

    Raises:
        TrajectoryError: none does.
    """
    ahead = times + start_time > departure + SHORTEST_SEGMENT
    if not ahead.any():
        raise TrajectoryError(
            f"every waypoint lies in the past: the last one is due at {times[-1] + start_time:.3f} s,"
            f" the clock says {now:.3f} s"
        )
    return ahead


def _rows(waypoints: Sequence[Waypoint], field: str, order: list[int], names: Sequence[str]) -> Array:
    """(K, n) values in chain order; NaN rows where a waypoint does not give them."""
    rows = np.full((len(waypoints), len(order)), np.nan)
    for k, point in enumerate(waypoints):
        given = getattr(point, field)
        if len(given) == 0 and field != "positions":
            continue
        if len(given) != len(names):
            raise TrajectoryError(f"waypoint {k} has {len(given)} {field} for {len(names)} joints")
        values = np.asarray(given, dtype=float)
        for j in np.flatnonzero(~np.isfinite(values)).tolist():
            raise TrajectoryError(f"waypoint {k}: {field} of joint {names[j]!r} is {values[j]}, not finite")
        rows[k] = values[order]
    return rows


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
                f"joint {name!r} would reach {reached:.4f}, outside its limits"
                f" [{limits.lower}, {limits.upper}]"
            )
        if speed[j] > limits.velocity * 1.01 + abs(origin.velocity[j]):
            raise TrajectoryError(
                f"joint {name!r} would move at {speed[j]:.4f}; its velocity limit is {limits.velocity}"
            )
