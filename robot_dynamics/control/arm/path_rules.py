"""Rules for trajectories of joints, beyond the limits of the arm itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.control.path_bounds import extremes
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import WaypointTable, joint_order
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array

_MARGIN = 1.01
_AT_REST = 1e-6  # slower than this, in rad/s, m/s and their rates, a joint stands


@dataclass(frozen=True)
class PartialGoalParameters:
    """Permission for trajectories to leave joints out."""

    allow_partial_joints_goal: bool = parameter(
        False,
        "A trajectory need not name every joint: the others go on with what they follow, or hold their place;"
        " always so with several tips",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)


REFUSE, WARN, OFF = "refuse", "warn", "off"
RETIME_OFF, SLOWER, FASTEST = "off", "slower", "fastest"


@dataclass(frozen=True)
class TorqueCheckParameters:
    """Verification and retiming of trajectories against the effort limits."""

    torque_check: str = parameter(
        WARN,
        "Answer to a trajectory that needs more effort than the limits allow, friction, payload, gravity and"
        " rotor inertia included: refuse, or warn and follow it; off: no check",
        choices=[REFUSE, WARN, OFF],
    )
    torque_margin: float = parameter(
        0.0, "Share of each effort limit that a trajectory has to leave free", minimum=0.0, maximum=0.99
    )
    retime: str = parameter(
        RETIME_OFF,
        "Timing of trajectories before limits are checked: slower slows those down that exceed a limit of"
        " velocity, acceleration or effort; fastest makes all as fast as the limits permit; off: as given",
        choices=[RETIME_OFF, SLOWER, FASTEST],
    )

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class IdentifiedRangeParameters:
    """Ranges of an identification; `robot_dynamics identify` writes them into friction.yaml."""

    tested_lower: tuple[float, ...] = parameter(
        (), "Least position for which the model was tested, one per joint; empty: not known", unit="rad or m"
    )
    tested_upper: tuple[float, ...] = parameter(
        (),
        "Greatest position for which the model was tested, one per joint; empty: not known",
        unit="rad or m",
    )
    tested_velocity: tuple[float, ...] = parameter(
        (),
        "Greatest speed for which the model was tested, one per joint; empty: not known",
        unit="rad/s or m/s",
        minimum=0.0,
    )
    tested_effort: tuple[float, ...] = parameter(
        (),
        "Greatest effort for which the model was tested, one per joint; empty: not known",
        unit="N·m or N",
        minimum=0.0,
    )

    def __post_init__(self) -> None:
        validate(self)

    @property
    def known(self) -> bool:
        """True if any range is given."""
        return any((self.tested_lower, self.tested_upper, self.tested_velocity, self.tested_effort))


@dataclass(frozen=True)
class PathRules:
    """Demands on a trajectory, beside the limits of the robot's description.

    Attributes:
        partial: whether joints may be left out; they go on with what they follow, or hold their place.
        velocity: largest speeds by joint name [rad/s or m/s]; a joint that is not in it has no further limit.
        acceleration: the same [rad/s² or m/s²].
        torque: whether and how efforts are verified.
        identified: ranges in which the model was tested.
    """

    partial: bool = False
    velocity: Mapping[str, float] = field(default_factory=dict)
    acceleration: Mapping[str, float] = field(default_factory=dict)
    torque: TorqueCheckParameters = field(default_factory=TorqueCheckParameters)
    identified: IdentifiedRangeParameters = field(default_factory=IdentifiedRangeParameters)

    def order(self, joint_names: Sequence[str], given: Sequence[str]) -> tuple[list[int], list[int]]:
        """Joints that a trajectory moves, and the place of each in ``given``.

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

    def of(self, chain: KinematicChain) -> PathRules:
        """These rules for a chain: of a tree, joints may always be left out."""
        return replace(self, partial=True) if chain.other_tips else self

    def accelerated(self, joint_names: Sequence[str], accelerations: Array) -> PathRules:
        """These rules with maximum accelerations (n,) [rad/s² or m/s²] beside those that they have."""
        least = {
            name: min(limit, self.acceleration.get(name, np.inf))
            for name, limit in zip(joint_names, accelerations.tolist(), strict=True)
        }
        return replace(self, acceleration=least)

    def check(self, joint_names: Sequence[str], spline: QuinticSpline) -> None:
        """Refuse a path (K, n) whose joints are faster than the rules allow, by one per cent or more.

        The largest values are those of the whole path, not of samples.

        Raises:
            TrajectoryError: names the joint, the time since the path's start, the value and the limit.
        """
        for order, given in ((1, self.velocity), (2, self.acceleration)):
            limit = np.array([_MARGIN * given.get(name, np.inf) for name in joint_names])
            if order == 2:  # what moves already may go on as it does
                limit = np.maximum(limit, _MARGIN * np.abs(spline.sample(spline.times[0])[2]))
            if not np.isfinite(limit).any():
                continue
            found = extremes(spline.times, spline.coefficients, order)
            j = int(np.argmax(found.largest / limit))
            if found.largest[j] > limit[j]:
                what, unit = ("velocity", "s") if order == 1 else ("acceleration", "s²")
                value = found.highest[j] if found.highest[j] >= -found.lowest[j] else found.lowest[j]
                raise TrajectoryError(
                    f"joint {joint_names[j]!r} would have the {what} {short(value, 4)}"
                    f" (rad/{unit} or m/{unit}) {short(found.largest_time[j] - spline.times[0])} s after the"
                    f" start; the limit is {limit[j] / _MARGIN:.4g}"
                )


def unit_of(chain: KinematicChain, joint: int, quantity: str) -> str:
    """Unit of a quantity of a joint: position, velocity, acceleration or effort."""
    revolute = chain.driving_joint(joint).kind is JointKind.REVOLUTE
    if quantity == "effort":
        return "N·m" if revolute else "N"
    rate = {"position": "", "velocity": "/s", "acceleration": "/s²"}[quantity]
    return ("rad" if revolute else "m") + rate


def with_others_held(
    table: WaypointTable, moved: Sequence[int], joint_names: Sequence[str], state: tuple[Array, Array, Array]
) -> WaypointTable:
    """The points (K, m) of some joints as points (K, n) of all, of which the others stay where they are.

    Args:
        table: the points, their joints in the arm's order.
        moved: which joints (m,) they are of.
        joint_names: of the arm (n,).
        state: position, velocity and acceleration (n,) at the plan start.

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
