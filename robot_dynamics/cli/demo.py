"""``robot_dynamics demo``: the demonstration, with a report."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from robot_dynamics.cli.chain_source import number_within
from robot_dynamics.cli.needs import need
from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.files import check_folder

if TYPE_CHECKING:
    from robot_dynamics.ros.demo.outcome import DemoOutcome


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "what",
        nargs="?",
        choices=("identification",),
        help="identification: an arm that is not as described is excited, recorded and identified",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("demo_output"), help="folder for report.json and plots"
    )
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="run by the wall clock at 1 kHz and report latency and jitter beside two bare relay nodes",
    )
    parser.add_argument(
        "--view",
        action="store_true",
        help="show arm and platform in a browser while they move, no faster than real time",
    )
    parser.add_argument(
        "--stay",
        action="store_true",
        help="with --view: keep the platform's web view after its motion, until Ctrl-C",
    )
    parser.add_argument(
        "--duration",
        type=number_within(1.0, 86400.0),
        default=60.0,
        help="duration of the real-time run [s] (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the demonstration; 0 when every tracking error is within its bound."""
    check_folder(arguments.output)
    needed = ["rclpy", "mujoco", "matplotlib"]
    if arguments.view:
        needed.append("viser")
    if arguments.what == "identification":
        needed += ["scipy", "cvxpy", "clarabel", "rosbags"]
    need("the demonstration", *needed)
    from robot_dynamics.ros.demo import session
    from robot_dynamics.ros.demo.outcome import Limits

    progress = ProgressLine()
    arguments.output.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    if arguments.what == "identification":
        outcome = _identification(arguments, progress)
    elif arguments.view:
        outcome = session.watch(arguments.output, Limits(), progress, progress.say, arguments.stay)
    elif arguments.realtime:
        outcome = session.realtime(arguments.output, arguments.duration, progress)
    else:
        outcome = session.lockstep(arguments.output, Limits(), progress)
    progress.clear()
    report = {
        "passed": outcome.passed,
        "mode": "real time" if arguments.realtime else "lockstep",
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "seconds": round(time.monotonic() - began, 1),
        **outcome.results,
    }
    file = arguments.output / "report.json"
    file.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(outcome.table)
    print()
    for path in [file, *outcome.files]:
        print(path)
    print()
    print("tracking: " + ("as good as it has to be" if outcome.passed else f"FAILED: {outcome.failure}"))
    return 0 if outcome.passed else 1


def _identification(arguments: argparse.Namespace, progress: ProgressLine) -> DemoOutcome:
    if arguments.view or arguments.realtime:
        raise ParameterError("demo identification runs in lockstep, without --view and --realtime")
    from robot_dynamics.ros.demo import identification

    return identification.run(arguments.output, progress)


LOGGED_SHARE, LOGGED_AFTER = 0.1, 5.0
"""Share of a stage, and seconds, from one line in a log file to the next at least."""


class ProgressLine:
    """One line on a terminal that is rewritten; elsewhere a line per stage, and now and then its progress."""

    def __init__(self) -> None:
        self._interactive = sys.stderr.isatty()
        self._stage = ""
        self._width = 0
        self._told = (0.0, 0.0)

    def __call__(self, stage: str, share: float) -> None:
        """Show how far a stage is; ``share`` from 0 to 1."""
        if self._interactive:
            filled = round(30 * share)
            line = f"[{'#' * filled}{'.' * (30 - filled)}] {100 * share:3.0f} %  {stage}"
            self._write("\r" + line.ljust(self._width))
            self._width = len(line)
        elif stage != self._stage:
            self._write(f"{stage} ...\n")
            self._told = time.monotonic(), share
        elif share >= self._told[1] + LOGGED_SHARE and time.monotonic() > self._told[0] + LOGGED_AFTER:
            self._write(f"{stage}: {100 * share:.0f} %\n")
            self._told = time.monotonic(), share
        self._stage = stage

    def clear(self) -> None:
        """Leave the line empty for what follows."""
        if self._interactive and self._width:
            self._write("\r" + " " * self._width + "\r")

    def say(self, text: str) -> None:
        """A line of its own, which stays."""
        self.clear()
        print(text, flush=True)

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
