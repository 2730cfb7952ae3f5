"""Outcome of a demonstration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.report import arm as arm_report
from robot_dynamics.report import stewart as stewart_report
from robot_dynamics.report.recording import ArmRecording
from robot_dynamics.report.stewart import StewartRecording


@dataclass(frozen=True)
class Limits:
    """Largest errors: of a joint [rad], of the platform's position [m] and orientation [rad]."""

    joint: float = 1e-4
    position: float = 2e-4
    angle: float = float(np.radians(0.02))


@dataclass(frozen=True)
class DemoOutcome:
    """The result of one demonstration.

    Attributes:
        failure: what missed its limit, in words; empty when nothing did.
        table: short, for people.
        results: everything in numbers.
        files: plots.
    """

    failure: str
    table: str
    results: dict[str, object]
    files: list[Path]

    @property
    def passed(self) -> bool:
        """Return whether everything was within its limits."""
        return not self.failure


def judge(
    recordings: Mapping[str, ArmRecording], platform: StewartRecording, folder: Path, limits: Limits
) -> DemoOutcome:
    """The outcome of an arm's runs, of which the first counts, and a platform's; writes the plots."""
    nominal, *others = recordings.values()
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
        arm_report.table([nominal, *others], limits.joint),
        stewart_report.table(platform, limits.position, limits.angle),
    )
    return DemoOutcome(
        "; ".join(failures),
        "\n\n".join(tables),
        {
            "limits": asdict(limits),
            "runs": arm_report.results(recordings),
            "platform": platform.results(),
        },
        [
            *arm_report.write_plots(nominal, others, folder, limits.joint),
            *stewart_report.write_plots(platform, folder, limits.position, limits.angle),
        ],
    )
