"""QoS profiles of the topics that the nodes exchange."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import QoSDurabilityPolicy, QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy


def _profile(depth: int, *, reliable: bool, latched: bool = False) -> QoSProfile:
    return QoSProfile(
        history=QoSHistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=QoSReliabilityPolicy.RELIABLE if reliable else QoSReliabilityPolicy.BEST_EFFORT,
        durability=QoSDurabilityPolicy.TRANSIENT_LOCAL if latched else QoSDurabilityPolicy.VOLATILE,
    )


DESCRIPTION = _profile(1, reliable=True, latched=True)
"""``robot_description``, both sides: who comes late gets the last one."""

STATE_PUBLISHER = _profile(10, reliable=True)
"""``joint_states`` out: reliable, so that every kind of subscription matches."""

STATE_SUBSCRIPTION = _profile(1, reliable=False)
"""``joint_states`` in, for control by the wall clock: any publisher matches, only the newest state counts."""

LOCKSTEP = _profile(1000, reliable=True)
"""``joint_states`` in and ``joint_command`` both ways in lockstep, where a lost message costs a time-out;
deep enough that a recorder beside the loop loses nothing."""

COMMAND = _profile(1, reliable=True)
"""Effort commands, both sides: only the newest counts."""

TRAJECTORY = _profile(10, reliable=True)
"""Trajectories in."""

CLOCK = _profile(1, reliable=True)
"""``/clock`` out; subscriptions of ROS clients are best effort with depth 1."""

CLOCK_SUBSCRIPTION = _profile(1, reliable=False)
"""``/clock`` in, as every ROS client takes it."""

DIAGNOSTICS = _profile(10, reliable=True)
"""``/diagnostics`` out."""

NEWEST = _profile(2, reliable=False)
"""The newest messages, for who looks now and then."""

LAST_WORD = Duration(seconds=3.0)
"""How long a process that ends waits for its last message to arrive."""

RECORDING = _profile(5000, reliable=True)
"""Everything that passes, for recorders: nothing may be lost."""
