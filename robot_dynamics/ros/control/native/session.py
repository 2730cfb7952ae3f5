"""A controller in use by the thread: its messages, the names it knows, and the record of its cycles."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.core.library import address
from robot_dynamics.errors import BackendError
from robot_dynamics.ros.control.loop import Cycle, StateClock
from robot_dynamics.ros.control.native.cycles import Rows, cycle_of, row_type
from robot_dynamics.ros.control.native.names import NameLayout, Names
from robot_dynamics.ros.support.messages import JointOrder
from robot_dynamics.spatial import Array

RECORD_BYTES = 4_000_000
"""Of the ring that records wait in: several seconds of an arm's cycles."""
BLOCK = 128
"""Records that are read at a time."""
LAYOUTS = 8
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
        cycle: makes a cycle of a record.
    """

    def __init__(
        self, library: ctypes.CDLL, controller: CoreController[Any], joint_names: Sequence[str]
    ) -> None:
        self.controller = controller
        self.cycle: Callable[[Any], Cycle] = partial(cycle_of, reference_of=controller.reference_of)
        self.order = JointOrder(joint_names)
        self._library = library
        self._outlet = _outlet(library, joint_names, controller.command_offset)
        self.handle: int = library.rd_session_new(controller.handle, RECORD_BYTES)
        if not self._outlet or not self.handle:
            raise MemoryError("no memory for a controller's messages and records")
        library.rd_session_attach(self.handle, self._outlet)
        self.clock = SessionClock(library, self.handle)
        self._layouts: list[NameLayout] = []
        self.know(joint_names, range(len(joint_names)))
        self._rows: Rows = np.zeros(BLOCK, dtype=row_type(len(joint_names), controller.told))
        if self._rows.itemsize != library.rd_session_record_size(self.handle):
            raise BackendError("this compiler lays out the records of the loop in another way")
        self._address = int(self._rows.ctypes.data)

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

    def records(self) -> Iterator[Rows]:
        """What the thread has done since the last time, oldest first, a block at a time."""
        count = BLOCK
        while count == BLOCK:
            count = self._library.rd_session_read_many(self.handle, self._address, BLOCK)
            if count:
                yield self._rows[:count].copy()

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


def _outlet(library: ctypes.CDLL, joint_names: Sequence[str], offset: Array | None) -> int:
    """The messages of a controller with these joints; everything but stamp and numbers stands in them.

    Args:
        library: of the thread.
        joint_names: of the controller, in its order.
        offset: (n,) added to the measured positions in the stamped command; None: that has efforts alone.
    """
    names, place, places = Names(joint_names), ctypes.c_size_t(), (ctypes.c_size_t * 3)()
    stamped, known = library.rd_cdr_write_joint_state, (names.count, names.lengths, names.text)
    where: Any = ctypes.byref(place)
    if offset is not None:
        stamped, where = library.rd_cdr_write_moving_joint_state, places
    messages: list[object] = []
    for write, arguments, at in (
        (stamped, known, where),
        (library.rd_cdr_write_float64_array, (names.count,), ctypes.byref(place)),
    ):
        size = write(None, 0, *arguments, at)
        buffer = ctypes.create_string_buffer(size)
        write(buffer, size, *arguments, at)
        messages += [buffer.raw, size, places[2] if at is places else place.value]
    outlet = int(library.rd_outlet_new(names.count, *messages) or 0)
    if outlet and offset is not None:
        library.rd_outlet_tell_state(outlet, names.count, places[0], places[1], address(offset))
    return outlet
