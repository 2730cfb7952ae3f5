"""Work that a node's loop must not wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from rclpy.node import Node

from robot_dynamics.ros.support.faults import explain

T = TypeVar("T")


class Background:
    """A thread that builds one thing after the other; results are taken over in the node's own thread.

    Args:
        node: whose callbacks take the results.
    """

    def __init__(self, node: Node) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="background")
        self._waiting: list[tuple[Future[Any], Callable[[Any], None], Callable[[str], None]]] = []
        self._ready = node.create_guard_condition(self._take_over)

    def submit(
        self, work: Callable[[], T], take: Callable[[T], None], refused: Callable[[str], None]
    ) -> None:
        """Build something.

        Args:
            work: runs in the thread.
            take: gets the result, in the node's thread.
            refused: gets the reason instead, when ``work`` or ``take`` raises.
        """
        building = self._pool.submit(work)
        self._waiting.append((building, take, refused))
        building.add_done_callback(lambda _: self._ready.trigger())

    def _take_over(self) -> None:
        while self._waiting and self._waiting[0][0].done():
            building, take, refused = self._waiting.pop(0)
            try:
                take(building.result())
            except Exception as error:  # whatever it is, what was there before goes on
                refused(explain(error))
