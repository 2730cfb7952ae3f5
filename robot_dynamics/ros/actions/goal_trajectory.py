"""Goals of ``FollowJointTrajectory`` as they arrive: measured before they become objects.

The points of a goal's trajectory never become objects: they are taken out of the decoded C structure and read
into arrays where that makes nobody wait. What remains of a goal is small, or the goal is refused unread.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control.waypoints import (
    LONGEST_TRAJECTORY,
    WaypointTable,
    check_finite,
    check_lengths,
    tabulate,
)
from robot_dynamics.errors import BackendError
from robot_dynamics.ros.actions import message_memory as memory
from robot_dynamics.ros.control.native.library import loaded_library
from robot_dynamics.ros.control.native.raw_trajectory import FIELDS, LARGEST
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.ros.support.trajectories import waypoints

LARGEST_REST = 65536
"""Most that a goal may hold beside the points of its trajectory [bytes]."""
_OVERHEAD = 40
"""Of a point as it is sent, beside its values [bytes]."""
_POINT = memory.layout_of(JointTrajectoryPoint)


@dataclass(frozen=True)
class GoalTrajectory:
    """The trajectory of a goal.

    Attributes:
        stamp: of its header [ns].
        joint_names: as it names them.
        points: their number.
        duration: time of the last point [s]; 0 without points.
        table: reads the points; raises TrajectoryError.
    """

    stamp: int
    joint_names: Sequence[str]
    points: int
    duration: float
    table: Callable[[], WaypointTable]

    @staticmethod
    def of(message: JointTrajectory) -> GoalTrajectory:
        """Of a message that is an object already."""
        names, points = list(message.joint_names), len(message.points)
        last = 1e-9 * stamp_to_nanoseconds(message.points[-1].time_from_start) if points else 0.0
        stamp = stamp_to_nanoseconds(message.header.stamp)
        return GoalTrajectory(stamp, names, points, last, lambda: tabulate(waypoints(message), names))


def trajectory_of(goal: Any) -> GoalTrajectory:
    """Of a goal whose trajectory was measured, or is an object."""
    given = goal.trajectory
    return given if isinstance(given, GoalTrajectory) else GoalTrajectory.of(given)


def measured_requests(action: Any) -> type:
    """What to take requests of an action by: a class whose objects have ``goal_id`` and ``goal``.

    The goal is as usual, but its ``trajectory`` is a :class:`GoalTrajectory`; or its only attribute
    ``refused`` tells why it was not read.

    Raises:
        BackendError: this rclpy, or this version of the action, does not let requests be measured.
    """
    request = action.Impl.SendGoalService.Request
    try:
        reader = _Reader(request)
        kind = memory.taking_class(request, reader.read)
        sample = request()
        sample.goal.trajectory = JointTrajectory(
            joint_names=["a"], points=[JointTrajectoryPoint(positions=[1.0])] * 2
        )
        tried = rclpy_implementation.rclpy_deserialize(serialize_message(sample), kind)
        if tried.goal.trajectory.table().positions.tolist() != [[1.0], [1.0]]:
            raise BackendError("points are read wrongly")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BackendError(f"{type(error).__name__}: {error}") from error
    return kind


class _Reader:
    """Reads requests of one kind."""

    def __init__(self, request: Any) -> None:
        goal = memory.layout_of(request).fields["goal"][0]
        self._request, self._goal = request, type(request().goal)
        trajectory = goal + memory.layout_of(self._goal).fields["trajectory"][0]
        self._points = trajectory + memory.layout_of(JointTrajectory).fields["points"][0]
        self._convert = memory.converter_of(request)
        self._convert_id = memory.converter_of(type(request().goal_id))
        self._id = memory.layout_of(request).fields["goal_id"][0]
        self._free = ctypes.CDLL(
            str(loaded_library("libtrajectory_msgs__rosidl_generator_c.so"))
        ).trajectory_msgs__msg__JointTrajectoryPoint__Sequence__fini
        self._free.argtypes, self._free.restype = [ctypes.c_void_p], None

    def read(self, address: int) -> Any:
        """A request at an address; its points are taken out."""
        points = memory.Sequence.from_address(address + self._points)
        reason = _refusal(points)
        taken = memory.Sequence(points.data, points.size, points.capacity)
        points.data, points.size, points.capacity = None, 0, 0
        # Freed when nobody reads them any more; that takes as long as they are many.
        weakref.finalize(taken, self._free, ctypes.pointer(memory.Sequence(*_parts(taken))))
        if not reason and memory.remaining(self._request, address, LARGEST_REST) < 0:
            reason = f"beside its points it holds more than {LARGEST_REST} bytes"
        if reason:
            identity = self._convert_id(address + self._id)
            return SimpleNamespace(goal_id=identity, goal=SimpleNamespace(refused=reason))
        request = self._convert(address)
        head = request.goal.trajectory
        times = _columns(taken)["time"]
        last = float(times["sec"][-1] + 1e-9 * times["nanosec"][-1]) if taken.size else 0.0
        names = list(head.joint_names)
        trajectory = GoalTrajectory(
            stamp_to_nanoseconds(head.header.stamp), names, taken.size, last, lambda: _table(taken, names)
        )
        fields = self._goal.get_fields_and_field_types()
        rest = {name: getattr(request.goal, name) for name in fields if name != "trajectory"}
        goal = SimpleNamespace(refused="", trajectory=trajectory, **rest)
        return SimpleNamespace(goal_id=request.goal_id, goal=goal)


def _parts(sequence: memory.Sequence) -> tuple[Any, ...]:
    return sequence.data, sequence.size, sequence.capacity


def _columns(points: memory.Sequence) -> Any:
    """The points' structures as an array with the fields data and size of each sequence, and time."""
    sequence = np.dtype([("data", "u8"), ("size", "u8"), ("capacity", "u8")])
    time = np.dtype([("sec", "i4"), ("nanosec", "u4")])
    fields = {**dict.fromkeys((*FIELDS, "effort"), sequence), "time": time}
    places = [_POINT.fields[name if name != "time" else "time_from_start"][0] for name in fields]
    row = np.dtype(
        {"names": list(fields), "formats": list(fields.values()), "offsets": places, "itemsize": _POINT.size}
    )
    if not points.size:
        return np.zeros(0, row)
    return np.frombuffer((ctypes.c_char * (_POINT.size * points.size)).from_address(points.data), row)


