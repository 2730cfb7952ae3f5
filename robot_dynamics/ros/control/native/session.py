"""A controller in use by the thread: its messages, the names it knows, and the record of its cycles."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np

from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.control.native.arm import NativeArmController
from robot_dynamics.control.native.snapshot import PHASES
from robot_dynamics.control.protocol import Command
from robot_dynamics.ros.control.loop import Cycle, StateClock
from robot_dynamics.ros.control.native.library import Record
from robot_dynamics.ros.control.native.names import NameLayout, Names
from robot_dynamics.ros.support.messages import JointOrder
from robot_dynamics.spatial import Array

RECORD_BYTES = 4_000_000
"""Of the ring that records wait in: several seconds of an arm's cycles."""
LAYOUTS = 8
_ARRAYS = 7
_UNKNOWN_EPOCH = -(2**63)


class SessionClock(StateClock):
    """The controller's clock, shared with the thread."""

    def __init__(self, library: ctypes.CDLL, session: int) -> None:
        super().__init__()
        self._library, self._session = library, session

    def close(self) -> None:
        """The session ends: from now on the clock is nobody's."""
        self._session = 0

    def seconds(self, nanoseconds: int) -> float:
        """A stamp on the controller's clock [s]."""
        if not self._session:
            return super().seconds(nanoseconds)
        return float(self._library.rd_session_seconds(self._session, nanoseconds))

    def nanoseconds(self, seconds: float) -> int:
        """The stamp of a time on the controller's clock; inverse of :meth:`seconds`."""
        if not self._session:
            return super().nanoseconds(seconds)
        epoch = self._library.rd_session_epoch(self._session)
        return (0 if epoch == _UNKNOWN_EPOCH else int(epoch)) + round(1e9 * seconds)


class Session:
    """One controller, as the thread sees it.

    Args:
        library: of the thread.
        controller: whose cycles run there from now on.
        joint_names: of its joints, in its order.

    Attributes:
        handle: address of the ``rd_session``.
        clock: of the controller.
        order: finds its joints in messages.
    """

    def __init__(
        self, library: ctypes.CDLL, controller: NativeArmController, joint_names: Sequence[str]
    ) -> None:
        self.controller = controller
        self.order = JointOrder(joint_names)
        self._library = library
        self._outlet = _outlet(library, joint_names)
        self.handle: int = library.rd_session_new(controller.handle, RECORD_BYTES)
        if not self._outlet or not self.handle:
            raise MemoryError("no memory for a controller's messages and records")
        library.rd_session_attach(self.handle, self._outlet)
        self.clock = SessionClock(library, self.handle)
        self._layouts: list[NameLayout] = []
        self.know(joint_names, range(len(joint_names)))
        self._record = np.zeros(library.rd_session_record_size(self.handle) // 8)
        self._address = int(self._record.ctypes.data)
        self._head = Record.from_buffer(self._record.data)
        self._values = self._record[ctypes.sizeof(Record) // 8 :].reshape(_ARRAYS, len(joint_names))

    def know(self, names: Sequence[str], places: Sequence[int]) -> None:
        """Messages with these names are read by the thread itself from now on; the joints are at ``places``.

        Layouts are few; beyond that the oldest but the controller's own is known no longer.
        """
        layout = NameLayout(names, places)
        number = len(self._layouts)
        place = number if number < LAYOUTS else 1 + (number - 1) % (LAYOUTS - 1)
        self._layouts.append(layout)  # all are kept: the thread may still be reading with an old one
        self._library.rd_outlet_know(self._outlet, place, layout.address)

    @property
    def full(self) -> bool:
        """Whether so many kinds of messages have come that learning more would not end."""
        return len(self._layouts) > 100 * LAYOUTS

    def records(self) -> Iterator[tuple[Record, Cycle]]:
        """What the thread has done since the last time, oldest first."""
        while self._library.rd_session_read(self.handle, self._address):
            yield self._head, self._cycle()

    @property
    def lost(self) -> int:
        """Records that found no room."""
        return int(self._library.rd_session_lost(self.handle))

    def free(self) -> None:
        """Give back the memory; the thread must not use it any more."""
        self.clock.close()
        self._library.rd_session_free(self.handle)
        self._library.rd_outlet_free(self._outlet)
        self.handle = self._outlet = 0

    def _cycle(self) -> Cycle:
        values: Array = self._values.copy()
        position, velocity, goal, rate, acceleration, unlimited, effort = values
        command = Command(effort, unlimited, Reference(goal, rate, acceleration), PHASES[self._head.phase])
        return Cycle(self._head.stamp, position, velocity, command)


def _outlet(library: ctypes.CDLL, joint_names: Sequence[str]) -> int:
    """The messages of a controller with these joints; everything but stamp and efforts stands in them."""
    names, place = Names(joint_names), ctypes.c_size_t()
    messages: list[object] = []
    for write, arguments in (
        (library.rd_cdr_write_joint_state, (names.count, names.lengths, names.text)),
        (library.rd_cdr_write_float64_array, (names.count,)),
    ):
        size = write(None, 0, *arguments, ctypes.byref(place))
        buffer = ctypes.create_string_buffer(size)
        write(buffer, size, *arguments, ctypes.byref(place))
        messages += [buffer.raw, size, place.value]
    return int(library.rd_outlet_new(names.count, *messages) or 0)
