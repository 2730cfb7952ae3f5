"""Recorded motion from rosbag2 (sqlite3, MCAP) and CSV files.

A CSV file has a column ``time`` [s] and, for a joint ``shoulder``, ``shoulder.position`` (or ``shoulder``)
[rad or m] and ``shoulder.effort`` [N·m or N]; ``shoulder.velocity`` is read where it is there. A bag has a
topic of ``sensor_msgs/msg/JointState``; the stamps of the headers count, the times of receipt where the
headers have none.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import LogError, RobotDynamicsError, quoted, shown
from robot_dynamics.extras import lacking
from robot_dynamics.inputs.files import is_folder, open_regular
from robot_dynamics.inputs.tables import check_header, numbers, rows, text_lines
from robot_dynamics.spatial import Array

BAG_SUFFIXES = (".db3", ".mcap")
MESSAGE = "sensor_msgs/msg/JointState"
LOCKED = 0.01
"""Largest distance of a locked joint from its position [rad or m]."""


@dataclass(frozen=True)
class Log:
    """Measured motion of some joints.

    Attributes:
        source: where it comes from, for messages.
        joint_names: the joints, in the order of the columns.
        time: (N,) [s].
        q: (N, n) positions [rad or m].
        qd: (N, n) measured velocities [rad/s or m/s]; NaN where none were recorded.
        effort: (N, n) [N·m or N].
        gain_deviation: (n,) relative standard deviations of the gains that efforts come from.
        coupling: C (n, n) with joint positions = C · motor positions; None: each motor moves its own joint.
    """

    source: str
    joint_names: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    effort: Array
    gain_deviation: Array = field(default_factory=lambda: np.zeros(1))
    coupling: Array | None = None


def read_log(
    path: str,
    joint_names: Sequence[str],
    topic: str | None = None,
    locked: Mapping[str, float] | None = None,
) -> Log:
    """The motion of the joints ``joint_names`` in a bag (its folder or file) or a CSV file.

    Args:
        path: a folder of rosbag2, a file ``.db3`` or ``.mcap``, or a CSV file.
        joint_names: in the order of the result's columns.
        topic: of the joint states in a bag; None where there is only one.
        locked: positions of joints that are not among those [rad or m]; the log may have them or not.

    Raises:
        LogError: it cannot be read, lacks a joint or an effort, or a locked joint is elsewhere.
    """
    place = Path(path)
    in_folder = is_folder(path)
    if place.suffix in BAG_SUFFIXES and not in_folder:
        open_regular(path, "bag", LogError).close()  # the storages would wait for a FIFO's writer
    if in_folder or place.suffix in BAG_SUFFIXES:
        return _read_bag(place, tuple(joint_names), topic, locked or {})
    with open_regular(path, "CSV file or bag", LogError) as stream:
        return read_table(text_lines(stream, path), joint_names, path, locked)


def is_bag(path: str) -> bool:
    """True if a path is that of a bag and not of a text file."""
    return is_folder(path) or Path(path).suffix in BAG_SUFFIXES


def common_prefix(found: Iterable[str], names: Sequence[str]) -> str:
    """The text before every name in a log, such as ``left_``; empty without one, or with several."""
    there = list(found)
    if not names or set(names) <= set(there):
        return ""
    starts = [name.removesuffix(names[0]) for name in there if name.endswith(names[0])]
    fitting = [start for start in starts if {start + name for name in names} <= set(there)]
    return fitting[0] if len(fitting) == 1 else ""


def _check_locked(source: str, name: str, said: float, position: float) -> None:
    if not abs(position - said) <= LOCKED:
        raise LogError(
            f"{source}: {name} is locked at {said:g}, but the log has it at {position:.4g};"
            " lock it where it stood, or not at all if it moved"
        )


def read_table(
    lines: Iterable[str], joint_names: Sequence[str], source: str, locked: Mapping[str, float] | None = None
) -> Log:
    """The motion of the joints ``joint_names`` in the lines of a CSV file.

    Args:
        lines: of text.
        joint_names: in the order of the result's columns.
        source: name of the text in messages.
        locked: as of :func:`read_log`.

    Raises:
        LogError: as of :func:`read_log`.
        StateError: an entry that is not a finite number, a row that is too long or too short.
    """
    names, locked = tuple(joint_names), locked or {}
    reader = rows(lines, source)
    _, first = next(reader, (1, []))
    header = [name.strip() for name in first]
    check_header(header, source)
    prefix = common_prefix(header, [f"{name}.effort" for name in names])
    columns = {name.removeprefix(prefix): index for index, name in enumerate(header)}
    for name in (*names, *locked):
        if name in columns:
            columns.setdefault(f"{name}.position", columns[name])
    if "time" not in columns:
        raise LogError(f"{source}: no column time [s]; columns found: {shown(*header)}")
    for quantity in ("position", "effort"):
        missing = [name for name in names if f"{name}.{quantity}" not in columns]
        if missing:
            raise LogError(
                f"{source}: no column {', '.join(f'{name}.{quantity}' for name in missing)}; columns found:"
                f" {shown(*header)}"
            )
    wanted = ["time", *(f"{name}.{kind}" for kind in ("position", "velocity", "effort") for name in names)]
    wanted += [f"{name}.position" for name in locked]
    used = {columns[name] for name in wanted if name in columns}
    entries = array("d")
    for row in numbers(reader, header, used, source):
        entries.extend(row)
    values = np.frombuffer(entries).reshape(-1, len(header))
    for name, said in locked.items():
        if f"{name}.position" in columns and len(values):
            found = values[:, columns[f"{name}.position"]]
            _check_locked(source, name, said, float(found[np.argmax(np.abs(found - said))]))

    def gathered(quantity: str) -> Array:
        absent = np.full(len(values), np.nan)
        picked = [columns.get(f"{name}.{quantity}") for name in names]
        return np.stack([absent if index is None else values[:, index] for index in picked], axis=1)

    return Log(
        source, names, values[:, columns["time"]].copy(), *map(gathered, ("position", "velocity", "effort"))
    )


def _read_bag(place: Path, names: tuple[str, ...], topic: str | None, locked: Mapping[str, float]) -> Log:
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise LogError(lacking("bags need", "rosbags")) from error
    try:
        with AnyReader([place], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            connections = [known for known in reader.connections if known.msgtype == MESSAGE]
            topics = sorted({known.topic for known in connections})
            if topic is None and len(topics) != 1:
                raise LogError(_wrong_topics(place, topics))
            chosen = [known for known in connections if topic in (None, known.topic)]
            if not chosen:
                raise LogError(f"{place}: no {MESSAGE} on {topic}; topics of that type: {', '.join(topics)}")
            states = _States(str(place), names, locked)
            for connection, receipt, data in reader.messages(chosen):
                states.add(reader.deserialize(data, connection.msgtype), receipt)
    except RobotDynamicsError:
        raise
    except Exception as error:  # rosbags and its storages raise their own classes
        raise LogError(f"cannot read the bag {place}: {quoted(str(error), 200)}") from error
    return states.log()


def _wrong_topics(place: Path, topics: Sequence[str]) -> str:
    if not topics:
        return f"{place}: no topic of {MESSAGE}"
    return f"{place}: joint states of several robots, on {', '.join(topics)}; choose one with --topic"


class _States:
    """Collects the messages that have all joints."""

    def __init__(self, source: str, names: tuple[str, ...], locked: Mapping[str, float]) -> None:
        self._source, self._names, self._locked = source, names, locked
        self._stamps: list[float] = []
        self._receipts: list[float] = []
        self._rows: list[list[Any]] = []
        self._seen: dict[str, None] = {}

    def add(self, message: Any, receipt: int) -> None:
        prefix = common_prefix(message.name, self._names)
        index = {name.removeprefix(prefix): k for k, name in enumerate(message.name)}
        self._seen.update(dict.fromkeys(index))
        if not set(self._names) <= index.keys():
            return  # of a gripper, or of another robot
        order = [index[name] for name in self._names]
        if len(message.position) != len(message.name):
            raise LogError(
                f"{self._source}: a message has {len(message.position)} positions for"
                f" {len(message.name)} joints"
            )
        for name in self._locked.keys() & index.keys():
            _check_locked(self._source, name, self._locked[name], float(message.position[index[name]]))
        if len(message.effort) != len(message.name):
            raise LogError(
                f"{self._source}: {len(message.effort)} efforts for {len(message.name)} joints;"
                " identification needs the measured joint torques"
            )
        velocity = message.velocity if len(message.velocity) else np.full(len(message.name), np.nan)
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        row = [values[order] for values in (message.position, velocity, message.effort)]
        if self._stamps and stamp == self._stamps[-1] != 0.0 and (row[0] == self._rows[-1][0]).all():
            return  # the same state once more
        self._stamps.append(stamp)
        self._receipts.append(1e-9 * receipt)
        self._rows.append(row)

    def log(self) -> Log:
        if not self._rows:
            missing = [name for name in self._names if name not in self._seen]
            what = f"no joint {', '.join(missing)}" if missing else "no message has all joints"
            raise LogError(f"{self._source}: {what}; joints found: {', '.join(self._seen) or 'none'}")
        time = np.array(self._stamps if any(self._stamps) else self._receipts)
        values = np.array(self._rows)
        return Log(self._source, self._names, time, values[:, 0], values[:, 1], values[:, 2])