def _refusal(points: memory.Sequence) -> str:
    """Why points are not read; empty when they are."""
    if points.size > LONGEST_TRAJECTORY:
        return f"it has {points.size} waypoints; at most {LONGEST_TRAJECTORY} are read"
    columns = _columns(points)
    values = sum(int(columns[name]["size"].sum()) for name in (*FIELDS, "effort"))
    size = 8 * values + _OVERHEAD * points.size
    return f"its points hold {size} bytes; at most {LARGEST} are read" if size > LARGEST else ""


def _table(points: memory.Sequence, names: Sequence[str]) -> WaypointTable:
    """The points as arrays; TrajectoryError for one that has too few or too many values."""
    columns, joints = _columns(points), len(names)
    rows = np.full((len(FIELDS), points.size, joints), np.nan)
    for row, field in zip(rows, FIELDS, strict=True):
        counts = columns[field]["size"].astype(np.int64)
        check_lengths(counts, field, joints)
        given = np.flatnonzero(counts)
        places = row.ctypes.data + 8 * joints * given
        for place, data in zip(places.tolist(), columns[field]["data"][given].tolist(), strict=True):
            ctypes.memmove(place, data, 8 * joints)
        check_finite(row, counts, field, names)
    times = columns["time"]["sec"] + 1e-9 * columns["time"]["nanosec"]
    return WaypointTable(times, *rows)
