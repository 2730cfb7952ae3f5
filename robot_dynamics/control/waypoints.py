"""The points of a joint trajectory: as a user gives them, and as arrays to compute with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain as joined
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import TrajectoryError, of_wrong_type, quoted, short
from robot_dynamics.inputs.arrays import listed, of_type, plain_text, real_array, real_number
from robot_dynamics.spatial import Array

# A waypoint closer than this to the start is not worth a segment of its own [s].
SHORTEST_SEGMENT = 1e-6
LONGEST_TRAJECTORY = 100_000
"""Most waypoints of one trajectory."""
_NAMED = 5  # names that a message about a long list of them quotes


_FIELDS = ("positions", "velocities", "accelerations")
_LISTS = (list, tuple, np.ndarray)


@dataclass(frozen=True)
class Waypoint:
    """One point of a trajectory, in the order of the trajectory's own joint names.

    Empty velocities or accelerations mean "not given". ``time`` is counted from the trajectory's start [s].
    """

    time: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()

    def __post_init__(self) -> None:
        # Numbers are looked at where many points are together; here, that there are some.
        if type(self.time) is not float:
            real_number("time of a Waypoint", self.time, TrajectoryError)
        for name in _FIELDS:
            value = getattr(self, name)
            if type(value) not in _LISTS:
                kept = listed(f"{name} of a Waypoint", value, TrajectoryError, LONGEST_TRAJECTORY)
                object.__setattr__(self, name, kept)


@dataclass(frozen=True)
class WaypointTable:
    """K points of m joints as arrays; what a point leaves open is a row of NaN.

    Attributes:
        times: (K,) since the trajectory's start [s].
        positions: (K, m) [rad or m].
        velocities: (K, m) [rad/s or m/s].
        accelerations: (K, m) [rad/s² or m/s²].
    """

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array

    def in_order(self, order: Sequence[int]) -> WaypointTable:
        """The same points with the joints ``order`` of them."""
        return WaypointTable(
            self.times, self.positions[:, order], self.velocities[:, order], self.accelerations[:, order]
        )

    def where(self, chosen: NDArray[np.bool_]) -> WaypointTable:
        """The points (K,) that are chosen."""
        return WaypointTable(
            self.times[chosen], self.positions[chosen], self.velocities[chosen], self.accelerations[chosen]
        )


def tabulate(waypoints: Sequence[Waypoint], joint_names: Sequence[str]) -> WaypointTable:
    """The points as arrays, in time proportional to their number.

    Raises:
        TrajectoryError: too many points, a value that is not finite, or one too few or too many.
    """
    of_type("waypoints", waypoints, Sequence)
    waypoints = listed("waypoints", waypoints, TrajectoryError, 10 * LONGEST_TRAJECTORY)
    check_count(len(waypoints))
    for point in waypoints:
        of_type("a waypoint", point, Waypoint)
    times = real_array("time of the waypoints", [point.time for point in waypoints], TrajectoryError)
    if times.ndim != 1:
        raise TrajectoryError("time of the waypoints: each must be one number")
    return WaypointTable(times, *(_rows(waypoints, field, joint_names) for field in _FIELDS))


def _rows(waypoints: Sequence[Waypoint], field: str, names: Sequence[str]) -> Array:
    given = [getattr(point, field) for point in waypoints]
    for k, entry in enumerate(given):
        is_list = isinstance(entry, Sequence | np.ndarray) and not isinstance(entry, str | bytes)
        if not is_list or (isinstance(entry, np.ndarray) and entry.ndim == 0):
            raise of_wrong_type(TrajectoryError)(
                f"waypoint {k}: {field} is {quoted(entry)}; it must be a list of numbers"
            )
    counts = np.fromiter(map(len, given), dtype=int, count=len(given))
    check_lengths(counts, field, len(names))
    values = real_array(f"{field} of the waypoints", list(joined.from_iterable(given)), TrajectoryError)
    if values.shape != (counts.sum(),):
        raise TrajectoryError(f"{field} of the waypoints: each must be one number a joint")
    rows = np.full((len(given), len(names)), np.nan)
    rows[counts > 0] = values.reshape(-1, max(1, len(names)))
    check_finite(rows, counts, field, names)
    return rows


def check_count(count: int) -> None:
    """TrajectoryError unless a trajectory may have so many waypoints."""
    if not 0 < count <= LONGEST_TRAJECTORY:
        raise TrajectoryError(f"{count} waypoints; 1 to {LONGEST_TRAJECTORY} are accepted")


def check_lengths(counts: NDArray[np.integer[Any]], field: str, joints: int) -> None:
    """TrajectoryError unless every waypoint has one value a joint, or none of a field that may be left open.

    Args:
        counts: (K,) how many values each waypoint has.
        field: which they are of.
        joints: number of the trajectory's joints.
    """
    wrong = (counts != joints) & ((counts != 0) | (field == "positions"))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise TrajectoryError(f"waypoint {k} has {counts[k]} {field} for {joints} joints")


def check_finite(rows: Array, counts: NDArray[np.integer[Any]], field: str, names: Sequence[str]) -> None:
    """TrajectoryError unless ``rows`` (K, m) are finite where a waypoint gives any, by its count (K,)."""
    wrong = ~np.isfinite(rows).all(axis=1) & (counts > 0)
    if wrong.any():
        k = int(np.argmax(wrong))
        j = int(np.argmin(np.isfinite(rows[k])))
        raise TrajectoryError(f"waypoint {k}: {field} of joint {names[j]!r} is {rows[k, j]}, not finite")


def joint_order(wanted: Sequence[str], given: Sequence[str]) -> list[int]:
    """Place of each joint of ``wanted`` in ``given``, in time proportional to their number.

    Raises:
        TrajectoryError: ``given`` does not name each of them exactly once.
    """
    names = [plain_text(name) for name in listed("joint_names", given, TrajectoryError, LONGEST_TRAJECTORY)]
    if None in names:
        raise of_wrong_type(TrajectoryError)(f"joint_names is {quoted(given)}; it must be a list of texts")
    given = [name for name in names if name is not None]
    places = {name: place for place, name in enumerate(given)}
    known = set(wanted)
    problems = {
        "unknown": sorted(name for name in places if name not in known),
        "missing": [name for name in wanted if name not in places],
        "repeated": sorted(name for name, count in Counter(given).items() if count > 1),
    }
    for problem, which in problems.items():
        if which:
            raise TrajectoryError(
                f"{problem} joint names {_quoted(which)}; a trajectory must name each of"
                f" {_quoted(wanted, 40)} once"
            )
    return [places[name] for name in wanted]


def _quoted(names: Iterable[str], most: int = _NAMED) -> str:
    """The names as a list, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return f"{listed[:most]}{more}"


