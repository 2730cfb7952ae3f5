"""Trajectory messages as they arrive: measured before they are converted, converted without the interpreter.

Converting the objects of a message with 10^5 points holds the interpreter for seconds. Here the head of the
message tells what is coming, and the points are read straight into arrays: of a JointTrajectory in C where
there is a compiler, else in Python, where other threads run meanwhile.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.control.waypoints import (
    WaypointTable,
    check_count,
    check_finite,
    check_lengths,
    tabulate,
)
from robot_dynamics.errors import BackendError, TrajectoryError
from robot_dynamics.ros.control.native.library import ffi, load_hosts
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.ros.support.trajectories import (
    check_one_body,
    check_pose_counts,
    pose_waypoints,
    waypoints,
)
from robot_dynamics.spatial import Array

LARGEST = 16 * 2**20
"""Longest message that is read [bytes]."""
LARGEST_FOREIGN = 2**20
"""Longest message that is read in another encapsulation than plain little-endian CDR [bytes]."""
_PLAIN = b"\x00\x01"
ENCAPSULATION = 4
_LENGTH = struct.Struct("<I")
_DURATION = struct.Struct("<iI")
FIELDS = ("positions", "velocities", "accelerations")
"""Of a point, in the order in which a message has them."""


class RawTrajectory:
    """A message that begins with a header and joint names, and goes on with points.

    Attributes:
        stamp: of the header [ns].
        frame: of the header.
        joint_names: as the message names them.
        points: their number.

    Args:
        kind: of the message.
        data: its bytes.

    Raises:
        TrajectoryError: it is too long, has too many points, or is no such message.
    """

    def __init__(self, kind: type, data: bytes) -> None:
        if len(data) > LARGEST:
            raise TrajectoryError(f"{len(data)} bytes; at most {LARGEST} are read")
        self._kind, self._data = kind, data
        if data[:2] == _PLAIN:
            head = _Head(data)
            self.stamp, self.joint_names, self.points = head.stamp, head.names, head.points
            self.frame = head.frame
            self._begin = head.place
        elif len(data) > LARGEST_FOREIGN:
            raise TrajectoryError(
                f"{len(data)} bytes in another encapsulation than little-endian CDR; at most"
                f" {LARGEST_FOREIGN} are read"
            )
        else:
            self._begin = 0
            self.stamp = stamp_to_nanoseconds(self.message.header.stamp)
            self.frame = self.message.header.frame_id
            self.joint_names, self.points = list(self.message.joint_names), len(self.message.points)
        if self.points:
            check_count(self.points)

    @cached_property
    def message(self) -> Any:
        """The whole message."""
        try:
            return deserialize_message(self._data, self._kind)
        except Exception as error:  # whatever the decoder thinks of these bytes
            raise TrajectoryError(f"it cannot be decoded: {error}") from error

    def table(self) -> WaypointTable:
        """The points of a JointTrajectory.

        Raises:
            TrajectoryError: the bytes do not hold them, or a point has too few or too many values.
        """
        assert self._kind is JointTrajectory
        if not self._begin:
            return tabulate(waypoints(self.message), self.joint_names)
        joints = len(self.joint_names)
        if self.points * joints * 8 > len(self._data):
            raise TrajectoryError(
                f"{self.points} points of {joints} joints are more than {len(self._data)} bytes hold"
            )
        times, counts, rows = self._rows(joints)
        for field, values, count in zip(FIELDS, rows, counts, strict=True):
            check_lengths(count, field, joints)
            check_finite(values, count, field, self.joint_names)
        return WaypointTable(times, *rows)

    def _rows(self, joints: int) -> tuple[Array, NDArray[np.integer[Any]], Sequence[Array]]:
        """Times (K,), how many values each point has (3, K), and the values (3, K, joints)."""
        data, points = self._data, self.points
        try:
            codec = load_hosts()
        except BackendError:
            times, given, columns = read_points(data, self._begin, points, (1,) * 4, (*(joints,) * 3, 0))
            return times, given[:3], columns[:3]
        times, rows = np.empty(points), np.empty((3, points, joints))
        counts = np.empty((3, points), dtype=np.int32)
        arrays = (ffi().cast("void *", array.ctypes.data) for array in (times, rows, counts))
        if not codec.rd_cdr_read_points(data, len(data), self._begin, points, joints, *arrays):
            raise TrajectoryError(f"its {len(data)} bytes do not hold the {points} points it speaks of")
        return times, counts, list(rows)

    def poses(self) -> list[PoseWaypoint]:
        """The points of a MultiDOFJointTrajectory of one body; see ``trajectories.pose_waypoints``."""
        assert self._kind is MultiDOFJointTrajectory
        if not self._begin:
            return pose_waypoints(self.message)
        check_one_body(len(self.joint_names))
        times, counts, rows = read_points(self._data, self._begin, self.points, (7, 6, 6), (1, 1, 1))
        for k in np.flatnonzero((counts[0] != 1) | (counts[1:] > 1).any(axis=0)).tolist()[:1]:
            check_pose_counts(k, *counts[:, k].tolist())
        places, rates, accelerations = (row.tolist() for row in rows)
        moving, accelerated = (counts[1:] == 1).tolist()
        return [
            PoseWaypoint(
                time,
                place[:3],
                place[3:],
                *((rate[:3], rate[3:]) if moves else (None, None)),
                *((change[:3], change[3:]) if changes else (None, None)),
            )
            for time, place, rate, change, moves, changes in zip(
                times.tolist(), places, rates, accelerations, moving, accelerated, strict=True
            )
        ]


def read_points(
    data: bytes, begin: int, points: int, widths: Sequence[int], wanted: Sequence[int]
) -> tuple[Array, NDArray[np.integer[Any]], list[Array]]:
    """The points of a plain little-endian CDR message, each some sequences and a duration.

    Args:
        data: of the message.
        begin: where they begin, right behind their number [bytes].
        points: their number, K.
        widths: doubles in an element of each of the sequences.
        wanted: elements that each of the sequences is to have.

    Returns:
        Times (K,) [s]; how many elements each sequence has (sequences, K); and of each sequence the values
        (K, wanted * width), NaN where it has not as many elements as wanted.

    Raises:
        TrajectoryError: the bytes do not hold so many points.
    """
    sizes = [width * count for width, count in zip(widths, wanted, strict=True)]
    if 8 * points * max(sizes) > 8 * len(data) or points * (4 * len(widths) + 8) > len(data):
        raise TrajectoryError(f"{points} points are more than {len(data)} bytes hold")
    times, counts = np.empty(points), np.zeros((len(widths), points), dtype=np.int64)
    rows = [np.full((points, size), np.nan) for size in sizes]
    view, place = memoryview(data)[ENCAPSULATION:], begin - ENCAPSULATION
    fields = list(zip(range(len(widths)), widths, wanted, rows, strict=True))
    try:
        for k in range(points):
            for field, width, count, row in fields:
                place += -place % 4
                (given,) = _LENGTH.unpack_from(view, place)
                counts[field, k] = given
                place += 4
                if given == 0:
                    continue
                place += -place % 8
                end = place + 8 * width * given
                if end > len(view):
                    raise TrajectoryError(f"its {len(data)} bytes end in waypoint {k}")
                if given == count:
                    row[k] = np.frombuffer(view[place:end], "<f8")
                place = end
            place += -place % 4
            seconds, nanoseconds = _DURATION.unpack_from(view, place)
            times[k] = seconds + 1e-9 * nanoseconds
            place += _DURATION.size
    except struct.error:
        raise TrajectoryError(f"its {len(data)} bytes do not hold the {points} points it speaks of") from None
    return times, counts, rows


class _Head:
    """Stamp, joint names and number of points of a plain CDR message, and where the points begin."""

    def __init__(self, data: bytes) -> None:
        self._data, self.place = data, 4
        seconds, nanoseconds = self._read("<i"), self._read("<I")
        self.stamp = seconds * 1_000_000_000 + nanoseconds
        self.frame = self._text()
        self.names = [self._text() for _ in range(self._count(5))]
        self.points = self._count(24)

    def _read(self, code: str) -> int:
        self.place += -self.place % 4
        try:
            (value,) = struct.unpack_from(code, self._data, self.place)
        except struct.error:
            raise TrajectoryError(f"its {len(self._data)} bytes end in the middle") from None
        self.place += 4
        return int(value)

    def _count(self, least: int) -> int:
        """The length of a sequence whose elements take so many bytes or more."""
        count = self._read("<I")
        if count * least > len(self._data) - self.place + 8:
            raise TrajectoryError(
                f"it speaks of {count} elements, of which its {len(self._data)} bytes hold few"
            )
        return count

    def _text(self) -> str:
        length = self._read("<I")
        if length > len(self._data) - self.place:
            raise TrajectoryError(f"its {len(self._data)} bytes end in the middle of a name")
        text = self._data[self.place : self.place + length].partition(b"\0")[0]
        self.place += length
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise TrajectoryError(f"a name is no text: {error}") from error
