"""Parameters of the loop's host: where the cycle runs, and how the system schedules it."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.parameters import parameter, validate

AUTO, ON, OFF = "auto", "on", "off"


@dataclass(frozen=True)
class SchedulingParameters:
    """The thread of the native loop."""

    native_loop: str = parameter(
        AUTO,
        "Host of the control loop: on requires a thread that never waits for Python, which takes rcl with its"
        " headers; off runs each cycle in the node's own Python thread; auto uses the thread where it can,"
        " except in lockstep",
        choices=(AUTO, ON, OFF),
        read_only=True,
    )
    realtime_priority: int = parameter(
        0,
        "Real-time priority (SCHED_FIFO) of the native loop's thread and of those of DDS, which bring the"
        " states; 0: as any other",
        minimum=0,
        maximum=99,
        read_only=True,
    )
    realtime_cpu: int = parameter(
        -1,
        "Processor on which alone the native loop's thread runs; -1: any",
        minimum=-1,
        maximum=1023,
        read_only=True,
    )
    lock_memory: bool = parameter(
        False, "Keep all memory of the process from being paged out", read_only=True
    )

    stay_awake: bool = parameter(
        False,
        "Keep all processors of the computer from sleeping while the node runs: each state wakes one of them",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)
