"""A node that joins the graph for a question and leaves again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from robot_dynamics.ros.support.isolation import use_sockets


@contextlib.contextmanager
def visiting_node(name: str) -> Iterator[tuple[Node, SingleThreadedExecutor]]:
    """A node without parameter services in a context of its own, with the executor that runs it."""
    use_sockets()
    context = rclpy.Context()
    rclpy.init(context=context, args=[])
    node = Node(name, context=context, use_global_arguments=False, start_parameter_services=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        yield node, executor
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
