"""The age of the latest joint state by the clocks of a node."""

from __future__ import annotations

from time import monotonic_ns

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node

from robot_dynamics.control.state_age import StateAge

BACKWARDS = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)


class StateWatch:
    """A :class:`~robot_dynamics.control.state_age.StateAge` that knows what time it is.

    Args:
        node: whose clock it is.
        topic: of the states.
    """

    def __init__(self, node: Node, topic: str) -> None:
        simulated = bool(node.get_parameter("use_sim_time").value)
        self._node = node
        self._age = StateAge(simulated, lambda: not node.count_publishers(topic))
        if simulated:
            self._jumps = node.get_clock().create_jump_callback(BACKWARDS, post_callback=self._on_jump)

    def note(self, stamp: int, timeout: float) -> None:
        """A state has come, with this ``stamp`` [ns]; 0: it has none. After ``timeout`` [s] it is too old."""
        self._age.note(*self._now(), stamp, timeout)

    def forget(self) -> None:
        """Forget where the arm is."""
        self._age.forget()

    def seconds(self, timeout: float) -> float:
        """Since the latest state, beyond ``timeout`` only where states are missing [s]."""
        return self._age.seconds(*self._now(), timeout)

    def objection(self, timeout: float) -> str:
        """Reason why the arm's place is unknown, ``timeout`` [s] without a state; empty where it is known."""
        return self._age.objection(*self._now(), timeout)

    def _now(self) -> tuple[int, int]:
        """By the node's clock and by the steady one [ns]."""
        return self._node.get_clock().now().nanoseconds, monotonic_ns()

    def _on_jump(self, _: TimeJump) -> None:
        self._age.look(*self._now())
