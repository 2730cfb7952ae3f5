"""The watchdog outside a loop: a thread in C that sends the fail-safe output while the loop hangs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from robot_dynamics.ros.control.native.library import ffi


class Loan:
    """Entities of rclpy that C code uses; destroying one waits until it is given back.

    Attributes:
        pointer: ``rd_borrowed *``.

    Args:
        entities: by their names in ``rd_borrowed``, each with a ``handle``.
        event: descriptor that is written to when the node's own thread should look; -1: none.
    """

    def __init__(self, entities: Mapping[str, Any], event: int = -1) -> None:
        self._lent = contextlib.ExitStack()
        borrowed: dict[str, Any] = {"event": event}
        for name, entity in entities.items():
            self._lent.enter_context(entity.handle)
            borrowed[name] = ffi().cast("void *", entity.handle.pointer)
        self.pointer = ffi().new("rd_borrowed *", borrowed)

    def end(self) -> None:
        """Give the entities back."""
        self._lent.close()


class Watchdog:
    """Watches one host from now on.

    Args:
        library: with rcl, see ``load_node``.
        host: ``rd_host *``.
        loan: publishers of the efforts.
        priority: real-time priority of the thread; 0: none.
    """

    def __init__(self, library: Any, host: Any, loan: Loan, priority: int) -> None:
        self._library = library
        self._handle = library.rd_watchdog_start(host, loan.pointer, priority)
        if not self._handle:
            raise MemoryError("no thread for the watchdog of the control loop")

    def stop(self) -> None:
        """Watch no more."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.rd_watchdog_stop(handle)
