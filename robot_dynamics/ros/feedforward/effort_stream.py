"""Efforts of the moment on a topic of their own, for controllers that take none with a trajectory."""

from __future__ import annotations

import time

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.core.library import doubles, load_core
from robot_dynamics.ros.feedforward.feeder import THROTTLE, Feeder
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import to_array
from robot_dynamics.spatial import Array


class EffortStream:
    """Sends the efforts of the feeder's trajectory in time; they fade when states stop or the node halts.

    Args:
        node: gets publisher and timer.
        feeder: knows what is under way.
    """

    def __init__(self, node: Node, feeder: Feeder) -> None:
        self._feeder = feeder
        self._log = node.get_logger()
        self._halted_at = 0.0
        self._halting: Feedforward | None = None
        self._blind_since: float | None = None
        self._sent: Array | None = None
        self._commands = qos.publisher(node, Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(1.0 / feeder.settings.command_rate, self._stream, clock=steady)

    def begin(self) -> None:
        """The efforts count from now on: a halt under way ends."""
        self._halting = None

    def halt(self) -> None:
        """Let the efforts fade; a halt goes on to its end, whatever becomes of what was configured."""
        feedforward = self._feeder.feedforward
        if feedforward is not None and feedforward.position is not None:
            self._halting, self._halted_at = feedforward, time.monotonic()

    def drain(self) -> None:
        """Return when the last effort has faded and arrived."""
        while self._halting is not None:
            self._stream()
            time.sleep(0.01)
        self._commands.wait_for_all_acked(qos.LAST_WORD)

    def _stream(self) -> None:
        if self._halting is not None:
            self._fade(self._halting)
            return
        feeder = self._feeder
        feedforward = feeder.feedforward
        if not feeder.active or feedforward is None or feedforward.position is None:
            return
        blindness = feeder.blindness()
        if self._sent is not None or not blindness:
            self._send(feedforward, self._share(blindness))

    def _share(self, blindness: str) -> float:
        """Of the efforts that is sent: they fade from when it is not known any more where the arm is."""
        if not blindness:
            self._blind_since = None
            return 1.0
        now = time.monotonic()
        if self._blind_since is None:
            self._blind_since = now
        self._log.error(f"{blindness}: the efforts fade to zero", throttle_duration_sec=THROTTLE)
        return self._left_after(now - self._blind_since)

    def _left_after(self, since: float) -> float:
        return float(load_core().rd_ramp_down(since, self._feeder.settings.safe_fade_time))

    def _fade(self, feedforward: Feedforward) -> None:
        share = self._left_after(time.monotonic() - self._halted_at)
        try:
            self._send(feedforward, share)
        except Exception:
            # No effort is the safe output where the halt itself fails.
            share = 0.0
            self._publish(np.zeros(feedforward.chain.dof))
        if share == 0.0:
            self._halting = None

    def _send(self, feedforward: Feedforward, share: float) -> None:
        settings, limits = self._feeder.settings, feedforward.effort_limits
        ahead = 0.5 / settings.command_rate  # the effort is held for a period
        effort = share * feedforward.effort(self._feeder.now(), ahead)
        if self._sent is not None and self._sent.shape == effort.shape:
            given = (doubles(each) for each in (self._sent, settings.max_effort_step * limits, limits))
            load_core().rd_bound_steps(len(effort), *given, share < 1.0, doubles(effort))
        self._publish(effort)

    def _publish(self, effort: Array) -> None:
        self._sent = effort
        self._commands.publish(Float64MultiArray(data=to_array(effort)))
