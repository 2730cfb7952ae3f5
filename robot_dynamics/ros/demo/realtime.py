"""Lee's move there and back by the wall clock, and the loop's timing beside that of two bare relay nodes."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report import plots
from robot_dynamics.ros.demo.arm import Progress
from robot_dynamics.ros.demo.measured import PRIORITY, RATE, Conditions, control_round, relay_round
from robot_dynamics.ros.demo.outcome import DemoOutcome
from robot_dynamics.ros.demo.rounds import Timing, aims, medians, ratios, table, tracking_failure
from robot_dynamics.ros.support.scheduling import run_first

ROUNDS = 3
RELAY_DURATION = 8.0
RECORDED_DURATION = 5.0
LOADED_DURATION = 15.0
PERMITTED = {"realtime_priority": PRIORITY, "stay_awake": True}

USUAL = Conditions("computed torque by the wall clock")
RECORDED = Conditions("computed torque by the wall clock, recorded", record=True)
FIRST = Conditions("computed torque at a real-time priority", settings=PERMITTED)
LOADED = Conditions("computed torque under load", loaded=True)
LOADED_FIRST = Conditions(
    "computed torque under load, at a real-time priority", loaded=True, settings=PERMITTED
)


def run(
    description: Path, chain: KinematicChain, folder: Path, duration: float, limit: float, progress: Progress
) -> DemoOutcome:
    """Rounds of two relays and the controller, ``duration`` seconds of it; then under load.

    Raises:
        RobotDynamicsError: a node ends or falls silent.
    """
    control = functools.partial(control_round, description, chain)
    relays: dict[bool, list[Timing]] = {False: [], True: []}
    refused = _refused_priority()
    rounds, first = [], []
    for _ in range(ROUNDS):
        for raw, timings in relays.items():
            timings.append(relay_round(description, chain, RELAY_DURATION, raw, progress))
        rounds.append(control(duration / ROUNDS, progress, USUAL))
        if not refused:
            first.append(control(RELAY_DURATION, progress, FIRST))
    others = {"recorded": control(RECORDED_DURATION, progress, RECORDED)}
    others["loaded"] = control(LOADED_DURATION, progress, LOADED)
    if not refused:
        others["loaded, priority"] = control(LOADED_DURATION, progress, LOADED_FIRST)
    recording = others["recorded"].recording
    assert recording is not None  # that round is recorded
    columns = {
        "controller": medians([one.timing for one in rounds]),
        "relay, objects": medians(relays[False]),
        "relay, bytes": medians(relays[True]),
        **({"priority": medians([one.timing for one in first])} if first else {}),
        **{name: medians([one.timing]) for name, one in others.items()},
    }
    errors = [one.results["largest_tracking_error"] for one in (*rounds, others["recorded"])]
    largest = {name: max(error[name] for error in errors) for name in errors[0]}
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
        "refused_priority": refused,
        "under_load": {name: one.results for name, one in others.items() if name.startswith("loaded")},
    }
    failure = tracking_failure(
        max(largest.values()), limit, [one.results for one in rounds], [one.timing for one in rounds]
    )
    files = [
        plots.position_plot(recording, folder / "arm_realtime_position.png"),
        plots.error_plot([recording], folder / "arm_realtime_error.png", "Position error by the wall clock"),
        plots.effort_plot(recording, folder / "arm_realtime_torque.png"),
    ]
    head = f"largest joint error {max(largest.values()):.3e} rad over {duration:.0f} s at {RATE:.0f} Hz"
    findings = "\n".join([_about(refused), *aims(columns)])
    return DemoOutcome(
        failure, f"{head}\n\nmedians of {ROUNDS} rounds\n{table(columns)}\n\n{findings}", results, files
    )


def _refused_priority() -> str:
    """Reason why no thread may have the priority; empty when it may."""
    if refused := run_first([0], PRIORITY):
        return refused
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return ""


def _about(refused: str) -> str:
    """Meaning of the columns, as far as the system permits it."""
    beside = "recorded: a recorder of all topics beside it; loaded: its interpreter kept busy"
    if refused:
        return f"{beside}; no real-time priority for the robot ({refused}): other work delays it"
    everywhere = f"the robot has real-time priority {PRIORITY} in every column"
    return f"{beside}; {everywhere}, the controller in those named so, where no processor sleeps"
