"""Work that a node's loop must not wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from rclpy.node import Node

from robot_dynamics.native.build_process import BUILDS, Interrupted
from robot_dynamics.ros.support.faults import explain

T = TypeVar("T")


class _Waiting(NamedTuple):
    """Something that is being built, or will be.

    Attributes:
        subject: of which only the newest is built.
        building: its result.
        take: gets the result.
        refused: gets the reason instead.
    """

    subject: str
    building: Future[Any]
    take: Callable[[Any], None]
    refused: Callable[[str], None]


class Background:
    """A thread that builds one thing after the other; results are taken over in the node's own thread.

    Args:
        node: whose callbacks take the results.
    """

    def __init__(self, node: Node) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="background")
        self._waiting: list[_Waiting] = []
        self._ready = node.create_guard_condition(self._take_over)

    @property
    def busy(self) -> bool:
        """Return whether something is being built, or its result waits to be taken over."""
        return bool(self._waiting)

    def submit(
        self,
        subject: str,
        work: Callable[[], T],
        take: Callable[[T], None],
        refused: Callable[[str], None],
    ) -> None:
        """Build something, in place of what waits to be built of the same subject.

        Args:
            subject: what it is about.
            work: runs in the thread.
            take: gets the result, in the node's thread.
            refused: gets the reason instead, when ``work`` or ``take`` raises.
        """

        def build() -> T:
            if BUILDS.stopped:
                raise Interrupted
            return work()

        self._waiting = [one for one in self._waiting if one.subject != subject or not one.building.cancel()]
        building = self._pool.submit(build)
        self._waiting.append(_Waiting(subject, building, take, refused))
        building.add_done_callback(lambda _: self._ready.trigger())

    def _take_over(self) -> None:
        while self._waiting and self._waiting[0].building.done():
            _, building, take, refused = self._waiting.pop(0)
            try:
                take(building.result())
            except Interrupted:
                return
            except Exception as error:  # whatever it is, what was there before goes on
                refused(explain(error))
