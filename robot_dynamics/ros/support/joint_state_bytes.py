"""Joint states that are written as bytes: one differs from the next in few places only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robot_dynamics.ros.support.messages import to_array
from robot_dynamics.spatial import Array

SECOND = 1_000_000_000
ENCAPSULATION = 4
"""Bytes before the message, which begins with its stamp."""


class JointStateBytes:
    """Serialized joint states of the same joints.

    Args:
        joint_names: of the n joints; each message has a position, a velocity and an effort of all.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        joints = len(joint_names)
        none = to_array(np.zeros(joints))
        message = JointState(name=list(joint_names), position=none, velocity=none, effort=none)
        self._template = np.frombuffer(bytes(serialize_message(message)), np.uint8)
        # Three sequences come last, each behind its length, the doubles at multiples of eight bytes.
        size, numbers = len(self._template), 8 * joints
        places = [size - 3 * numbers - 16, size - 2 * numbers - 8, size - numbers]
        self._layout = np.dtype(
            {
                "names": ["stamp", "position", "velocity", "effort"],
                "formats": [("i4", (2,)), *[("f8", (joints,))] * 3],
                "offsets": [ENCAPSULATION, *places],
                "itemsize": size,
            }
        )
        self._buffer = self._template.copy()
        row = self._buffer.view(self._layout)
        self._stamp, *self._values = (row[name][0] for name in self._layout.names or ())

    def message(self, nanoseconds: int, position: ArrayLike, velocity: ArrayLike, effort: ArrayLike) -> bytes:
        """One message with a stamp [ns] and the values (n,) of all joints."""
        self._stamp[0], self._stamp[1] = divmod(nanoseconds, SECOND)
        for place, values in zip(self._values, (position, velocity, effort), strict=True):
            place[:] = values
        return bytes(self._buffer)

    def messages(
        self, nanoseconds: NDArray[np.int64], position: Array, velocity: Array, effort: Array
    ) -> list[bytes]:
        """Messages with stamps (k,) [ns] and values (k, n)."""
        messages = np.tile(self._template, (len(nanoseconds), 1))
        fields = messages.view(self._layout)[:, 0]
        fields["stamp"] = np.stack(np.divmod(nanoseconds, SECOND), axis=1)
        fields["position"], fields["velocity"], fields["effort"] = position, velocity, effort
        return [message.tobytes() for message in messages]
