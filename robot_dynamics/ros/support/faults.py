"""Errors that no code expected: what is said of them, and who deals with them."""

from __future__ import annotations

import traceback
from pathlib import Path

from rclpy.node import Node

from robot_dynamics.errors import RobotDynamicsError, readable


def explain(error: BaseException) -> str:
    """One line about an error: the text of one of this package's own, else also its type and place."""
    if isinstance(error, RobotDynamicsError):
        return str(error)
    text = f"internal error, {type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        place = frames[-1]
        text += f" (in {place.name}, {Path(place.filename).name} line {place.lineno})"
    return readable(text)


def hand_over(node: Node, error: Exception) -> None:
    """Let the node's method ``on_fault`` deal with an error that a callback raised.

    Raises:
        Exception: the error itself, when the node has no such method.
    """
    on_fault = getattr(node, "on_fault", None)
    if on_fault is None:
        raise error
    node.get_logger().debug("".join(traceback.format_exception(error)))
    on_fault(error)
