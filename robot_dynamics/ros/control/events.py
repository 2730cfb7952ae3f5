"""What a control loop lets people know while it runs: log lines, and what the diagnostics make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.node import Node

from robot_dynamics.ros.support.burst_log import BurstLog

THROTTLE = 2.0
"""Seconds between two log lines about the same recurring fault."""


class LoopEvents:
    """Takes note of what happens in a loop and logs it, throttled where it may recur in every cycle.

    Attributes:
        refused: messages that were not used.
        unsafe: why the controller had no effort for the last state; empty when it had one.
        saturated: names of the joints whose efforts were cut in the last cycle.

    Args:
        node: whose log it is.
        changed: called when the diagnostics must not wait for their turn.
    """

    def __init__(self, node: Node, changed: Callable[[], None]) -> None:
        self.refused = 0
        self.unsafe = ""
        self.saturated: Sequence[str] = ()
        self._log = node.get_logger()
        self._complain = BurstLog(self._log.error)
        self._changed = changed

    def refuse(self, reason: str) -> None:
        """A message is not used; this may recur."""
        self.refused += 1
        self._warn(reason)

    def refuse_request(self, reason: str) -> None:
        """What somebody has asked for is not done."""
        self.refused += 1
        self._complain(reason)

    def no_effort(self, reason: str) -> None:
        """The controller has no effort for a state."""
        self.unsafe = reason
        self._warn(f"safe output: {reason}")

    def effort(self, saturated: Sequence[str]) -> None:
        """The controller has answered a state; the efforts of some joints, by name, were cut."""
        self.unsafe = ""
        self.saturated = saturated
        if saturated:
            self._warn(self.limited)

    @property
    def limited(self) -> str:
        """Which efforts were cut, in words."""
        return f"effort limited at {', '.join(self.saturated)}"

    def jumped(self, reason: str) -> None:
        """A state cannot follow from the one before."""
        self._log.warning(f"{reason}: holding here, nothing is followed any more")

    def states_lost(self, age: float, safe_output: str) -> None:
        """The last joint state is ``age`` [s] old."""
        self._log.error(f"no joint state for {age:.3f} s: safe output {safe_output}")
        self._changed()

    def front_lost(self, silence: float, safe_output: str) -> None:
        """The node's thread had not looked after the loop for ``silence`` [s]; now it does again."""
        self._log.error(f"the node's own thread hung for {silence:.3f} s: safe output {safe_output}")
        self._changed()

    def states_back(self) -> None:
        """Joint states come again."""
        self._log.info("joint states are back: holding")
        self._changed()

    def _warn(self, text: str) -> None:
        self._log.warning(text, throttle_duration_sec=THROTTLE)
