"""A loop around one busy subscription.

The executor of rclpy collects every entity of the node anew for each wait, a quarter of a millisecond of work
that a control loop cannot spare. Here the busy subscription has a small wait set of its own, as
``rclpy.wait_for_message`` makes one, and the executor runs the rest of the node now and then.

rclpy promises nothing about the calls that this takes. Where one of them is missing or takes other arguments,
the executor alone runs everything: slower, but the same.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.subscription import Subscription

from robot_dynamics.ros.support import spin
from robot_dynamics.ros.support.faults import hand_over

HOUSEKEEPING = 0.005
"""Least time between two looks at timers, services and other subscriptions [s]; a look takes 0.5 ms."""
AT_REST = 0.04
"""Largest time between two looks of a loop without a deadline [s]."""
MESSAGES = 3
"""Messages after which a look follows, where they come faster than that."""
# Callbacks run at one look, so that a flood of requests cannot hold up the loop.
BATCH = 10


class _ForeignVersion(Exception):
    """This rclpy has not the call that is needed."""


def spin_on(
    node: Node,
    stop: spin.StopEvent,
    subscription: Subscription,
    at_rest: float = HOUSEKEEPING,
) -> None:
    """Run a node until the event, its busy subscription with the least delay.

    Args:
        node: the node.
        stop: ends the loop.
        subscription: the busy one; its callback takes the message alone.
        at_rest: largest time between two looks at everything else of the node [s]. A look follows
            ``MESSAGES`` messages too, no sooner than after ``HOUSEKEEPING``.
    """
    try:
        _loop(node, stop, subscription, at_rest)
    except _ForeignVersion as reason:
        node.get_logger().warning(
            f"this version of rclpy lets no subscription be served ahead of the others ({reason}): answers"
            " will take longer"
        )
        spin.spin(node, stop)


def _loop(node: Node, stop: spin.StopEvent, subscription: Subscription, at_rest: float) -> None:
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    period, rest = round(1e9 * HOUSEKEEPING), round(1e9 * at_rest)
    looked = time.monotonic_ns() - rest
    served = 0
    with contextlib.ExitStack() as stack:
        stack.callback(executor.shutdown)
        stack.callback(executor.remove_node, node)
        wait = _Wait(node, subscription, stack)

        def serve(patience: int = 0) -> None:
            nonlocal served
            # Not for ever, should messages come faster than they are dealt with.
            if wait.wait(patience):
                served += _take_all(subscription, looked + period)

        while not stop.is_set():
            try:
                remaining = looked + (period if served >= MESSAGES else rest) - time.monotonic_ns()
                if remaining <= 0:
                    run_ready(executor, between=serve)
                    looked, served = time.monotonic_ns(), 0
                else:
                    serve(remaining)
            except (_ForeignVersion, ExternalShutdownException):
                raise
            except Exception as error:
                hand_over(node, error)


def take_one(subscription: Subscription) -> Any:
    """The next message that has arrived on a subscription, past its callback; None where there is none."""
    try:
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    except (AttributeError, TypeError):  # another rclpy: the executor hands the messages over one by one
        return None
    return None if taken is None else taken[0]


def take_all(subscription: Subscription) -> bool:
    """Hand the messages that have arrived on a subscription to its callback.

    Returns:
        False where rclpy does not let us: they wait for the executor.
    """
    try:
        _take_all(subscription)
    except _ForeignVersion:
        return False
    return True


def _take_all(subscription: Subscription, until: float = math.inf) -> int:
    """Hand over what has arrived: one message, and more up to a time [steady ns]; returns how many."""
    count = 0
    while True:
        try:
            with_info = subscription._callback_type is Subscription.CallbackType.WithMessageInfo
            # rclpy has no public take as rclcpp has; this is what its executors call.
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
            if taken is None:
                return count
            arguments = taken if with_info else taken[:1]
        except (AttributeError, TypeError) as error:
            raise _ForeignVersion(str(error)) from error
        subscription.callback(*arguments)
        count += 1
        if time.monotonic_ns() >= until:
            return count


def run_ready(
    executor: Executor,
    limit: int = BATCH,
    between: Callable[[], object] = lambda: None,
    patience: float = 0.0,
) -> None:
    """Run the callbacks that are ready, at most ``limit`` of them.

    Args:
        executor: of the node.
        limit: largest number of callbacks.
        between: called after each of them, for what must not wait for all.
        patience: how long to wait for the first [s].
    """
    for number in range(limit):
        try:
            handler, _, _ = executor.wait_for_ready_callbacks(timeout_sec=0.0 if number else patience)
        except TimeoutException:
            return
        handler()
        error = handler.exception()
        if error is not None:
            raise error
        between()


class _Wait:
    """Waits for a message on one subscription."""

    def __init__(self, node: Node, subscription: Subscription, stack: contextlib.ExitStack) -> None:
        try:
            context: Any = node.context.handle
            stack.enter_context(context)
            stack.enter_context(subscription.handle)
            self._handle: Any = subscription.handle
            self._set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, context)
        except (AttributeError, TypeError) as error:
            raise _ForeignVersion(str(error)) from error

    def wait(self, nanoseconds: int) -> bool:
        """Wait at most so long; whether a message is there."""
        try:
            self._set.clear_entities()
            self._set.add_subscription(self._handle)
            self._set.wait(nanoseconds)
            return bool(self._set.get_ready_entities("subscription"))
        except (AttributeError, TypeError) as error:
            raise _ForeignVersion(str(error)) from error
