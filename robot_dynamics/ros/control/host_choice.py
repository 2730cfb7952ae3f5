"""The host that a node gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleNode

from robot_dynamics.errors import BackendError
from robot_dynamics.native.compiler import find_compiler
from robot_dynamics.ros.control.command_publisher import CommandTopics
from robot_dynamics.ros.control.events import LoopEvents
from robot_dynamics.ros.control.host import Host
from robot_dynamics.ros.control.python_host import PythonHost
from robot_dynamics.ros.control.records import Cycles
from robot_dynamics.ros.control.scheduling import AUTO, OFF, ON, SchedulingParameters
from robot_dynamics.ros.control.thread_host import ThreadHost
from robot_dynamics.ros.support import parameters
from robot_dynamics.ros.support.scheduling import lock_memory, stay_awake


def choose_host(
    node: LifecycleNode,
    topics: CommandTopics,
    lockstep: bool,
    events: LoopEvents,
    on_cycles: Callable[[Cycles, Any], float],
) -> Host[Any]:
    """The thread where the parameters want it and rcl has headers; else the Python host, and a notice.

    Raises:
        BackendError: there is no compiler; or the parameters require the thread, and it cannot be.
    """
    wanted = parameters.declare(node, SchedulingParameters)
    log: Any = node.get_logger()
    if wanted.lock_memory and (reason := lock_memory()):
        log.warning(f"memory is not locked: {reason}")
    if wanted.stay_awake and (reason := stay_awake()):
        log.warning(f"the processors may sleep between two states: {reason}")
    # In lockstep the simulator waits for each answer: nothing is gained, and every run can be repeated.
    if wanted.native_loop == OFF or (wanted.native_loop == AUTO and lockstep):
        return PythonHost(node, topics, lockstep, events, on_cycles)
    find_compiler()  # without one neither host can be
    try:
        host: ThreadHost[Any] = ThreadHost(node, topics, lockstep, events, on_cycles, wanted)
    except BackendError as error:
        if wanted.native_loop == ON:
            raise
        log.warning(f"the control loop runs in the node's own Python thread: {error}")
        return PythonHost(node, topics, lockstep, events, on_cycles)
    for reason in host.refused_scheduling:
        log.warning(reason)
    return host
