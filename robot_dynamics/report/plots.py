"""Plots of arm recordings as PNG files, drawn without a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.report.recording import ArmRecording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RESOLUTION = 4.26e-4
"""What Lee et al. resolve: one bit of their 12-bit converter over 100 degrees [rad]."""


def blank_figure(width: float, height: float, title: str) -> Figure:
    """An empty figure of ``width`` by ``height`` inches that needs no screen."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise RobotDynamicsError("plots need matplotlib: pip install 'robot_dynamics[plots]'") from error
    figure = NewFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    return figure


def panels(count: int, title: str, unit: str) -> tuple[Figure, Sequence[Axes]]:
    """A figure with one panel a joint, at most three in a row."""
    columns = min(3, count)
    rows = -(-count // columns)
    figure = blank_figure(4.0 * columns, 2.8 * rows + 0.6, title)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    for axes in grid[:count]:
        axes.grid(alpha=0.3)
        axes.set_ylabel(unit)
    for axes in grid[max(0, count - columns) : count]:
        axes.set_xlabel("time [s]")
        axes.tick_params(labelbottom=True)
    return figure, list(grid[:count])


def _per_joint(
    recording: ArmRecording, title: str, unit: str, draw: Callable[[Any, int], None], legend: bool
) -> Figure:
    figure, grid = panels(len(recording.joint_names), title, unit)
    for j, axes in enumerate(grid):
        draw(axes, j)
        axes.set_title(recording.joint_names[j], fontsize="medium")
    if legend:
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    return figure


def position_plot(recording: ArmRecording, path: Path) -> Path:
    """Reference and measured position of every joint."""

    def draw(axes: Any, j: int) -> None:
        axes.plot(recording.time, np.degrees(recording.reference[:, j]), lw=3.0, alpha=0.4, label="reference")
        axes.plot(recording.time, np.degrees(recording.position[:, j]), "k--", lw=1.0, label="measured")

    return save(_per_joint(recording, f"Position: {recording.name}", "deg", draw, True), path)


def effort_plot(recording: ArmRecording, path: Path) -> Path:
    """Commanded effort of every joint, with its limits where they are near."""

    def draw(axes: Any, j: int) -> None:
        axes.step(recording.time, recording.effort[:, j], where="post", lw=1.2)
        limit = recording.effort_limits[j]
        if np.abs(recording.effort[:, j]).max() > 0.5 * limit:
            for side in (-limit, limit):
                axes.axhline(side, color="tab:red", ls=":", lw=1.0)

    return save(_per_joint(recording, f"Torque: {recording.name}", "N·m", draw, False), path)


def error_plot(recordings: Sequence[ArmRecording], path: Path, title: str) -> Path:
    """Position error of every joint over time, as figures 3 to 8 of Lee et al.

    Several recordings share the panels: their errors differ by powers of ten, so their size is drawn on a
    logarithmic axis.
    """
    several = len(recordings) > 1

    def draw(axes: Any, j: int) -> None:
        for recording in recordings:
            error = recording.error[:, j]
            axes.plot(recording.time, np.abs(error) if several else error, lw=1.1, label=recording.name)
        if several:
            axes.set_yscale("log")
            axes.set_ylim(bottom=1e-7)
            axes.axhline(RESOLUTION, color="k", ls=":", lw=1.0)
        else:
            axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2))

    return save(_per_joint(recordings[0], title, "rad", draw, several), path)


def comparison_plot(recordings: Sequence[ArmRecording], path: Path, limit: float) -> Path:
    """Largest error of each run, on a logarithmic axis."""
    figure = blank_figure(9.0, 0.6 * len(recordings) + 1.6, "Largest joint error of each run")
    axes = figure.subplots()
    values = [recording.largest_error for recording in recordings]
    names = [recording.name for recording in recordings]
    bars = axes.barh(names, values, color=["tab:green" if v <= limit else "tab:orange" for v in values])
    axes.bar_label(bars, fmt="%.2e", padding=4, fontsize="small")
    axes.axvline(limit, color="k", ls=":", lw=1.0, label=f"limit {limit:.2e} rad")
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 3.0, max(values) * 6.0)
    axes.set_xlabel("rad")
    axes.invert_yaxis()
    axes.legend(fontsize="small", loc="lower right")
    return save(figure, path)


def histogram_plot(samples: dict[str, Sequence[float]], path: Path, title: str, unit: str) -> Path:
    """Distribution of several samples on a logarithmic count axis."""
    figure = blank_figure(9.0, 3.6, title)
    axes = figure.subplots()
    everything = np.concatenate([np.asarray(values, dtype=float) for values in samples.values()])
    bins = np.linspace(0.0, float(np.percentile(everything, 99.95)) * 1.2 + 1e-9, 120)
    for name, values in samples.items():
        axes.hist(np.clip(values, 0.0, bins[-1]), bins=list(bins), histtype="step", lw=1.4, label=name)
    axes.set_yscale("log")
    axes.set_xlabel(unit)
    axes.set_ylabel("cycles")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return save(figure, path)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG; returns the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path
