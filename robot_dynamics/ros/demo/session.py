"""What one call of the demonstration does, and what comes of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from robot_dynamics import load_urdf
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report import arm as report
from robot_dynamics.report import platform as platform_report
from robot_dynamics.resources import resource
from robot_dynamics.ros.demo import realtime as wall_clock
from robot_dynamics.ros.demo import watched
from robot_dynamics.ros.demo.arm import COMPARISONS, NOMINAL, ArmRun, Progress
from robot_dynamics.ros.demo.outcome import Outcome
from robot_dynamics.ros.demo.platform import run as run_platform

RATE = 100.0
"""Control rate of Lee's simulation [Hz]."""
REALTIME_LIMIT = 4.26e-4
"""Largest joint error by the wall clock at 500 Hz: one bit of Lee's converter [rad]."""


@dataclass(frozen=True)
class Limits:
    """Largest errors in lockstep: of a joint [rad], of the platform's position [m] and orientation [rad]."""

    joint: float = 1e-4
    position: float = 2e-4
    angle: float = float(np.radians(0.02))


def _puma() -> tuple[Path, KinematicChain]:
    description = resource("urdf/puma560.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return description, load_urdf(description)


def lockstep(folder: Path, limits: Limits, progress: Progress) -> Outcome:
    """Lee's move in simulated time, the same without each of the things that make it good, and a platform."""
    description, chain = _puma()
    progress("starting simulator and controller", 0.0)
    with ArmRun(description, chain, RATE, lockstep=True) as arm:
        recordings = {case.key: arm.run(case, progress) for case in (NOMINAL, *COMPARISONS)}
    progress("starting the Stewart platform", 0.0)
    platform = run_platform(progress)
    progress("drawing", 1.0)
    nominal = recordings[NOMINAL.key]
    others = [recordings[case.key] for case in COMPARISONS]
    failures = [
        f"{what} {value:.3g} {unit}, limit {limit:.3g} {unit}"
        for what, value, limit, unit in (
            ("largest joint error", nominal.largest_error, limits.joint, "rad"),
            ("largest position error", platform.position_error.max(), limits.position, "m"),
            ("largest angle error", platform.angle_error.max(), limits.angle, "rad"),
        )
        if not value < limit
    ]
    tables = (
        report.table([nominal, *others], limits.joint),
        platform_report.table(platform, limits.position, limits.angle),
    )
    return Outcome(
        "; ".join(failures),
        "\n\n".join(tables),
        {"limits": asdict(limits), "runs": report.figures(recordings), "platform": platform.figures()},
        [
            *report.write_plots(nominal, others, folder, limits.joint),
            *platform_report.write_plots(platform, folder, limits.position, limits.angle),
        ],
    )


def realtime(folder: Path, duration: float, progress: Progress) -> Outcome:
    """Lee's move there and back by the wall clock, and the timing beside a bare relay node."""
    description, chain = _puma()
    return wall_clock.run(description, chain, folder, duration, REALTIME_LIMIT, progress)


def watch(progress: Progress, say: Callable[[str], None]) -> None:
    """Lee's move by the wall clock in a browser, until SIGINT."""
    description, chain = _puma()
    watched.run(description, chain, progress, say)