def check_times(times: Array) -> None:
    """TrajectoryError unless ``times`` (K,) [s] are finite, not negative and increase strictly."""
    check_count(len(times))
    if not np.all(np.isfinite(times)):
        k = int(np.argmin(np.isfinite(times)))
        raise TrajectoryError(f"time_from_start of waypoint {k} is {times[k]} s, not finite")
    if times[0] < 0.0:
        raise TrajectoryError(f"time_from_start of the first waypoint is {times[0]}; it must not be negative")
    for k in np.flatnonzero(np.diff(times) <= 0.0).tolist():
        raise TrajectoryError(
            f"time_from_start of waypoint {k + 1} ({times[k + 1]} s) is not later than that of waypoint {k}"
            f" ({times[k]} s); times must increase strictly"
        )


def waypoints_ahead(times: Array, start_time: float, switch_time: float, now: float) -> NDArray[np.bool_]:
    """(K,) which waypoints lie after the switch time; all times in [s].

    Raises:
        TrajectoryError: none does.
    """
    ahead = times + start_time > switch_time + SHORTEST_SEGMENT
    if not ahead.any():
        raise TrajectoryError(
            f"every waypoint lies in the past: the last one is due at {short(times[-1] + start_time)} s,"
            f" the clock says {short(now)} s"
        )
    return ahead
