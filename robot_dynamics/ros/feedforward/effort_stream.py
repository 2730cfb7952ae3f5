"""Efforts of the moment on a topic of their own, for controllers that take none with a trajectory."""

from __future__ import annotations

import time

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.cross_fade import ramp_down
from robot_dynamics.ros.feedforward.feeder import THROTTLE, Feeder
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import to_array


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
        feedforward, settings = feeder.feedforward, feeder.settings
        if not feeder.active or feedforward is None or feedforward.position is None:
            return
        share, late = 1.0, feeder.state_age - settings.state_timeout
        if late > 0.0:
            share = ramp_down(late, settings.safe_fade_time)
            self._log.error("no joint state: the efforts fade to zero", throttle_duration_sec=THROTTLE)
        self._send(feedforward, share)

    def _fade(self, feedforward: Feedforward) -> None:
        share = ramp_down(time.monotonic() - self._halted_at, self._feeder.settings.safe_fade_time)
        try:
            self._send(feedforward, share)
        except Exception:
            # No effort is the safe output where the halt itself fails.
            share = 0.0
            self._commands.publish(Float64MultiArray(data=to_array(np.zeros(feedforward.chain.dof))))
        if share == 0.0:
            self._halting = None

    def _send(self, feedforward: Feedforward, share: float) -> None:
        ahead = 0.5 / self._feeder.settings.command_rate  # the effort is held for a period
        effort = share * feedforward.effort(self._feeder.now() + ahead)
        self._commands.publish(Float64MultiArray(data=to_array(effort)))
