"""Lee's move there and back by the wall clock, and the loop's timing beside that of a bare relay node."""

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
from robot_dynamics.ros.running.observer import SECOND
from robot_dynamics.ros.support.processes import NodeProcess, claim_domain

RATE = 500.0
RELAY_DURATION = 10.0
PAUSE = 0.5
"""Seconds at rest between two moves."""
PAUSE_OF_OBSERVER = 0.04
"""Seconds between two looks of this process at the topics."""
LATE_LIMIT = 0.001
"""Share of the cycles that may be late by more than a period."""


def run(
    description: Path, chain: KinematicChain, folder: Path, duration: float, limit: float, progress: Progress
) -> Outcome:
    """Measure the relay, then control for ``duration`` seconds.

    Raises:
        RobotDynamicsError: a node ends or falls silent.
    """
    os.nice(5)  # this process watches; the loop under test comes first
    relay = _measure_relay(description, chain, progress)
    recording, timing, worst = _control(description, chain, duration, progress)
    results: dict[str, object] = {
        "limits": {"joint": limit, "late_share": LATE_LIMIT},
        "rate_hz": RATE,
        "largest_error": max(worst.values()),
        "largest_error_per_joint": worst,
        "recorded": recording.results(),
        "timing": {"controller": timing, "relay": relay},
    }
    failure = ""
    if not max(worst.values()) < limit:
        failure = f"largest joint error {max(worst.values()):.3g} rad, limit {limit:.3g} rad"
    files = [
        plots.position_plot(recording, folder / "arm_realtime_position.png"),
        plots.error_plot([recording], folder / "arm_realtime_error.png", "Position error by the wall clock"),
        plots.effort_plot(recording, folder / "arm_realtime_torque.png"),
    ]
    return Outcome(failure, _table(duration, max(worst.values()), timing, relay), results, files)


def _measure_relay(description: Path, chain: KinematicChain, progress: Progress) -> Mapping[str, Any]:
    domain = claim_domain()
    simulator = {
        "robot_description": description.read_text(encoding="utf-8"),
        "rate": RATE,
        "gravity": [0.0, 0.0, 0.0],
        "measure_latency": True,
    }
    with (
        NodeProcess("robot_dynamics.ros.demo.relay", domain),
        NodeProcess("robot_dynamics.ros.simulator", domain, simulator) as plant,
    ):
        began = time.monotonic()
        while (elapsed := time.monotonic() - began) < RELAY_DURATION:
            progress("a bare relay node, for comparison", elapsed / RELAY_DURATION)
            time.sleep(0.1)
        plant.stop()
        return summary(plant)


def _control(
    description: Path, chain: KinematicChain, duration: float, progress: Progress
) -> tuple[ArmRecording, Mapping[str, Any], Mapping[str, float]]:
    """A recording of some cycles, the simulator's timing, and each joint's largest error of all."""
    measured = {"measure_latency": True}
    with ArmRun(description, chain, RATE, lockstep=False, simulator=measured, pause=PAUSE_OF_OBSERVER) as run:
        observer = run.observer
        run.wait_for_control()
        first = begin = observer.latest + SECOND
        goals = [GOAL, START]

        def show() -> None:
            share = (observer.latest - first) / (duration * SECOND)
            progress("computed torque by the wall clock", min(1.0, max(0.0, share)))

        while begin - first < duration * SECOND:
            run.send(goals[0], begin)
            goals.reverse()
            begin += int((DURATION + PAUSE) * SECOND)
            almost = begin - SECOND // 5
            observer.wait_until(functools.partial(observer.beyond, almost), "real-time run", show)
        recording = run.recording("computed torque, by the wall clock", first, begin)
        run.simulator.stop()
        run.controller.stop()
        return recording, summary(run.simulator), summary(run.controller)["largest_tracking_error"]


def summary(process: NodeProcess) -> Mapping[str, Any]:
    """The results that a node leaves in its log."""
    match = re.search(r"summary: (\{.*\})", process.output)
    if match is None:
        raise RobotDynamicsError(f"{process.name} left no summary; its output:\n{process.output}")
    summary: dict[str, Any] = json.loads(match.group(1))
    return summary


def _table(duration: float, worst: float, timing: Mapping[str, Any], relay: Mapping[str, Any]) -> str:
    width = max(map(len, timing))
    share = timing["late_by_a_period"] / timing["cycles"]
    bare = relay["late_by_a_period"] / relay["cycles"]
    lines = [
        f"largest joint error {worst:.3e} rad over {duration:.0f} s",
        f"cycles late by more than a period: {100 * share:.3f} %; with a bare relay {100 * bare:.3f} %",
        "",
        f"{'timing, seen by the simulator':<{width}}  {'controller':>12}  {'relay':>12}",
    ]
    for key, value in timing.items():
        if isinstance(value, int | float):
            lines.append(f"{key:<{width}}  {value:12.5g}  {relay.get(key, float('nan')):12.5g}")
    return "\n".join(lines)
