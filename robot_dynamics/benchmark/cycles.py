"""Duration of a controller's cycle: called from Python, and in the C core alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import perf_counter, sleep
from typing import Any

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.core.library import doubles, ffi
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.model.load import load_urdf
from robot_dynamics.resources import resource
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import load
from robot_dynamics.stewart.orientation import quaternion_from_rotation

PERIOD = 0.001
FACE, CORE, RARE = "called from Python", "the cycle alone", "the cycle alone, once per millisecond"
MOST_RARE = 1000
"""Cycles that are timed once per millisecond."""
MODES = "computed_torque", "joint_impedance", "cartesian_impedance"
Cycle = tuple[float, Array, Array]
"""Time [s], positions and velocities (n,) of the joints."""


def cycle_times(cycles: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Median and 99th percentile [s] by machine and contender, of an arm and a platform on their way.

    Args:
        cycles: how many each contender answers, in turns with the others.
    """
    return {
        **{f"PUMA 560, {mode}": _timed(*_arm(cycles, mode)) for mode in MODES},
        "Stewart platform": _timed(*_platform(cycles)),
    }


def table(times: dict[str, dict[str, tuple[float, float]]]) -> str:
    """The times as a table in Markdown."""
    lines = ["| a cycle [µs]: median (99 %) | " + " | ".join(times) + " |", "|---|" + "---:|" * len(times)]
    for contender in (FACE, CORE, RARE):
        pairs = (times[machine][contender] for machine in times)
        cells = (f"{1e6 * median:.1f} ({1e6 * rare:.1f})" for median, rare in pairs)
        lines.append(f"| {contender} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _duration(cycles: int) -> float:
    """Of a motion that no limit refuses, and that all cycles are part of [s]."""
    return max(4.0, 2.0 * cycles * PERIOD)


def _arm(cycles: int, mode: str) -> tuple[ArmController, ArmController, list[Cycle]]:
    chain = load_urdf(resource("urdf/puma560.urdf").read_text())
    rest, goal = np.zeros(chain.dof), [Waypoint(_duration(cycles), [0.5] * chain.dof)]
    links = compile_dynamics(chain, friction=False)
    model = ActuatedArm(links, chain, ActuatorParameters(damping=(1.5,), friction=(0.8,)))
    both = tuple(ArmController(chain, model, ArmParameters(mode=mode)) for _ in range(2))
    for controller in both:
        controller.update(0.0, rest, rest)
        controller.follow(chain.joint_names, goal)
    states = []
    for k in range(1, cycles + 1):
        reference = both[0].reference(k * PERIOD)
        states.append((k * PERIOD, reference.position + 1e-5, reference.velocity + 1e-4))
    return both[0], both[1], states


def _platform(cycles: int) -> tuple[StewartController, StewartController, list[Cycle]]:
    machine = load(resource("config/stewart_demo.yaml"))
    home, level = machine.machine.home_position, [0.0, 0.0, 0.0, 1.0]
    goal = [PoseWaypoint(_duration(cycles), (home + np.array([0.02, -0.01, 0.03])).tolist(), level)]
    parameters = StewartParameters(ki=500.0)
    both = StewartController(machine, parameters), StewartController(machine, parameters)
    for controller in both:
        controller.update(0.0, machine.legs(home, level).lengths, np.zeros(6))
        controller.follow(goal)
    states = []
    for k in range(1, cycles + 1):
        motion = both[0].reference(k * PERIOD)
        legs = machine.legs(motion.position, quaternion_from_rotation(motion.rotation))
        twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
        states.append((k * PERIOD, legs.lengths + 1e-5, legs.jacobian @ twist + 1e-4))
    return *both, states


def _timed(
    face: CoreController[Any], core: CoreController[Any], states: list[Cycle]
) -> dict[str, tuple[float, float]]:
    library, handle = core._library, core._core
    took: dict[str, list[float]] = {FACE: [], CORE: [], RARE: []}
    calls, nothing = [], _call_of_nothing(library)
    rare = min(len(states) // 4, MOST_RARE)
    for k, (time, position, velocity) in enumerate(states):
        if k >= len(states) - rare:  # what others have used of the caches meanwhile costs time
            sleep(PERIOD)
            given = handle, time, doubles(position), doubles(velocity)
            took[RARE].append(_seconds(library.rd_core_update, *given))
            continue
        took[FACE].append(_seconds(face.update, time, position, velocity))
        given = handle, time, doubles(position), doubles(velocity)
        took[CORE].append(_seconds(library.rd_core_update, *given))
        calls.append(_seconds(nothing, *given))
    # What calling a function that does nothing takes is not the core's.
    call = statistics.median(calls)
    for name in (CORE, RARE):
        took[name] = [seconds - call for seconds in took[name]]
    return {name: (statistics.median(each), float(np.quantile(each, 0.99))) for name, each in took.items()}


def _call_of_nothing(library: Any) -> Any:
    """A function that does nothing, called as a cycle is, whose arguments take a third of the call."""
    cycle = "int (*)(const rd_core *, double, const double *, const double *)"
    return ffi().cast(cycle, ffi().addressof(library, "rd_core_snapshot_size"))


def _seconds(function: Callable[..., Any], *arguments: Any) -> float:
    began = perf_counter()
    function(*arguments)
    return perf_counter() - began
