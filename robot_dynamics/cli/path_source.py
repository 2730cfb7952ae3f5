"""Paths of an arm from files: CSV, a JointTrajectory as YAML, or a bag; and into a bag.

CSV: the first row names the columns ``time`` [s] and, for a joint ``shoulder``, ``shoulder`` or
``shoulder.position``, and where they are known ``shoulder.velocity`` and ``shoulder.acceleration``. What is
not given is chosen as the nodes choose it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.cli import streams
from robot_dynamics.cli.state_table import ACCELERATION, POSITION, VELOCITY, StateColumns
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import (
    Waypoint,
    WaypointTable,
    check_count,
    check_times,
    joint_order,
    tabulate,
)
from robot_dynamics.errors import ParameterError, StateError, TrajectoryError, quoted, shown
from robot_dynamics.extras import lacking
from robot_dynamics.inputs.documents import parse_yaml
from robot_dynamics.inputs.files import decoded, is_folder, open_regular, read_text
from robot_dynamics.inputs.tables import text_lines
from robot_dynamics.spatial import Array

BAG_SUFFIXES = (".db3", ".mcap")
YAML_SUFFIXES = (".yaml", ".yml")
MESSAGE = "trajectory_msgs/msg/JointTrajectory"
LARGEST_YAML = 256 * 1024
_NESTED = ("trajectory", "joint_trajectory", "goal")
TOPIC = "/joint_trajectory"
"""Topic of the bags that are written, where none is given."""


@dataclass(frozen=True)
class JointPath:
    """Waypoints of an arm's joints from a file.

    Attributes:
        table: in the arm's order; its times begin at 0.
        notes: what was assumed or left aside.
    """

    table: WaypointTable
    notes: tuple[str, ...] = ()

    def spline(self) -> QuinticSpline:
        """The path from its first waypoint to its last; what these leave open is a rest.

        Raises:
            TrajectoryError: a single waypoint, or no finite path.
        """
        table = self.table
        if len(table.times) < 2:
            raise TrajectoryError("the path has a single waypoint; it needs two at least")
        rates = [table.velocities.copy(), table.accelerations.copy()]
        for values in rates:
            values[[0, -1]] = np.nan_to_num(values[[0, -1]])
        return waypoint_spline(table.times, table.positions, *rates)


def read_path(path: str, joint_names: Sequence[str], topic: str | None = None) -> JointPath:
    """Read the path of the joints ``joint_names``.

    Args:
        path: a CSV file, a YAML file, or a bag (folder, ``.db3`` or ``.mcap``); ``-`` is CSV or YAML on
            standard input.
        joint_names: the arm's, in the order of the result.
        topic: of the trajectories in a bag; None where there is only one.

    Raises:
        RobotDynamicsError: it cannot be read, lacks a joint, or is no path.
    """
    suffix = Path(path).suffix.lower()
    if path == "-":
        text = decoded(streams.read_input(), "standard input", TrajectoryError)
        if text.lstrip().startswith(("joint_names", "points", "header", "trajectory", "{", "goal", "---")):
            return _of_document(parse_yaml(text, "standard input", TrajectoryError), joint_names)
        return _of_lines(text.splitlines(keepends=True), joint_names, "standard input")
    if is_folder(path) or suffix in BAG_SUFFIXES:
        return _of_bag(path, joint_names, topic)
    if suffix in YAML_SUFFIXES:
        text = read_text(path, "trajectory", TrajectoryError, LARGEST_YAML)
        return _of_document(parse_yaml(text, path, TrajectoryError), joint_names)
    with open_regular(path, "CSV file, YAML file or bag", TrajectoryError) as stream:
        return _of_lines(text_lines(stream, path), joint_names, path)


def _of_lines(lines: Any, joint_names: Sequence[str], source: str) -> JointPath:
    table = StateColumns.of(lines, joint_names, source)
    columns = table.places
    missing = [name for name in joint_names if (name, POSITION) not in columns]
    if missing or ("time", "") not in columns:
        what = "time" if ("time", "") not in columns else f"position column for {', '.join(missing)}"
        raise StateError(f"{source}: no {what} (columns found: {shown(*table.header)})")
    values = table.values()
    check_count(len(values))

    def gathered(quantity: str) -> Array:
        absent = np.full(len(values), np.nan)
        picked = [columns.get((name, quantity)) for name in joint_names]
        return np.stack([absent if index is None else values[:, index] for index in picked], axis=1)

    places = [gathered(quantity) for quantity in (POSITION, VELOCITY, ACCELERATION)]
    notes = (f"columns left aside: {shown(*table.ignored[:10])}",) if table.ignored else ()
    return _path(WaypointTable(values[:, columns["time", ""]].copy(), *places), notes)


def _path(table: WaypointTable, notes: tuple[str, ...] = ()) -> JointPath:
    """The path, its times counted from the first waypoint."""
    if len(table.times) and np.isfinite(table.times[0]):
        times = table.times - table.times[0]
        table = WaypointTable(times, table.positions, table.velocities, table.accelerations)
    check_times(table.times)
    return JointPath(table, notes)


def _of_document(document: Mapping[str, Any], joint_names: Sequence[str]) -> JointPath:
    """A message JointTrajectory, or one inside of a goal or a RobotTrajectory."""
    for _ in range(3):
        inner = next((document[key] for key in _NESTED if isinstance(document.get(key), Mapping)), None)
        if inner is None:
            break
        document = inner
    names, points = document.get("joint_names"), document.get("points")
    if not isinstance(names, list) or not isinstance(points, list):
        raise TrajectoryError("the YAML holds no JointTrajectory: joint_names and points are lists in one")
    waypoints = [_waypoint(k, point) for k, point in enumerate(points)]
    return _of_message(names, waypoints, joint_names)


def _waypoint(k: int, point: Any) -> Waypoint:
    if not isinstance(point, Mapping):
        raise TrajectoryError(f"point {k} is {quoted(point)}; it must be a mapping with positions")
    given = point.get("time_from_start", {})
    parts = given if isinstance(given, Mapping) else {"sec": given}
    time = 0.0
    for name, scale in (("sec", 1.0), ("nanosec", 1e-9)):
        value = parts.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TrajectoryError(f"point {k}: {name} of time_from_start is {quoted(value)}, not a number")
        time += scale * value
    fields = [point.get(name) or [] for name in ("positions", "velocities", "accelerations")]
    return Waypoint(time, *fields)


def _of_message(names: Sequence[str], waypoints: Sequence[Waypoint], joint_names: Sequence[str]) -> JointPath:
    table = tabulate(waypoints, names)
    known = [name for name in names if name in set(joint_names)]
    others = [str(name) for name in names if name not in set(joint_names)]
    joint_order(joint_names, known)
    ordered = table.in_order([list(names).index(name) for name in joint_names])
    notes = (f"joints left aside: {shown(*others[:10])}",) if others else ()
    return _path(ordered, notes)


def _of_bag(path: str, joint_names: Sequence[str], topic: str | None) -> JointPath:
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise TrajectoryError(lacking("bags need", "rosbags")) from error
    place = Path(path)
    if place.suffix in BAG_SUFFIXES and not is_folder(path):
        open_regular(path, "bag", TrajectoryError).close()  # the storages would wait for a FIFO's writer
    try:
        with AnyReader([place], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            connections = [one for one in reader.connections if one.msgtype == MESSAGE]
            topics = sorted({one.topic for one in connections})
            chosen = [one for one in connections if topic in (None, one.topic)]
            if (topic is None and len(topics) != 1) or not chosen:
                found = ", ".join(topics) or "none"
                raise TrajectoryError(
                    f"{path}: {MESSAGE} on {'several topics' if len(topics) > 1 else 'no topic'}, found:"
                    f" {found}; choose one with --topic"
                )
            messages: list[Any] = [
                reader.deserialize(data, one.msgtype) for one, _, data in reader.messages(chosen)
            ]
    except TrajectoryError:
        raise
    except Exception as error:  # rosbags and its storages raise their own classes
        raise TrajectoryError(f"cannot read the bag {path}: {quoted(str(error), 200)}") from error
    moving: list[Any] = [message for message in messages if len(message.points)]
    if not moving:
        raise TrajectoryError(f"{path}: no trajectory with points on {chosen[0].topic}")
    message = moving[-1]
    waypoints = [
        Waypoint(
            point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec,
            *(
                list(map(float, values))
                for values in (point.positions, point.velocities, point.accelerations)
            ),
        )
        for point in message.points
    ]
    read = _of_message([str(name) for name in message.joint_names], waypoints, joint_names)
    more = (
        (f"{len(moving)} trajectories on {chosen[0].topic}: the last one counts",) if len(moving) > 1 else ()
    )
    return JointPath(read.table, (*read.notes, *more))


def write_bag(path: str, topic: str, names: Sequence[str], table: WaypointTable, efforts: Array) -> None:
    """Write a bag with one trajectory.

    Args:
        path: folder, which must not exist yet.
        topic: of the trajectory.
        names: of the joints.
        table: waypoints (K, n); times from 0 on [s].
        efforts: (K, n) [N·m or N].

    Raises:
        ParameterError: rosbags is missing, or the folder cannot be made.
    """
    try:
        from rosbags.rosbag2 import Writer
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise ParameterError(lacking("bags need", "rosbags")) from error
    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = {name.rpartition("/")[2]: store.types[name] for name in store.types}
    rows = zip(table.times, table.positions, table.velocities, table.accelerations, efforts, strict=True)
    points = []
    for time, *values in rows:
        nanoseconds = round(1e9 * float(time))
        since = kinds["Duration"](sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        points.append(kinds["JointTrajectoryPoint"](*map(np.ascontiguousarray, values), since))
    header = kinds["Header"](stamp=kinds["Time"](sec=0, nanosec=0), frame_id="")
    message = kinds["JointTrajectory"](header, list(names), points)
    try:
        with Writer(Path(path), version=9) as writer:
            connection = writer.add_connection(topic, MESSAGE, typestore=store)
            writer.write(connection, 0, store.serialize_cdr(message, MESSAGE))
    except OSError as error:
        raise ParameterError(f"cannot make the bag {shown(path)}: {error.strerror}") from error
