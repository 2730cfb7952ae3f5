"""Lee's move there and back by the wall clock, and the loop's timing beside that of two bare relay nodes."""

from __future__ import annotations

import functools
import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report import plots
from robot_dynamics.report.recording import ArmRecording
from robot_dynamics.ros.demo.arm import DURATION, GOAL, START, ArmRun, Progress
from robot_dynamics.ros.demo.outcome import Outcome
from robot_dynamics.ros.demo.rounds import Timing, medians, ratios, table
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
MONSTER = 100_000
"""Points of the trajectory that arrives while the arm moves; it leaves the limits at its end."""
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
    timings, errors = [], []
    for _ in range(ROUNDS):
        for raw, rounds in relays.items():
            rounds.append(_measure_relay(description, raw, progress))
        recording, timing, worst = _control(description, chain, duration / ROUNDS, progress)
        timings.append(timing)
        errors.append(worst)
    loaded = _control(description, chain, LOADED_DURATION, progress, HOGGED)[1]
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
    }
    failure = ""
    if not max(largest.values()) < limit:
        failure = f"largest joint error {max(largest.values()):.3g} rad, limit {limit:.3g} rad"
    files = [
        plots.position_plot(recording, folder / "arm_realtime_position.png"),
        plots.error_plot([recording], folder / "arm_realtime_error.png", "Position error by the wall clock"),
        plots.effort_plot(recording, folder / "arm_realtime_torque.png"),
    ]
    head = f"largest joint error {max(largest.values()):.3e} rad over {duration:.0f} s at {RATE:.0f} Hz"
    return Outcome(failure, f"{head}\n\nmedians of {ROUNDS} rounds\n{table(columns)}", results, files)


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
) -> tuple[ArmRecording, Timing, Mapping[str, float]]:
    """A recording of some cycles, the simulator's timing, and each joint's largest error of all.

    With a ``controller`` of its own, a trajectory of ``MONSTER`` points arrives after a while.
    """
    measured = {"measure_latency": True}
    module = {"controller": controller} if controller else {}
    with ArmRun(
        description, chain, RATE, lockstep=False, simulator=measured, pause=PAUSE_OF_OBSERVER, **module
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
                monster = b""
            begin += int((DURATION + PAUSE) * SECOND)
            almost = begin - SECOND // 5
            observer.wait_until(functools.partial(observer.beyond, almost), "real-time run", show)
        recording = run.recording(title, first, begin)
        run.simulator.stop()
        run.controller.stop()
        return recording, summary(run.simulator), summary(run.controller)["largest_tracking_error"]


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
