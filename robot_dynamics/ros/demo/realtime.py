"""Lee's move there and back by the wall clock, and the loop's timing beside that of a bare relay node."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report import plots
from robot_dynamics.report.recording import ArmRecording
from robot_dynamics.ros.demo.arm import DURATION, GOAL, START, ArmRun, Progress
from robot_dynamics.ros.demo.observer import SECOND
from robot_dynamics.ros.demo.outcome import Outcome
from robot_dynamics.ros.processes import NodeProcess, claim_domain

RATE = 500.0
RELAY_DURATION = 10.0
PAUSE = 0.5
"""Seconds at rest between two moves."""
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
    recording, timing = _control(description, chain, duration, progress)
    figures: dict[str, object] = {
        "limits": {"joint": limit, "late_share": LATE_LIMIT},
        "rate_hz": RATE,
        "tracking": recording.figures(),
        "timing": {"controller": timing, "relay": relay},
    }
    failure = ""
    if not recording.largest_error < limit:
        failure = f"largest joint error {recording.largest_error:.3g} rad, limit {limit:.3g} rad"
    files = [
        plots.position_plot(recording, folder / "arm_realtime_position.png"),
        plots.error_plot([recording], folder / "arm_realtime_error.png", "Position error by the wall clock"),
        plots.effort_plot(recording, folder / "arm_realtime_torque.png"),
    ]
    return Outcome(failure, _table(recording, timing, relay), figures, files)


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
        return _summary(plant)


def _control(
    description: Path, chain: KinematicChain, duration: float, progress: Progress
) -> tuple[ArmRecording, Mapping[str, Any]]:
    with ArmRun(description, chain, RATE, lockstep=False, simulator={"measure_latency": True}) as run:
        observer = run.observer
        run.wait_for_control()
        first = begin = observer.latest + SECOND
        goals = [GOAL, START]
        while begin - first < duration * SECOND:
            run.send(goals[0], begin)
            goals.reverse()
            begin += int((DURATION + PAUSE) * SECOND)
            end = begin

            def show(first: int = first) -> None:
                share = (observer.latest - first) / (duration * SECOND)
                progress("computed torque by the wall clock", min(1.0, max(0.0, share)))

            observer.wait_until(lambda end=end: observer.latest > end - SECOND // 5, "real-time run", show)
        recording = run.recording("computed torque, by the wall clock", first, begin)
        run.simulator.stop()
        return recording, _summary(run.simulator)


def _summary(simulator: NodeProcess) -> Mapping[str, Any]:
    """The figures that the simulator leaves in its log."""
    match = re.search(r"summary: (\{.*\})", simulator.output)
    if match is None:
        raise RobotDynamicsError(f"the simulator left no summary; its output:\n{simulator.output}")
    summary: dict[str, Any] = json.loads(match.group(1))
    return summary


def _table(recording: ArmRecording, timing: Mapping[str, Any], relay: Mapping[str, Any]) -> str:
    width = max(map(len, timing))
    lines = [
        f"largest joint error {recording.largest_error:.3e} rad,"
        f" rms {recording.root_mean_square_error:.3e} rad over {recording.time[-1]:.0f} s",
        "",
        f"{'timing, seen by the simulator':<{width}}  {'controller':>12}  {'relay':>12}",
    ]
    for key, value in timing.items():
        if isinstance(value, int | float) and not np.isnan(value):
            other = relay.get(key, float("nan"))
            lines.append(f"{key:<{width}}  {value:12.5g}  {other:12.5g}")
    return "\n".join(lines)
