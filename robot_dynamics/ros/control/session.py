"""A controller in use by a host: its messages, its clock and the record of its cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.core.library import load_core
from robot_dynamics.errors import BackendError
from robot_dynamics.ros.control.native.library import ffi
from robot_dynamics.ros.control.records import Cycle, Rows, cycle_of, record_type
from robot_dynamics.ros.support.messages import JointOrder
from robot_dynamics.spatial import Array

RECORD_BYTES = 4_000_000
"""Size of the ring that records wait in: several seconds of an arm's cycles."""
BLOCK = 128
"""Records that are read at a time."""
_UNKNOWN_EPOCH = -(2**63)


class StateClock:
    """The controller's clock: seconds since the first stamp that it was asked for."""

    def __init__(self) -> None:
        self._epoch: int | None = None

    def seconds(self, nanoseconds: int) -> float:
        """A stamp on the controller's clock [s]."""
        if self._epoch is None:
            self._epoch = nanoseconds
        return 1e-9 * (nanoseconds - self._epoch)

    def nanoseconds(self, seconds: float) -> int:
        """The stamp of a time on the controller's clock; inverse of :meth:`seconds`."""
        return (self._epoch or 0) + round(1e9 * seconds)


class SessionClock(StateClock):
    """The controller's clock, shared with the loop."""

    def __init__(self, session: Any) -> None:
        super().__init__()
        self._library, self._session = load_core(), session

    def close(self) -> None:
        """The session ends: from now on the clock is nobody's."""
        self._session = None

    def seconds(self, nanoseconds: int) -> float:
        """A stamp on the controller's clock [s]."""
        if self._session is None:
            return super().seconds(nanoseconds)
        return float(self._library.rd_session_seconds(self._session, nanoseconds))

    def nanoseconds(self, seconds: float) -> int:
        """The stamp of a time on the controller's clock; inverse of :meth:`seconds`."""
        if self._session is None:
            return super().nanoseconds(seconds)
        epoch = self._library.rd_session_epoch(self._session)
        return (0 if epoch == _UNKNOWN_EPOCH else int(epoch)) + round(1e9 * seconds)


class Names:
    """Joint names as they stand in a message.

    Attributes:
        count: their number.
        lengths: ``uint32_t[count]``, in bytes.
        text: all names in a row.

    Args:
        names: in their order.
    """

    def __init__(self, names: Sequence[str]) -> None:
        encoded = [name.encode() for name in names]
        self.count = len(encoded)
        self.lengths = ffi().new("uint32_t[]", [len(name) for name in encoded])
        self.text = ffi().new("char[]", b"".join(encoded))


class Session:
    """One controller, as the loop sees it.

    Args:
        library: of the host.
        controller: whose cycles the loop runs from now on.
        joint_names: of its joints, in its order.

    Attributes:
        handle: ``rd_session *``.
        messages: ``rd_messages *``.
        clock: of the controller.
        order: finds its joints in messages.
        cycle: makes a cycle of a record.
        measured_names: of joints that somebody else moves, and whose state the model takes.

    Raises:
        BackendError: the compiler lays out the records in another way.
    """

    def __init__(self, library: Any, controller: CoreController[Any], joint_names: Sequence[str]) -> None:
        self.controller = controller
        self.cycle: Callable[[Any], Cycle] = partial(cycle_of, reference_of=controller.reference_of)
        self.order = JointOrder(joint_names)
        self._library = library
        self.measured_names = controller.measured_joints
        self.messages = _messages(library, joint_names, self.measured_names, controller.command_offset)
        self._core = load_core()
        self.handle = self._core.rd_session_new(ffi().cast("rd_core *", controller.handle), RECORD_BYTES)
        if not self.messages or not self.handle:
            raise MemoryError("no memory for a controller's messages and records")
        self._core.rd_session_attach(self.handle, self.messages)
        self.clock = SessionClock(self.handle)
        self._rows: Rows = np.zeros(BLOCK, dtype=record_type(len(joint_names), controller.telemetry))
        if self._rows.itemsize != self._core.rd_session_record_size(self.handle):
            raise BackendError("this compiler lays out the records of the loop in another way")
        self._block = ffi().from_buffer(self._rows)

    def records(self) -> Iterator[Rows]:
        """Records since the last call, oldest first, a block at a time."""
        count = BLOCK
        while count == BLOCK:
            count = self._core.rd_session_read_many(self.handle, self._block, BLOCK)
            if count:
                yield self._rows[:count].copy()

    @property
    def lost(self) -> int:
        """Number of records that found no room."""
        return int(self._core.rd_session_lost(self.handle))

    def free(self) -> None:
        """Give back the memory; the loop must not use it any more."""
        self.clock.close()
        self._core.rd_session_free(self.handle)
        self._library.rd_messages_free(self.messages)
        self.handle = self.messages = ffi().NULL


def _messages(library: Any, joint_names: Sequence[str], measured: Sequence[str], offset: Array | None) -> Any:
    """``rd_messages *`` of a controller with these joints.

    Args:
        library: of the host.
        joint_names: of the controller, in its order.
        measured: names of the measured joints.
        offset: (n,) added to the measured positions in the stamped command; None: the reference is.
    """
    names = Names([*joint_names, *measured])
    added = ffi().NULL if offset is None else ffi().new("double[]", offset.tolist())
    return library.rd_messages_new(len(joint_names), len(measured), names.lengths, names.text, added)
