"""One call of the demonstration, and its result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from robot_dynamics import load_urdf
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.resources import resource
from robot_dynamics.ros.demo import realtime as wall_clock
from robot_dynamics.ros.demo import watched
from robot_dynamics.ros.demo.arm import COMPARISONS, NOMINAL, ArmRun, Progress
from robot_dynamics.ros.demo.outcome import DemoOutcome, Limits, judge
from robot_dynamics.ros.demo.stewart import run as run_platform

RATE = 100.0
"""Control rate of Lee's simulation [Hz]."""
REALTIME_LIMIT = 4.26e-4
"""Largest joint error by the wall clock: one bit of Lee's converter [rad]."""


def _puma() -> tuple[Path, KinematicChain]:
    description = resource("urdf/puma560.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return description, load_urdf(description)


def lockstep(folder: Path, limits: Limits, progress: Progress) -> DemoOutcome:
    """Lee's move in simulated time, the same without each of the things that make it good, and a platform."""
    description, chain = _puma()
    progress("starting simulator and controller", 0.0)
    with ArmRun(description, chain, RATE, lockstep=True) as arm:
        recordings = {case.key: arm.run(case, progress) for case in (NOMINAL, *COMPARISONS)}
    progress("starting the Stewart platform", 0.0)
    platform = run_platform(progress)
    progress("drawing", 1.0)
    return judge(recordings, platform, folder, limits)


def realtime(folder: Path, duration: float, progress: Progress) -> DemoOutcome:
    """Lee's move there and back by the wall clock, and the timing beside a bare relay node."""
    description, chain = _puma()
    return wall_clock.run(description, chain, folder, duration, REALTIME_LIMIT, progress)


def watch(
    folder: Path, limits: Limits, progress: Progress, say: Callable[[str], None], stay: bool
) -> DemoOutcome:
    """Lee's move and the platform's motion in a browser, no faster than the clock on the wall."""
    description, chain = _puma()
    return watched.run(description, chain, folder, limits, progress, say, stay)
