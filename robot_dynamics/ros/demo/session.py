"""What one call of the demonstration does, and what comes of it."""

from __future__ import annotations

import warnings
from pathlib import Path

from robot_dynamics import load_urdf
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report import arm as report
from robot_dynamics.resources import resource
from robot_dynamics.ros.demo import realtime as wall_clock
from robot_dynamics.ros.demo.arm import COMPARISONS, NOMINAL, ArmRun, Progress
from robot_dynamics.ros.demo.outcome import Outcome

RATE = 100.0
"""Control rate of Lee's simulation [Hz]."""


def _puma() -> tuple[Path, KinematicChain]:
    description = resource("urdf/puma560.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return description, load_urdf(description)


def lockstep(folder: Path, limit: float, progress: Progress) -> Outcome:
    """Lee's move in simulated time, and the same without each of the things that make it good."""
    description, chain = _puma()
    progress("starting simulator and controller", 0.0)
    with ArmRun(description, chain, RATE, lockstep=True) as arm:
        recordings = {case.key: arm.run(case, progress) for case in (NOMINAL, *COMPARISONS)}
    nominal = recordings[NOMINAL.key]
    others = [recordings[case.key] for case in COMPARISONS]
    passed = nominal.largest_error < limit
    return Outcome(
        passed,
        limit,
        "" if passed else f"largest joint error {nominal.largest_error:.2e} rad, limit {limit:.2e} rad",
        report.table([nominal, *others], limit),
        {"runs": report.figures(recordings)},
        report.write_plots(nominal, others, folder, limit),
    )


def realtime(folder: Path, duration: float, limit: float, progress: Progress) -> Outcome:
    """Lee's move there and back by the wall clock, and the timing beside a bare relay node."""
    description, chain = _puma()
    return wall_clock.run(description, chain, folder, duration, limit, progress)
