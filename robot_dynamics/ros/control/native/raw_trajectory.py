"""Trajectory messages as they arrive: measured before they are converted, converted without the interpreter.

Converting the objects of a message with 10^5 points holds the interpreter for seconds. Here the head of the
message tells what is coming, and the points of a JointTrajectory are read in C, straight into arrays.
"""

from __future__ import annotations

import contextlib
import struct
from functools import cached_property
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.waypoints import (
    WaypointTable,
    check_count,
    check_finite,
    check_lengths,
    tabulate,
)
from robot_dynamics.errors import BackendError, TrajectoryError
from robot_dynamics.ros.control.native.codec import load_codec
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.ros.support.trajectories import waypoints

LARGEST = 16 * 2**20
"""Longest message that is read [bytes]."""
LARGEST_FOREIGN = 2**20
"""Longest message that is read in another encapsulation than plain little-endian CDR [bytes]."""
_PLAIN = b"\x00\x01"
FIELDS = ("positions", "velocities", "accelerations")
"""Of a point, in the order in which a message has them."""


class RawTrajectory:
    """A message that begins with a header and joint names, and goes on with points.

    Attributes:
        stamp: of the header [ns].
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
            self._begin = head.place
        elif len(data) > LARGEST_FOREIGN:
            raise TrajectoryError(
                f"{len(data)} bytes in another encapsulation than little-endian CDR; at most"
                f" {LARGEST_FOREIGN} are read"
            )
        else:
            self._begin = 0
            self.stamp = stamp_to_nanoseconds(self.message.header.stamp)
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
        codec = None
        if self._begin:
            # Without a compiler the objects are converted: slower, but the same.
            with contextlib.suppress(BackendError):
                codec = load_codec()
        if codec is None:
            return tabulate(waypoints(self.message), self.joint_names)
        points, joints = self.points, len(self.joint_names)
        if points * joints * 8 > len(self._data):
            raise TrajectoryError(
                f"{points} points of {joints} joints are more than {len(self._data)} bytes hold"
            )
        times, rows = np.empty(points), np.empty((3, points, joints))
        counts = np.empty((3, points), dtype=np.int32)
        addresses = (array.ctypes.data for array in (times, rows, counts))
        if not codec.rd_cdr_read_points(self._data, len(self._data), self._begin, points, joints, *addresses):
            raise TrajectoryError(f"its {len(self._data)} bytes do not hold the {points} points it speaks of")
        for field, values, count in zip(FIELDS, rows, counts, strict=True):
            check_lengths(count, field, joints)
            check_finite(values, count, field, self.joint_names)
        return WaypointTable(times, *rows)


class _Head:
    """Stamp, joint names and number of points of a plain CDR message, and where the points begin."""

    def __init__(self, data: bytes) -> None:
        self._data, self.place = data, 4
        seconds, nanoseconds = self._read("<i"), self._read("<I")
        self.stamp = seconds * 1_000_000_000 + nanoseconds
        self._text()
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
        text = self._data[self.place : self.place + length].rstrip(b"\0")
        self.place += length
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise TrajectoryError(f"a name is no text: {error}") from error
