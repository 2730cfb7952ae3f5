"""QoS profiles of the topics that the nodes exchange."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.duration import Duration
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSDurabilityPolicy, QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.qos_overriding_options import InvalidQosOverridesError, QoSOverridingOptions
from rclpy.subscription import Subscription

from robot_dynamics.errors import ParameterError


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

STATE_SUBSCRIPTION = _profile(10, reliable=False)
"""``joint_states`` in, for control by the wall clock: any publisher matches, and messages of
grippers find room. Of the states with the controller's joints only the newest counts."""

LOCKSTEP = _profile(1000, reliable=True)
"""``joint_states`` in and ``joint_command`` both ways in lockstep, where a lost message costs a time-out;
deep enough that a recorder beside the loop loses nothing."""

COMMAND = _profile(1, reliable=True)
"""Effort commands, both sides: only the newest counts."""

STREAM = _profile(10, reliable=True)
"""Poses and twists of a stream, both sides: those that a pause has kept waiting count too."""

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
"""Time for which a process that ends waits for its last message to arrive."""

PARTING_WORD = Duration(seconds=0.2)
"""The same, for a process that is to end at once."""

RECORDING = _profile(5000, reliable=True)
"""Everything that passes, for recorders: nothing may be lost."""


def publisher(node: Node, kind: type, topic: str, profile: QoSProfile) -> Publisher:
    """A publisher whose profile the parameters ``qos_overrides.<topic>.publisher.*`` may change at the start.

    Raises:
        ParameterError: one of them is no such policy.
    """
    with _overridden(topic):
        return node.create_publisher(
            kind,
            topic,
            copy.copy(profile),  # rclpy writes what was given into it
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )


def subscription(
    node: Node, kind: type, topic: str, callback: Callable[..., Any], profile: QoSProfile, **options: Any
) -> Subscription:
    """A subscription whose profile ``qos_overrides.<topic>.subscription.*`` may change at the start.

    Args:
        node: gets it.
        kind: of the messages.
        topic: their name.
        callback: gets them.
        profile: without overrides.
        options: as ``Node.create_subscription`` takes them.

    Raises:
        ParameterError: an override is no such policy.
    """
    with _overridden(topic):
        return node.create_subscription(
            kind,
            topic,
            callback,
            copy.copy(profile),
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
            **options,
        )


@contextmanager
def _overridden(topic: str) -> Iterator[None]:
    try:
        yield
    except (InvalidParameterTypeException, InvalidQosOverridesError, AssertionError, RuntimeError) as error:
        raise ParameterError(
            f"qos_overrides of the topic {topic}: {error}; history is keep_last or keep_all, depth a whole"
            " number of 1 or more, reliability reliable or best_effort"
        ) from error
