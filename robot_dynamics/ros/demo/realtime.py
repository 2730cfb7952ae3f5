"""Lee's move there and back by the wall clock, and the loop's timing beside that of two bare relay nodes."""

from __future__ import annotations

import functools
import json
import os
import re
import time
from pathlib import Path
from typing import Any

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report import plots
from robot_dynamics.report.recording import ArmRecording
from robot_dynamics.ros.demo.arm import CONTROLLER, DURATION, GOAL, START, ArmRun, Progress
from robot_dynamics.ros.demo.outcome import Outcome
from robot_dynamics.ros.demo.rounds import Timing, aims, medians, ratios, table, tracking_failure
from robot_dynamics.ros.running.observer import PATIENCE, SECOND
from robot_dynamics.ros.support.processes import NodeProcess, claim_domain

RATE = 1000.0
ROUNDS = 3
RELAY_DURATION = 8.0
LOADED_DURATION = 20.0
PAUSE = 0.5
"""Seconds at rest between two moves."""
PAUSE_OF_OBSERVER = 0.04
"""Seconds between two looks of this process at the topics."""
NOTICE = SECOND
"""From sending a move to its start [ns]: planning it takes a while in an interpreter that is kept busy."""
MONSTER = 100_000
"""Points of the trajectory that arrives while the arm moves; it leaves the limits at its end."""
MANY_JOINTS = 400
"""Joints of the robot whose description arrives then; no model of so many is built."""
HOGGED = "robot_dynamics.ros.demo.hogged"


def run(
    description: Path, chain: KinematicChain, folder: Path, duration: float, limit: float, progress: Progress
) -> Outcome:
    """Rounds of two relays and the controller, ``duration`` seconds of it; then one under load.

    Raises:
        RobotDynamicsError: a node ends or falls silent.
    """
    os.nice(5)  # this process watches; the loop under test comes first
    relays: dict[bool, list[Timing]] = {False: [], True: []}
    timings: list[Timing] = []
    summaries: list[Timing] = []
    for _ in range(ROUNDS):
        for raw, rounds in relays.items():
            rounds.append(_measure_relay(description, raw, progress))
        recording, timing, left = _control(description, chain, duration / ROUNDS, progress)
        timings.append(timing)
        summaries.append(left)
    _, loaded, loaded_results = _control(description, chain, LOADED_DURATION, progress, HOGGED)
    errors = [left["largest_tracking_error"] for left in summaries]
    largest = {name: max(error[name] for error in errors) for name in errors[0]}
    columns = {
        "controller": medians(timings),
        "relay, objects": medians(relays[False]),
        "relay, bytes": medians(relays[True]),
        "under load": medians([loaded]),
    }
    results: dict[str, object] = {
        "limits": {"joint": limit},
        "rate_hz": RATE,
        "rounds": ROUNDS,
        "largest_error": max(largest.values()),
        "largest_error_per_joint": largest,
        "recorded": recording.results(),
        "timing": columns,
        "shares": {
            name: ratios(columns["controller"], columns[name]) for name in ("relay, objects", "relay, bytes")
        },
        "aims": aims(columns),
        "under_load": loaded_results,
    }
    failure = tracking_failure(max(largest.values()), limit, summaries, timings)
    files = [
        plots.position_plot(recording, folder / "arm_realtime_position.png"),
        plots.error_plot([recording], folder / "arm_realtime_error.png", "Position error by the wall clock"),
        plots.effort_plot(recording, folder / "arm_realtime_torque.png"),
    ]
    head = f"largest joint error {max(largest.values()):.3e} rad over {duration:.0f} s at {RATE:.0f} Hz"
    told = "\n".join(aims(columns))
    return Outcome(
        failure, f"{head}\n\nmedians of {ROUNDS} rounds\n{table(columns)}\n\n{told}", results, files
    )


def _measure_relay(description: Path, raw: bool, progress: Progress) -> Timing:
    domain = claim_domain()
    simulator = {
        "robot_description": description.read_text(encoding="utf-8"),
        "rate": RATE,
        "gravity": [0.0, 0.0, 0.0],
        "measure_latency": True,
    }
    with (
        NodeProcess("robot_dynamics.ros.demo.relay", domain, {"bytes": raw}),
        NodeProcess("robot_dynamics.ros.simulator", domain, simulator) as plant,
    ):
        began = _wait_for_plant(plant)
        while (elapsed := time.monotonic() - began) < RELAY_DURATION:
            kind = "bytes" if raw else "objects"
            progress(f"a bare relay node ({kind}), for comparison", elapsed / RELAY_DURATION)
            time.sleep(0.1)
        plant.stop()
        return summary(plant)


def _control(
    description: Path, chain: KinematicChain, duration: float, progress: Progress, controller: str = ""
) -> tuple[ArmRecording, Timing, Timing]:
    """A recording of some cycles, the simulator's timing, and the controller's results.

    To a ``controller`` of its own, a trajectory of ``MONSTER`` points and the description of a robot with
    ``MANY_JOINTS`` joints are sent after a while; both are refused, and the arm moves on.
    """
    measured = {"measure_latency": True}
    with ArmRun(
        description,
        chain,
        RATE,
        lockstep=False,
        simulator=measured,
        pause=PAUSE_OF_OBSERVER,
        controller=controller or CONTROLLER,
        description_topic=bool(controller),
    ) as run:
        observer = run.observer
        run.wait_for_control()
        first = begin = observer.latest + SECOND
        goals = [GOAL, START]
        monster = run.impossible(MONSTER) if controller else b""
        title = "computed torque by the wall clock" + (", under load" if controller else "")

        def show() -> None:
            share = (observer.latest - first) / (duration * SECOND)
            progress(title, min(1.0, max(0.0, share)))

        while begin - first < duration * SECOND:
            run.send(goals[0], begin)
            goals.reverse()
            if monster:
                run.send_bytes(monster)
                run.describe(long_description(MANY_JOINTS))
                monster = b""
            begin += int((DURATION + PAUSE) * SECOND)
            almost = begin - NOTICE
            observer.wait_until(functools.partial(observer.beyond, almost), "real-time run", show)
        recording = run.recording(title, first, begin)
        # The controller first: to it a simulator that ends is one whose states are lost.
        run.controller.stop()
        run.simulator.stop()
        results = dict(summary(run.controller))
        if controller:
            results["refused"] = [word for word in _REFUSALS if _REFUSALS[word] in run.controller.output]
        return recording, summary(run.simulator), results


_REFUSALS = {
    f"trajectory of {MONSTER} points": "trajectory refused",
    f"description of {MANY_JOINTS} joints": "is refused, the old model stays",
}


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


def _wait_for_plant(plant: NodeProcess) -> float:
    """Wait until the simulator says that it simulates; returns the steady time then [s]."""
    deadline = time.monotonic() + PATIENCE
    while "simulating" not in plant.output:
        if not plant.running or time.monotonic() > deadline:
            raise RobotDynamicsError(f"{plant.name} does not begin; its output:\n{plant.output}")
        time.sleep(0.1)
    return time.monotonic()


def summary(process: NodeProcess) -> Timing:
    """The results that a node leaves in its log."""
    match = re.search(r"summary: (\{.*\})", process.output)
    if match is None:
        raise RobotDynamicsError(f"{process.name} left no summary; its output:\n{process.output}")
    summary: dict[str, Any] = json.loads(match.group(1))
    return summary
