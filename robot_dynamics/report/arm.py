"""The report of the arm demonstration: numbers as JSON, plots, and a short table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from robot_dynamics.report import plots
from robot_dynamics.report.recording import ArmRecording


def write_plots(
    nominal: ArmRecording, others: Sequence[ArmRecording], folder: Path, limit: float
) -> list[Path]:
    """Every plot of the demonstration; returns the files."""
    files = [
        plots.position_plot(nominal, folder / "arm_position.png"),
        plots.error_plot([nominal], folder / "arm_error.png", f"Position error: {nominal.name}", limit),
        plots.effort_plot(nominal, folder / "arm_torque.png"),
    ]
    if others:
        everything = [nominal, *others]
        files.append(
            plots.error_plot(
                everything, folder / "arm_error_comparison.png", "Position error of each run", limit
            )
        )
        files.append(plots.comparison_plot(everything, folder / "arm_comparison.png", limit))
    return files


def table(recordings: Sequence[ArmRecording], limit: float) -> str:
    """Largest errors, one line a run."""
    width = max(len(recording.name) for recording in recordings)
    lines = [f"{'run':<{width}}  largest error [rad]  rms error [rad]  largest torque [N·m]"]
    for recording in recordings:
        lines.append(
            f"{recording.name:<{width}}  {recording.largest_error:19.3e}"
            f"  {recording.root_mean_square_error:15.3e}  {abs(recording.effort).max():20.1f}"
        )
    lines.append(f"limit for the first run: {limit:.2e} rad; Lee et al. resolve 4.26e-04 rad")
    lines.append("max_following_error is 0.2 rad in the runs with a load and without the model, else derived")
    return "\n".join(lines)


def results(recordings: Mapping[str, ArmRecording]) -> dict[str, object]:
    """Every run in numbers."""
    return {key: {"title": r.name, **r.results()} for key, r in recordings.items()}
