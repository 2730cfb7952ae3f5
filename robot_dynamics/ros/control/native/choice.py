"""Which loop a node gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleNode

from robot_dynamics.errors import BackendError
from robot_dynamics.ros.control.events import LoopEvents
from robot_dynamics.ros.control.native.native_loop import NativeLoop
from robot_dynamics.ros.control.native.parameters import AUTO, OFF, ON, SchedulingParameters
from robot_dynamics.ros.control.outlet import CommandTopics
from robot_dynamics.ros.support import parameters
from robot_dynamics.ros.support.scheduling import lock_memory, stay_awake


def native_loop(
    node: LifecycleNode,
    topics: CommandTopics,
    lockstep: bool,
    events: LoopEvents,
    on_cycles: Callable[..., float],
) -> NativeLoop | None:
    """The loop in C where the parameters want it and the machine has what it takes; else None and a notice.

    Raises:
        BackendError: the parameters insist on it, and it cannot be.
    """
    wanted = parameters.declare(node, SchedulingParameters)
    log: Any = node.get_logger()
    if wanted.lock_memory and (reason := lock_memory()):
        log.warning(f"memory is not locked: {reason}")
    if wanted.stay_awake and (reason := stay_awake()):
        log.warning(f"the processors may sleep between two states: {reason}")
    # In lockstep the plant waits for each answer, so that nothing is gained and every run can be repeated.
    if wanted.native_loop == OFF or (wanted.native_loop == AUTO and lockstep):
        return None
    try:
        loop = NativeLoop(node, topics, lockstep, events, on_cycles, wanted)
    except BackendError as error:
        if wanted.native_loop == ON:
            raise
        log.warning(f"the control loop runs in Python: {error}")
        return None
    for reason in loop.refused_scheduling:
        log.warning(reason)
    return loop
