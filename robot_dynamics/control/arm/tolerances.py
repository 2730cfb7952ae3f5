"""Following of a trajectory closely enough, and arrival: the rules of FollowJointTrajectory.

The semantics are those of ``joint_trajectory_controller``: a tolerance of 0 in a goal means "as configured",
-1 "none"; path tolerances hold until the trajectory's end, goal tolerances from then on; the goal must be met
no later than ``goal_time`` after the end, where 0 waits for as long as it takes.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.errors import ParameterError, TrajectoryError, short
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

ERASED = -1.0
"""In a goal: the joint may move without restriction."""
_FIELDS = ("position", "velocity", "acceleration")
_UNITS = {"position": "rad or m", "velocity": "rad/s or m/s", "acceleration": "rad/s² or m/s²"}


@dataclass(frozen=True)
class ToleranceParameters:
    """Tolerances of goals that give none of their own; 0 is no tolerance."""

    path_tolerance: tuple[float, ...] = parameter(
        (0.0,),
        "Position error that aborts a goal on the way, one per joint or one for all; 0: none",
        unit="rad or m",
        minimum=0.0,
    )
    goal_tolerance: tuple[float, ...] = parameter(
        (),
        "Position error within which a goal has arrived, one per joint or one for all; empty: 0.02 rad or"
        " 2 mm; 0: none",
        unit="rad or m",
        minimum=0.0,
    )
    stopped_velocity_tolerance: float = parameter(
        0.01,
        "Speed below which the arm counts as stopped at the end of a goal; 0: none",
        unit="rad/s or m/s",
        minimum=0.0,
    )
    goal_time_tolerance: float = parameter(
        2.0,
        "Time after the end of the trajectory in which a goal may still arrive; 0: no limit",
        unit="s",
        minimum=0.0,
        maximum=1e6,
    )

    def __post_init__(self) -> None:
        validate(self)
        if not self.path_tolerance:
            raise ParameterError("parameter 'path_tolerance' is empty; give one value, or one per joint")

    def of(self, joint_names: Sequence[str], settled: Array) -> Tolerances:
        """The tolerances of an arm.

        Args:
            joint_names: of the arm.
            settled: (n,) goal tolerances where the parameter gives none [rad or m].

        Raises:
            ParameterError: a list whose length is neither 1 nor the number of joints.
        """
        none = np.zeros(len(joint_names))
        return Tolerances(
            path=np.stack([per_joint(self.path_tolerance, joint_names, "path_tolerance"), none, none]),
            goal=np.stack(
                [
                    per_joint(self.goal_tolerance, joint_names, "goal_tolerance")
                    if self.goal_tolerance
                    else settled,
                    np.full(len(joint_names), self.stopped_velocity_tolerance),
                    none,
                ]
            ),
            goal_time=self.goal_time_tolerance,
        )


@dataclass(frozen=True)
class JointTolerance:
    """Tolerances of a goal for one joint: 0 as configured, -1 none [rad, rad/s, rad/s² or m, m/s, m/s²]."""

    position: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0


@dataclass(frozen=True)
class Tolerances:
    """Largest errors of position, velocity and acceleration; 0 is no tolerance.

    Attributes:
        path: (3, n), until the end of the trajectory.
        goal: (3, n), from the end on.
        goal_time: how long after the end the goal may be met; 0 is no limit [s].
    """

    path: Array
    goal: Array
    goal_time: float

    def for_goal(
        self,
        joint_names: Sequence[str],
        path: Mapping[str, JointTolerance],
        goal: Mapping[str, JointTolerance],
        goal_time: float,
    ) -> Tolerances:
        """These tolerances with what a goal gives of its own.

        Raises:
            TrajectoryError: a joint that the arm does not have, or a value that is negative but not -1.
        """
        if not goal_time >= 0.0:
            raise TrajectoryError(f"goal_time_tolerance is {goal_time} s; it must not be negative")
        return Tolerances(
            _merged("path_tolerance", self.path, joint_names, path),
            _merged("goal_tolerance", self.goal, joint_names, goal),
            goal_time or self.goal_time,
        )

    def only(self, joints: NDArray[np.bool_]) -> Tolerances:
        """The tolerances of some joints (n,); the others have none."""
        return Tolerances(self.path * joints, self.goal * joints, self.goal_time)

    def stretched(self, stretch: float) -> Tolerances:
        """The tolerances for a motion that takes ``stretch`` times as long as the goal asked for."""
        slower = np.array([[1.0], [1.0 / stretch], [1.0 / stretch**2]])
        return Tolerances(slower * self.path, self.goal, stretch * self.goal_time)


def _merged(
    what: str, default: Array, joint_names: Sequence[str], given: Mapping[str, JointTolerance]
) -> Array:
    merged = np.array(default, dtype=float)
    for name, tolerance in given.items():
        if name not in joint_names:
            raise TrajectoryError(
                f"{what} names joint {name!r}; the joints are {', '.join(map(repr, joint_names))}"
            )
        for row, field in enumerate(_FIELDS):
            value = getattr(tolerance, field)
            if value == ERASED:
                merged[row, list(joint_names).index(name)] = 0.0
            elif value > 0.0:
                merged[row, list(joint_names).index(name)] = value
            elif value != 0.0:
                raise TrajectoryError(
                    f"{what} of joint {name!r}: {field} {value}; it must be positive, 0 (as configured) or -1"
                    " (none)"
                )
    return merged


class Outcome(enum.Enum):
    """State of a goal."""

    RUNNING = "running"
    REACHED = "reached"
    PATH_VIOLATED = "path tolerance violated"
    GOAL_VIOLATED = "goal tolerance violated"


@dataclass(frozen=True)
class Verdict:
    """An outcome, and for a violation which joint missed which tolerance by how much."""

    outcome: Outcome
    reason: str = ""


class GoalMonitor:
    """Watches one goal from its acceptance to its outcome.

    Args:
        joint_names: of the arm, in chain order.
        tolerances: of this goal.
        start: time at which the trajectory begins [s].
        end: time at which it ends [s].
    """

    def __init__(self, joint_names: Sequence[str], tolerances: Tolerances, start: float, end: float) -> None:
        self.start = start
        self.end = end
        self._joint_names = tuple(joint_names)
        self._tolerances = tolerances

    def judge(self, time: float, reference: Reference, position: Array, velocity: Array) -> Verdict:
        """State of the goal at ``time`` [s], with the arm at ``position`` and ``velocity`` (n,).

        Accelerations are not measured; their tolerances have no effect.
        """
        if time < self.start:
            return Verdict(Outcome.RUNNING)
        errors = (reference.position - position, reference.velocity - velocity)
        if time < self.end:
            missed = self._missed(self._tolerances.path, errors)
            return Verdict(Outcome.PATH_VIOLATED, missed) if missed else Verdict(Outcome.RUNNING)
        missed = self._missed(self._tolerances.goal, errors)
        if not missed:
            return Verdict(Outcome.REACHED)
        late = time - self.end
        limit = self._tolerances.goal_time
        if limit > 0.0 and late > limit:
            return Verdict(
                Outcome.GOAL_VIOLATED, f"{missed}, {short(late)} s after the end of the trajectory"
            )
        return Verdict(Outcome.RUNNING)

    def _missed(self, tolerances: Array, errors: tuple[Array, ...]) -> str:
        for field, allowed, error in zip(_FIELDS, tolerances, errors, strict=False):
            beyond = (allowed > 0.0) & ~(np.abs(error) <= allowed)
            if beyond.any():
                j = int(np.argmax(beyond))
                return (
                    f"{field} error of joint {self._joint_names[j]!r} is {error[j]:.6g} {_UNITS[field]},"
                    f" its tolerance {allowed[j]:.6g}"
                )
        return ""


class Stiffness(NamedTuple):
    """Worth of the feedback of a joint.

    Attributes:
        name: of the joint.
        stiffness: kp times inertia [N·m/rad or N/m].
        friction: dry friction by the model [N·m or N].
        frequency: natural frequency of the error [Hz].
        inertia: the joint's least over its range, rotor included [kg·m² or kg].
    """

    name: str
    stiffness: float
    friction: float
    frequency: float
    inertia: float
