"""One round of the real-time demonstration: a robot that is simulated by the wall clock, and who answers it.

Every round has the same processes beside the one that answers: the simulator and this one, which sleeps and
sends a trajectory every few seconds. Only a round that is recorded has a recorder beside it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report.recording import ArmRecording
from robot_dynamics.ros.demo.arm import (
    COMMANDED,
    CONTROLLER,
    DURATION,
    GOAL,
    START,
    ArmRun,
    Progress,
    at_start,
)
from robot_dynamics.ros.demo.rounds import Timing
from robot_dynamics.ros.running.observer import PATIENCE, SECOND
from robot_dynamics.ros.support.processes import NodeProcess, claim_domain

RATE = 1000.0
PRIORITY = 1
"""Real-time priority of the simulator, where permitted: a robot's own clock waits for nobody."""
PAUSE = 0.5
"""Seconds at rest between two moves."""
PAUSE_OF_OBSERVER = 0.04
"""Seconds between two looks of this process at the topics, or at the clock."""
NOTICE = SECOND
"""From sending a move to its start [ns]: planning it takes a while in an interpreter that is kept busy."""
MONSTER = 100_000
"""Points of the trajectory that arrives while the arm moves; it leaves the limits at its end."""
MANY_JOINTS = 400
"""Joints of the robot whose description arrives then; no model of so many is built."""
INTERPRETER_STRESS = "robot_dynamics.ros.demo.interpreter_stress"


@dataclass(frozen=True)
class Conditions:
    """Conditions of a round of the controller.

    Attributes:
        title: for people.
        record: whether a recorder takes states, commands and references beside it.
        loaded: the interpreter of the controller is kept busy, and a trajectory of ``MONSTER`` points and the
            description of a robot with ``MANY_JOINTS`` joints arrive; both are refused, and the arm moves on.
        settings: further parameters of the controller.
    """

    title: str
    record: bool = False
    loaded: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


class Round(NamedTuple):
    """Result of one round: as the simulator saw it, as the controller did, and what was recorded."""

    timing: Timing
    results: Timing
    recording: ArmRecording | None


def relay_round(
    description: Path, chain: KinematicChain, duration: float, raw: bool, progress: Progress
) -> Timing:
    """Answers of a bare relay node, with message objects or with bytes; nothing pulls at the arm meanwhile.

    Raises:
        RobotDynamicsError: a node ends or falls silent.
    """
    domain = claim_domain()
    weightless = {"gravity": [0.0, 0.0, 0.0], "measure_latency": True}
    simulator = {**at_start(description, chain, RATE, False), **weightless}
    with (
        NodeProcess("robot_dynamics.ros.demo.relay", domain, {"bytes": raw}) as relay,
        NodeProcess("robot_dynamics.ros.simulator", domain, simulator, priority=PRIORITY) as plant,
    ):
        _wait_for_command(plant)
        usage = _Usage(relay, plant)
        kind = "bytes" if raw else "objects"
        while usage.elapsed < duration:
            progress(f"a bare relay node ({kind}), for comparison", usage.elapsed / duration)
            time.sleep(PAUSE_OF_OBSERVER)
        used = usage.per_cycle()
        plant.stop()
        return {**summary(plant), **used}


def control_round(
    description: Path, chain: KinematicChain, duration: float, progress: Progress, conditions: Conditions
) -> Round:
    """Answers of the controller while the arm moves there and back for at least ``duration`` [s].

    Raises:
        RobotDynamicsError: a node ends or falls silent.
    """
    with ArmRun(
        description,
        chain,
        RATE,
        lockstep=False,
        simulator={"measure_latency": True},
        pause=PAUSE_OF_OBSERVER,
        controller=INTERPRETER_STRESS if conditions.loaded else CONTROLLER,
        description_topic=conditions.loaded,
        settings=conditions.settings,
        record=conditions.record,
        priority=PRIORITY,
    ) as run:
        run.wait_for_control()
        usage = _Usage(run.controller, run.simulator)
        first = run.now + SECOND
        last = _move_about(run, first, duration, progress, conditions)
        used = usage.per_cycle()
        recording = run.recording(conditions.title, first, last) if conditions.record else None
        # The controller first: to it a simulator that ends is one whose states are lost.
        run.controller.stop()
        run.simulator.stop()
        results = dict(summary(run.controller))
        if conditions.loaded:
            results["refused"] = [word for word in _REFUSALS if _REFUSALS[word] in run.controller.output]
        return Round({**summary(run.simulator), **used}, results, recording)


_REFUSALS = {
    f"trajectory of {MONSTER} points": "trajectory refused",
    f"description of {MANY_JOINTS} joints": "is refused, the old model stays",
}


def _move_about(run: ArmRun, first: int, duration: float, progress: Progress, conditions: Conditions) -> int:
    """Move there and back from a stamp on [ns]; returns the stamp at which the last move is over."""
    begin, goals = first, [GOAL, START]
    monster = run.impossible(MONSTER) if conditions.loaded else b""

    def show() -> None:
        progress(conditions.title, min(1.0, max(0.0, (run.now - first) / (duration * SECOND))))

    while begin - first < duration * SECOND:
        run.send(goals[0], begin)
        goals.reverse()
        if monster:
            run.send_bytes(monster)
            run.describe(long_description(MANY_JOINTS))
            monster = b""
        begin += int((DURATION + PAUSE) * SECOND)
        almost = begin - NOTICE
        run.observer.wait_until(lambda then=almost: run.now > then, "real-time run", show)  # type: ignore[misc]
    return begin


class _Usage:
    """Processor time that two processes take from now on."""

    def __init__(self, node: NodeProcess, robot: NodeProcess) -> None:
        self._processes = {"node_cpu_us": node, "robot_cpu_us": robot}
        self._before = {name: process.cpu_seconds for name, process in self._processes.items()}
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def per_cycle(self) -> dict[str, float]:
        """Of each, in the period of a cycle [µs]."""
        used = {name: process.cpu_seconds - self._before[name] for name, process in self._processes.items()}
        return {name: round(1e6 * seconds / (self.elapsed * RATE), 1) for name, seconds in used.items()}


def long_description(joints: int) -> str:
    """The URDF of an arm with so many joints in a row."""
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    )
    parts = ['<robot name="long"><link name="link0"/>']
    for k in range(joints):
        parts.append(
            f'<link name="link{k + 1}">{inertial}</link><joint name="long{k}" type="continuous">'
            f'<parent link="link{k}"/><child link="link{k + 1}"/><origin xyz="0.1 0 0.1"/><axis xyz="0 1 0"/>'
            '<limit effort="1" velocity="1"/></joint>'
        )
    return "".join([*parts, "</robot>"])


def _wait_for_command(plant: NodeProcess) -> None:
    """Wait until the simulator says that somebody commands it."""
    deadline = time.monotonic() + PATIENCE
    while COMMANDED not in plant.output:
        if not plant.running or time.monotonic() > deadline:
            raise RobotDynamicsError(f"nobody commands the {plant.name}; its output:\n{plant.output}")
        time.sleep(PAUSE_OF_OBSERVER)


def summary(process: NodeProcess) -> Timing:
    """The results that a node leaves in its log."""
    match = re.search(r"summary: (\{.*\})", process.output)
    if match is None:
        raise RobotDynamicsError(f"{process.name} left no summary; its output:\n{process.output}")
    summary: dict[str, Any] = json.loads(match.group(1))
    return summary
