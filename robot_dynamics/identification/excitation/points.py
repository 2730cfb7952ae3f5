"""A motion as points, in the layout of ``trajectory_msgs/msg/JointTrajectory``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.identification.excitation.plan import Excitation
from robot_dynamics.inputs.arrays import real_vector
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.spatial import Array

POINTS_A_PERIOD = 20
"""Of the highest harmonic: quintics between them leave the series by less than a microradian."""
MOST_POINTS = 100_000


@dataclass(frozen=True)
class Points:
    """Points of a motion.

    Attributes:
        joint_names: in the order of the columns.
        time: (K,) from the start [s].
        positions, velocities, accelerations: (K, n).
    """

    joint_names: tuple[str, ...]
    time: Array
    positions: Array
    velocities: Array
    accelerations: Array

    @classmethod
    def of(cls, excitation: Excitation) -> Points:
        """The points of a series, which quintics join, once at each of its speeds."""
        series = excitation.series
        time = np.linspace(0.0, series.period, POINTS_A_PERIOD * series.harmonics + 1)
        states = excitation.states(time)
        states[1:, [0, -1]] = 0.0
        once = cls(excitation.chain.joint_names, time, *states)
        first, *others = (once.slower(speed) for speed in excitation.speeds)
        for run in others:
            first = run.after(first)
        return first

    def slower(self, speed: float) -> Points:
        """The same way at a share ``speed`` of the speed."""
        return Points(
            self.joint_names,
            self.time / speed,
            self.positions,
            speed * self.velocities,
            speed**2 * self.accelerations,
        )

    def after(self, approach: Points) -> Points:
        """This motion behind another one that ends where it begins."""
        return Points(
            self.joint_names,
            np.concatenate([approach.time, approach.time[-1] + self.time[1:]]),
            *(
                np.concatenate([first, second[1:]])
                for first, second in (
                    (approach.positions, self.positions),
                    (approach.velocities, self.velocities),
                    (approach.accelerations, self.accelerations),
                )
            ),
        )

    def text(self, comment: str) -> str:
        """YAML of the message, below a comment."""
        points = []
        for k, time in enumerate(self.time):
            nanoseconds = round(1e9 * float(time))
            points.append(
                {
                    "positions": _rounded(self.positions[k]),
                    "velocities": _rounded(self.velocities[k]),
                    "accelerations": _rounded(self.accelerations[k]),
                    "time_from_start": {"sec": nanoseconds // 10**9, "nanosec": nanoseconds % 10**9},
                }
            )
        document = {"joint_names": list(self.joint_names), "points": points}
        head = "".join(f"# {line}\n" for line in comment.splitlines())
        return head + yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=1000)


def read_points(path: str, joint_names: Sequence[str]) -> Points:
    """The motion in a file that :meth:`Points.text` has made.

    Raises:
        TrajectoryError: it is none, or not for these joints.
    """
    document: Any = read_yaml(path, "motion", TrajectoryError)
    if not isinstance(document, dict) or document.get("joint_names") != list(joint_names):
        raise TrajectoryError(f"{path}: joint_names must be {', '.join(joint_names)}")
    points = document.get("points")
    if not isinstance(points, list) or not 2 <= len(points) <= MOST_POINTS:
        raise TrajectoryError(f"{path}: points must be a list of 2 to {MOST_POINTS}")
    rows: dict[str, list[Any]] = {"positions": [], "velocities": [], "accelerations": []}
    times = []
    for number, point in enumerate(points):
        when = point.get("time_from_start") if isinstance(point, dict) else None
        if not isinstance(when, dict):
            raise TrajectoryError(f"{path}: point {number + 1} has no time_from_start")
        parts = [when.get("sec", 0), when.get("nanosec", 0)]
        sec, nanosec = real_vector("time_from_start", parts, 2, TrajectoryError)
        times.append(sec + 1e-9 * nanosec)
        for name, row in rows.items():
            row.append(real_vector(name, point.get(name), len(joint_names), TrajectoryError))
    time = np.array(times)
    if time[0] != 0.0 or np.any(np.diff(time) <= 0.0):
        raise TrajectoryError(f"{path}: times must begin at 0 and increase")
    return Points(tuple(joint_names), time, *(np.array(row) for row in rows.values()))


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 9) for value in values]
