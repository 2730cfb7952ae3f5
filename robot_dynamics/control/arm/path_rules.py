"""What trajectories of joints may be, beyond what the arm itself allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import WaypointTable, joint_order
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array

_MARGIN = 1.01
_AT_REST = 1e-6  # slower than this, in rad/s, m/s and their rates, a joint stands
_SAMPLES = np.linspace(0.0, 1.0, 33)
_CHUNK = 1024


@dataclass(frozen=True)
class PartialGoalParameters:
    """Whether trajectories may leave joints out."""

    allow_partial_joints_goal: bool = parameter(
        False,
        "A trajectory need not name every joint: the others hold their place, and must not be moving",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class PathRules:
    """What is asked of a trajectory, beside the limits of the robot's description.

    Attributes:
        partial: whether joints may be left out; they hold their place.
        velocity: largest speeds by joint name [rad/s or m/s]; a joint that is not in it has no further limit.
        acceleration: the same [rad/s² or m/s²].
    """

    partial: bool = False
    velocity: Mapping[str, float] = field(default_factory=dict)
    acceleration: Mapping[str, float] = field(default_factory=dict)

    def order(self, joint_names: Sequence[str], given: Sequence[str]) -> tuple[list[int], list[int]]:
        """Which joints a trajectory moves, and where each stands in ``given``.

        Args:
            joint_names: of the arm.
            given: of the trajectory.

        Raises:
            TrajectoryError: unknown or repeated joints, none, or not all where all must be named.
        """
        wanted = list(joint_names)
        if self.partial and given and all(name in wanted for name in given):
            wanted = [name for name in wanted if name in given]
        places = joint_order(wanted, given)
        return [list(joint_names).index(name) for name in wanted], places

    def check(self, joint_names: Sequence[str], spline: QuinticSpline) -> None:
        """Refuse a path (K, n) whose joints are faster than the rules allow, by one per cent or more.

        Looked for are the largest values of 33 samples of every segment.

        Raises:
            TrajectoryError: names the joint, the time since the path's start, the value and the limit.
        """
        limits = [
            np.array([_MARGIN * given.get(name, np.inf) for name in joint_names])
            for given in (self.velocity, self.acceleration)
        ]
        if not any(np.isfinite(limit).any() for limit in limits):
            return
        starts, steps = spline.times[:-1, None], np.diff(spline.times)[:, None]
        for first in range(0, len(steps), _CHUNK):
            chosen = slice(first, first + _CHUNK)
            times = (starts[chosen] + steps[chosen] * _SAMPLES).ravel()
            _, velocity, acceleration = spline.at(times)
            for word, values, limit in zip(("v", "a"), (velocity, acceleration), limits, strict=True):
                excess = np.abs(values) / limit
                k, j = divmod(int(np.argmax(excess)), len(joint_names))
                if excess[k, j] > 1.0:
                    what, unit = ("velocity", "s") if word == "v" else ("acceleration", "s²")
                    after = short(times[k] - spline.times[0])
                    raise TrajectoryError(
                        f"joint {joint_names[j]!r} would have the {what} {short(values[k, j], 4)}"
                        f" (rad/{unit} or m/{unit}) {after} s after the start; joint_limits allow"
                        f" {limit[j] / _MARGIN:.4g}"
                    )


def with_others_held(
    table: WaypointTable, moved: Sequence[int], joint_names: Sequence[str], state: tuple[Array, Array, Array]
) -> WaypointTable:
    """The points (K, m) of some joints as points (K, n) of all, of which the others stay where they are.

    Args:
        table: the points, their joints in the arm's order.
        moved: which joints (m,) they are of.
        joint_names: of the arm (n,).
        state: position, velocity and acceleration (n,) at departure.

    Raises:
        TrajectoryError: a joint that is to hold its place is moving.
    """
    position, *rates = state
    held = [j for j in range(len(joint_names)) if j not in set(moved)]
    for j in held:
        if any(abs(rate[j]) > _AT_REST for rate in rates):
            raise TrajectoryError(
                f"joint {joint_names[j]!r} is moving when the trajectory begins: it cannot be left out"
            )
    positions = np.tile(np.asarray(position, dtype=float), (len(table.times), 1))
    positions[:, moved] = table.positions
    columns = []
    for given in (table.velocities, table.accelerations):
        # A row that leaves the others open leaves these open too: they stand all the same.
        values = np.where(np.isnan(given).any(axis=1, keepdims=True), np.nan, np.zeros(positions.shape))
        values[:, moved] = given
        columns.append(values)
    return WaypointTable(table.times, positions, *columns)
