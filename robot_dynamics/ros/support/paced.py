"""A loop for nodes that look at busy topics now and then."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from robot_dynamics.ros.support.hot_loop import run_ready
from robot_dynamics.ros.support.spin import StopEvent

HURRY = 0.001
"""Seconds between two looks at the callbacks while somebody waits for an answer."""


def spin_at(
    rate: float,
    node: Node,
    stop: StopEvent,
    work: Callable[[], None],
    waiting: Callable[[], bool] = lambda: False,
) -> None:
    """Sleep, call ``work``, and run the node's callbacks that are ready, until the event.

    An executor would wake up for every message of a control loop; here they are overtaken in the queue.

    Args:
        rate: of the loop [Hz].
        node: the node.
        stop: ends the loop.
        work: what is done each time.
        waiting: whether an answer is due that must be taken at once; ``work`` rests meanwhile.
    """
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    try:
        while not stop.wait(HURRY if waiting() else 1.0 / rate):
            if not waiting():
                work()
            run_ready(executor)
    finally:
        executor.remove_node(node)
        executor.shutdown()
