"""The thread that answers joint states: starting and ending it, asking it for something, looking at it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections.abc import Sequence
from typing import Any

from rclpy.guard_condition import GuardCondition
from rclpy.node import Node

from robot_dynamics.errors import BackendError
from robot_dynamics.ros.control.native.library import GivenState, Status, load_node
from robot_dynamics.ros.control.native.parameters import SchedulingParameters

REQUEST_PATIENCE = 1.0
"""How long to wait for the thread to meet a request; it does so within a millisecond unless starved [s]."""
FOREIGN_BYTES = 65536
HOLD, ACTIVATE, HALT = range(3)
"""Requests, in the order of the loop's enumeration."""
_NO_STATE = -(2**63)


class LoopThread:
    """A ``rd_node`` of node.h and what it borrows from rclpy.

    Args:
        node: whose clock and context it uses.
        entities: the subscription of the states, the publishers of stamped and of unstamped efforts.
        clock: the subscription of simulated time; None: the clock on the wall counts.
        front: guard condition that is triggered when the node should look at once: a message came that the
            thread does not understand, or something happened.
        event: descriptor that is written to then.
        lockstep: whether every state is answered and none is judged by its age.
        scheduling: of the thread.

    Attributes:
        library: whose functions take the thread's addresses.
        status: as of the last look.

    Raises:
        BackendError: there is no compiler, or rcl or its headers are missing, or rcl refuses.
    """

    def __init__(
        self,
        node: Node,
        entities: Sequence[Any],
        front: GuardCondition,
        clock: Any | None,
        event: int,
        lockstep: bool,
        scheduling: SchedulingParameters,
    ) -> None:
        self.library = load_node()
        self.status = Status()
        self._handle = 0
        self._given: tuple[Any, ...] = ()
        self._foreign = ctypes.create_string_buffer(FOREIGN_BYTES)
        self._wake = GuardCondition(None, None, node.context)
        self._borrowed = contextlib.ExitStack()
        handles = [node.context.handle, *(e.handle for e in (*entities, self._wake, front))]
        for handle in [*handles, *([] if clock is None else [clock.handle])]:
            self._borrowed.enter_context(handle)  # destroying them waits until they are given back
        reason = ctypes.create_string_buffer(1000)
        thread = self.library.rd_node_start(
            *(handle.pointer for handle in handles),
            None if clock is None else clock.handle.pointer,
            event,
            lockstep,
            scheduling.realtime_priority,
            scheduling.realtime_cpu,
            reason,
            len(reason),
        )
        if not thread:
            self._borrowed.close()
            raise BackendError(f"rcl: {reason.value.decode(errors='replace')}")
        self._handle = int(thread)
        self._loop = self.library.rd_node_loop(thread)

    def look(self) -> Status:
        """The thread's status now; the last one when it has ended."""
        if self._handle:
            self.library.rd_node_status(self._handle, ctypes.byref(self.status))
        return self.status

    @property
    def age(self) -> float:
        """Of the last state [s]; infinite before the first."""
        last = self.look().last_state
        return float("inf") if last == _NO_STATE else 1e-9 * (time.monotonic_ns() - last)

    @property
    def busy(self) -> bool:
        """Whether a request is unmet, or a safe output is being sent; not where the thread has failed."""
        status = self.look()
        return (status.done < status.asked or bool(status.halting)) and not status.failed

    def refused_scheduling(self) -> list[str]:
        """What the system does not permit of the scheduling that was asked for, for people."""
        deadline = time.monotonic() + REQUEST_PATIENCE
        while -1 in (self.look().priority_error, self.status.cpu_error) and time.monotonic() < deadline:
            time.sleep(1e-3)
        errors = {"real-time priority": self.status.priority_error, "processor": self.status.cpu_error}
        return [
            f"the native loop does not get its {what}: {os.strerror(error)}"
            for what, error in errors.items()
            if error > 0
        ]

    def seen(self) -> None:
        """The front is alive."""
        self.library.rd_node_seen(self._handle, time.monotonic_ns())

    def use(self, session: int | None) -> None:
        """Use a session from now on, by its address; None: none."""
        self.library.rd_loop_offer(self._loop, session)
        self._until_met()

    def request(self, what: int) -> None:
        """Ask for one of ``HOLD``, ``ACTIVATE`` and ``HALT``."""
        self.library.rd_loop_request(self._loop, what)
        self._until_met()

    def foreign(self) -> bytes:
        """A message that the thread did not understand; empty when there is none."""
        size = self.library.rd_node_foreign(self._handle, self._foreign)
        return self._foreign.raw[:size]

    def give(self, session: int, stamp: int, position: Any, velocity: Any) -> None:
        """A state that was decoded here; left out while the one before has not been taken."""
        if self.library.rd_node_given_pending(self._handle):
            return
        place, rate = position.ctypes.data, None if velocity is None else velocity.ctypes.data
        given = GivenState(session, stamp, place, rate)
        self._given = given, position, velocity
        self.library.rd_node_give(self._handle, ctypes.byref(given))
        self._wake.trigger()

    def stop(self) -> None:
        """End the thread and give back what it was lent."""
        if not self._handle:
            return
        self.look()
        self.library.rd_node_ask_to_stop(self._handle)
        self._wake.trigger()
        self.library.rd_node_stop(self._handle)
        self._handle = 0
        self._borrowed.close()

    def _until_met(self) -> None:
        """Wake the thread and wait until it has looked at every request, which is a sign of life as well."""
        self.seen()
        deadline = time.monotonic() + REQUEST_PATIENCE
        self._wake.trigger()
        while (status := self.look()).done < status.asked and time.monotonic() < deadline:
            time.sleep(1e-4)
